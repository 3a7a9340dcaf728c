"""Lets a server answer one request: the official package handles it, and this passes on what it sends meanwhile.

A request is answered by itself in every revision of the protocol: the server can tell how far it is, but it can't ask the
client anything, because the answer would reach another process.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import structlog
from mcp import types
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from workflows.mcp_server.faults import describe_fault


Outgoing = types.JSONRPCNotification | types.JSONRPCResponse | types.JSONRPCError

_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)

log = structlog.get_logger(__name__)


async def exchange(
    server: Server[Any], request: types.JSONRPCRequest, connection: Connection
) -> AsyncIterator[Outgoing]:
    """Yield what the server sends for a request, its response last. What is under way is cancelled if nobody reads on."""
    channel = _Channel(request.id, read_progress_token(request.params))
    task = asyncio.create_task(_answer(server, request, connection, channel))
    try:
        while True:
            message = await channel.sent.get()
            yield message
            if not isinstance(message, types.JSONRPCNotification):
                return
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def read_progress_token(params: Mapping[str, Any] | None) -> str | int | None:  # Any: JSON
    """Return the token with which a client asks to be told how far a request is, if it does."""
    meta = (params or {}).get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


async def _answer(
    server: Server[Any],
    request: types.JSONRPCRequest,
    connection: Connection,
    channel: "_Channel",
) -> None:
    response: Outgoing
    try:
        result = await serve_one(
            server,
            channel,
            request.method,
            request.params,
            connection=connection,
            lifespan_state={},
        )
        response = types.JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
    except Exception as error:
        response = types.JSONRPCError(
            jsonrpc="2.0", id=request.id, error=_describe(error, request.method)
        )
    channel.sent.put_nowait(response)


def _describe(error: Exception, method: str) -> types.ErrorData:
    """Return what the client is told. What went wrong inside the server is only logged."""
    if isinstance(error, MCPError):
        return error.error
    if isinstance(error, ValidationError):
        return types.ErrorData(code=types.INVALID_PARAMS, message="Invalid request parameters")
    message = describe_fault(error)
    if message is None:
        log.error("mcp_request_failed", method=method, exc_info=error)
    return types.ErrorData(code=types.INTERNAL_ERROR, message=message or "Internal server error")


@dataclass
class _Channel:
    """Implements the package's ``DispatchContext`` for one request: collects the notifications that belong to it."""

    request_id: str | int | None
    progress_token: str | int | None
    sent: asyncio.Queue[Outgoing] = field(default_factory=asyncio.Queue)
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def transport(self) -> TransportContext:
        return _TRANSPORT

    @property
    def can_send_request(self) -> bool:
        return False

    @property
    def message_metadata(self) -> None:
        return None

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        body = None if params is None else dict(params)
        self.sent.put_nowait(types.JSONRPCNotification(jsonrpc="2.0", method=method, params=body))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self.progress_token is None:
            return
        values = {"progress": progress, "total": total, "message": message}
        given = {name: value for name, value in values.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": self.progress_token, **given})
