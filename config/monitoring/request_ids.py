"""Gives every request an id, which its log lines, its response and the runs that it starts carry.

A proxy's id is used if it has the usual form, so that one id leads through the logs of both.
"""

import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

import structlog

from config.ids import uuid7
from config.monitoring.metrics import REQUEST_SECONDS, REQUESTS
from config.monitoring.tracing import open_span


Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]

HEADER: Final = b"x-request-id"
MAX_LENGTH: Final = 64
_VALID_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def get_request_id() -> str:
    """Return the id of the current request; outside of one, an empty text."""
    return _request_id.get()


class RequestIds:
    """An ASGI application that gives requests their ids, and counts them."""

    def __init__(self, inner: App) -> None:
        self._inner = inner

    async def __call__(self, scope: Message, receive: object, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request_id, started_at = _choose_id(scope["headers"]), time.perf_counter()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (HEADER, request_id.encode())]
                message = {**message, "headers": headers}
                _count(scope, message["status"], time.perf_counter() - started_at)
            await send(message)

        token = _request_id.set(request_id)
        try:
            with (
                structlog.contextvars.bound_contextvars(request=request_id),
                open_span("request", request=request_id, area=_find_area(scope["path"])),
            ):
                await self._inner(scope, receive, send_with_id)
        finally:
            _request_id.reset(token)


def _choose_id(headers: list[tuple[bytes, bytes]]) -> str:
    client_id = next((value for name, value in headers if name == HEADER), b"")
    return client_id.decode() if _VALID_ID.fullmatch(client_id) else uuid7().hex


def _count(scope: Message, status: int, seconds: float) -> None:
    area = _find_area(scope["path"])
    method = scope["method"] if scope["method"] in _METHODS else "other"
    REQUESTS.labels(area, method, str(status)).inc()
    REQUEST_SECONDS.labels(area).observe(seconds)


def _find_area(path: str) -> str:
    if path.startswith("/api/"):
        return "api"
    return "static" if path.startswith("/static/") else "pages"
