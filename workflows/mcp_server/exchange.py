"""Lets a server answer one message: the official package reads and writes two streams in memory, as it would a socket's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage


Outgoing = types.JSONRPCMessage


async def exchange(
    server: Server[Any, Any], request: types.JSONRPCRequest
) -> AsyncIterator[Outgoing]:
    """Yield what the server sends for a request, its response last. What is under way is cancelled if nobody reads on."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](16)
    # A task of its own, because a task group must not be left open while a generator waits.
    task = asyncio.create_task(_serve(server, from_client, to_client))
    try:
        await to_server.send(SessionMessage(types.JSONRPCMessage(request)))
        async for sent in from_server:
            yield sent.message
            if isinstance(sent.message.root, types.JSONRPCResponse | types.JSONRPCError):
                return
        await task  # it ended without a response, with the error that is the reason
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        for stream in (to_server, from_client, to_client, from_server):
            stream.close()


async def _serve(
    server: Server[Any, Any],
    incoming: MemoryObjectReceiveStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    options = server.create_initialization_options()
    await server.run(incoming, outgoing, options, raise_exceptions=False, stateless=True)
