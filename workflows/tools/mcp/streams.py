"""The streams between a transport and a session, and the filter of what a server sends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import Challenge
from workflows.tools.mcp.interviews import Interviews
from workflows.tools.operations import clean_text


# Streams of anyio, or those with which the package wraps them.
Reading = Any
Writing = Any
Streams = tuple[Reading, Writing]

MAX_MESSAGES: Final = 1000  # of one call, notifications included
MAX_REPORTS: Final = 10_000  # of the progress of one call, which may take half an hour
MAX_REQUESTS: Final = 20  # of the server; each is answered with a refusal
MAX_ID: Final = 20
MAX_SKIPPED_LINES: Final = 200  # of one call
MAX_SKIPPED_BYTES: Final = 256 * 1024
MAX_SAMPLE: Final = 200  # characters of a skipped line that are shown


@dataclass(frozen=True, slots=True)
class SkippedLines:
    """This counts what a process has written between its messages, on all calls of a connection, and has the first line."""

    count: int = 0
    first: str = ""

    def add(self, line: bytes) -> "SkippedLines":
        text = line[: MAX_SAMPLE * 4].decode(errors="replace").strip()
        return SkippedLines(self.count + 1, self.first or clean_text(text, MAX_SAMPLE))


@dataclass(frozen=True, slots=True)
class Busy:
    """The server has no time for an exchange over HTTP. ``retry_after`` are the seconds that it asks to wait, if any."""

    status: int
    retry_after: float | None


@dataclass
class BrokenStream:
    """Why the stream with the answer to a call has ended without it. Other calls on the same connection have their own."""

    fault: ToolFailed | None = None

    def note(self, fault: ToolFailed) -> None:
        self.fault = fault


_broken: ContextVar[BrokenStream | None] = ContextVar("mcp_broken_stream", default=None)


@contextmanager
def watch_stream() -> Iterator[BrokenStream]:
    """Yield what is learned of the stream of the call that is made in this block."""
    broken = BrokenStream()
    token = _broken.set(broken)
    try:
        yield broken
    finally:
        _broken.reset(token)


def find_stream() -> BrokenStream | None:
    """Return what to tell about the stream that is read in this context, or None if it belongs to no call."""
    return _broken.get()


@dataclass
class Spent:
    """Counts what a server has used since the last call began, which is limited: several calls share a connection."""

    messages: int = 0
    requests: int = 0  # of the server
    reports: int = 0  # of progress
    exchanges: int = 0  # over HTTP
    byte_count: int = 0  # of a process
    skipped_lines: int = 0  # of a process, since they are no messages
    skipped_bytes: int = 0
    refusal: int = 0  # the status with which the server refused an exchange over HTTP
    challenge: Challenge | None = None  # with which it refused the last one
    busy: Busy | None = None  # as it said in one of them
    # The ids of all requests that were made, which stay few: those of one run.
    ids: set[str] = field(default_factory=set)
    interviews: Interviews = field(default_factory=Interviews)
    skipped: SkippedLines = field(default_factory=SkippedLines)

    def begin_call(self) -> None:
        self.messages = self.requests = self.reports = self.exchanges = 0
        self.byte_count = self.skipped_lines = self.skipped_bytes = self.refusal = 0
        self.challenge = self.busy = None

    def skip_line(self, line: bytes) -> None:
        """Count a line that is no message. Raise ``ToolFailed`` if there are too many of them in one call."""
        self.skipped_lines += 1
        self.skipped_bytes += len(line)
        if self.skipped_lines > MAX_SKIPPED_LINES or self.skipped_bytes > MAX_SKIPPED_BYTES:
            raise ToolFailed(
                "The MCP server writes too much to its standard output that is no message"
            )
        self.skipped = self.skipped.add(line)

    @property
    def exceeds_messages(self) -> bool:
        return (
            self.messages > MAX_MESSAGES
            or self.requests > MAX_REQUESTS
            or self.reports > MAX_REPORTS
        )


class NotedWriting:
    """Sends the messages of a session to its transport, and notes the ids of its requests."""

    def __init__(self, inner: Writing, spent: Spent) -> None:
        self._inner, self._spent = inner, spent

    async def send(self, message: SessionMessage) -> None:
        if isinstance(message.message, JSONRPCRequest):
            self._spent.ids.add(str(message.message.id))
        await self._inner.send(message)
        if isinstance(message.message, JSONRPCResponse | JSONRPCError):
            self._spent.interviews.note_response(message.message.id)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


async def filter_messages(
    source: Reading,
    target: MemoryObjectSendStream[SessionMessage | Exception],
    spent: Spent,
    stop: Callable[[str], None],
) -> None:
    """Pass responses, requests and reports of progress on to the session, and drop other notifications.

    Call ``stop`` for invalid messages.

    The session would ignore or log a message that it can't read, and wait for an answer until its time is up.
    """
    async with source, target:
        async for message in source:
            is_report = _is_report(message)
            spent.messages += not is_report
            spent.reports += is_report
            if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCRequest):
                spent.requests += 1
                # Transports over HTTP say with it in which context, and so for which call, they have read it.
                context = getattr(source, "last_context", None)
                spent.interviews.note_request(message.message.id, context)
            if spent.exceeds_messages:
                stop("The MCP server sent too many messages")
            elif isinstance(message, Exception):
                stop("The MCP server sent a message that is not valid")
            elif _is_unasked(message, spent.ids):
                stop("The MCP server answered a request that was not made")
            elif is_report or not _is_kind(message, JSONRPCNotification):
                await target.send(message)


def _is_kind(message: SessionMessage | Exception, kind: type) -> bool:
    return isinstance(message, SessionMessage) and isinstance(message.message, kind)


def _is_report(message: SessionMessage | Exception) -> bool:
    """Return whether the server tells how far a call is."""
    return (
        isinstance(message, SessionMessage)
        and isinstance(message.message, JSONRPCNotification)
        and message.message.method == "notifications/progress"
    )


def _is_unasked(message: SessionMessage, ids: set[str]) -> bool:
    """Return whether this is an answer to a request that the session has not made."""
    content = message.message
    if not isinstance(content, JSONRPCResponse | JSONRPCError):
        return False
    text = str(content.id)[: MAX_ID + 1]
    with suppress(ValueError):  # a server may send the number as another spelling of it
        text = str(int(text)) if text.isascii() else text
    return text not in ids
