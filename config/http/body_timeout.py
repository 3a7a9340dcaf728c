"""Ends requests whose body arrives too slowly or is too large, so that they can't occupy the server or fill its disk.

A body has BODY_SECONDS, and a second more for each ``BYTES_PER_SECOND`` that have arrived: a large upload over a slow
line is finished, a client that sends a byte now and then is not. Servers only limit the time between two requests.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from django.conf import settings

from config.http.envelopes import ErrorSummary, build_error_response, is_api


Message = dict[str, Any]  # Any: ASGI's messages are open
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]

BYTES_PER_SECOND: Final = 1_000
# Status → the answer to a body that was not read to its end.
ANSWERS: Final = {
    408: "The request's body didn't arrive in time.",
    413: "The request's body is too large.",
}
_KINDS: Final = {408: "RequestTimeout", 413: "BodyTooLarge"}
FORM_BYTES: Final = 1024 * 1024  # around a file, and in a form without one

log = structlog.get_logger(__name__)


class BodyTimeout:
    """An ASGI application that answers 408 if a request's body doesn't arrive in time, and 413 to a body that is larger
    than any file may be, or without files than a request may be. The inner one sees a disconnect.
    """

    def __init__(self, inner: App, seconds: float | None = None) -> None:
        self._inner = inner
        self._max_bytes = _get_max_bytes()
        self._max_plain_bytes: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # of what has no files
        self._seconds: float = settings.BODY_SECONDS if seconds is None else seconds

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._inner(scope, receive, send)
            return
        max_bytes = self._max_bytes if _may_have_files(scope) else self._max_plain_bytes
        if _read_length(scope) > max_bytes:
            await _answer(scope["path"], send, 413)
            return
        exchange = _Exchange(receive, send, self._seconds, max_bytes)
        await self._inner(scope, exchange.receive, exchange.send)
        if exchange.status and not exchange.has_answered:
            log.info("web.body_refused", path=scope["path"], bytes=exchange.received)
            await _answer(scope["path"], send, exchange.status)


class _Exchange:
    """One request: what has arrived of its body, and whether it has been answered."""

    def __init__(self, receive: Receive, send: Send, seconds: float, max_bytes: int) -> None:
        self._receive, self._send, self._max_bytes = receive, send, max_bytes
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + seconds
        self._is_complete = False
        self.received = 0
        self.status = 0  # of a body that is refused
        self.has_answered = False

    async def receive(self) -> Message:
        if (
            self._is_complete
        ):  # the application waits for the client to disconnect, for as long as a stream lasts
            return await self._receive()
        if self.status:
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.status = 408
            return {"type": "http.disconnect"}
        size = len(message.get("body", b""))
        self.received += size
        self._deadline += size / BYTES_PER_SECOND
        if self.received > self._max_bytes:
            self.status = 413
            return {"type": "http.disconnect"}
        self._is_complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        self.has_answered = True
        await self._send(message)


def _has_body(scope: Message) -> bool:
    """Return whether the request announces a body; most requests don't and cost nothing here."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _may_have_files(scope: Message) -> bool:
    return any(
        name == b"content-type" and value.lower().startswith(b"multipart/")
        for name, value in scope["headers"]
    )


def _read_length(scope: Message) -> int:
    """Return the length that the request announces, or 0 for none; the server has checked its form."""
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(text) if text.isdigit() else 0


def _get_max_bytes() -> int:
    limits = (settings.FILE_DOCUMENT_MB, settings.FILE_IMAGE_MB, settings.FILE_MEDIA_MB)
    return max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, max(limits) * 1024**2) + FORM_BYTES


async def _answer(path: str, send: Send, status: int) -> None:
    """Answer with the sentence of the status, in the shape of the API that the address belongs to."""
    content_type, body = b"text/plain", ANSWERS[status].encode()
    if is_api(path):
        summary = ErrorSummary(status, _KINDS[status], ANSWERS[status], retryable=status == 408)
        content_type, body = b"application/json", build_error_response(path, summary).content
    head = [(b"content-type", content_type), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
