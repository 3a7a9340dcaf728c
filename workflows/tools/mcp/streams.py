"""The streams between a transport and a session, and the filter of what a server sends."""

from collections.abc import Callable
from typing import Final

from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse


Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]
Streams = tuple[Reading, Writing]

MAX_MESSAGES: Final = 1000  # of one session, notifications included
MAX_REQUESTS: Final = 20  # of the server; each is answered with a refusal
MAX_ID: Final = 20


async def filter_messages(
    source: Reading,
    target: MemoryObjectSendStream[SessionMessage | Exception],
    stop: Callable[[str], None],
) -> None:
    """Pass responses and requests on to the session, and drop notifications. Call ``stop`` for invalid messages.

    The session would ignore or log a message that it can't read, and wait for an answer until its time is up.
    """
    count = requests = 0
    async with source, target:
        async for message in source:
            count += 1
            requests += _is_kind(message, JSONRPCRequest)
            if count > MAX_MESSAGES or requests > MAX_REQUESTS:
                stop("The MCP server sent too many messages")
            elif isinstance(message, Exception):
                stop("The MCP server sent a message that is not valid")
            elif _has_unusual_id(message):
                stop("The MCP server answered a request that was not made")
            elif not _is_kind(message, JSONRPCNotification):
                await target.send(message)


def _is_kind(message: SessionMessage | Exception, kind: type) -> bool:
    return isinstance(message, SessionMessage) and isinstance(message.message.root, kind)


def _has_unusual_id(message: SessionMessage) -> bool:
    """Return whether this is an answer with an id that the session can't have made: its ids are small numbers."""
    content = message.message.root
    if not isinstance(content, JSONRPCResponse | JSONRPCError):
        return False
    text = str(content.id)
    return len(text) > MAX_ID or not (text.isascii() and text.isdigit())
