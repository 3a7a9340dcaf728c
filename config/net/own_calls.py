"""Marks requests that a run makes to this installation's own addresses, so that what they start is counted with it.

Other addresses get no mark, and nobody states one: it is set when a request is sent, also for a redirect.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.utils.http import is_same_domain


HEADER: Final = "X-Mnemoflow-Caller"
_RAW_HEADER: Final = HEADER.lower().encode()
# "*" in ALLOWED_HOSTS allows every name, and so doesn't tell which are this installation's: only these are certainly.
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]

_build_mark: ContextVar[Callable[[], str] | None] = ContextVar("build_mark", default=None)
_received_mark: ContextVar[str] = ContextVar("received_mark", default="")


@contextmanager
def mark_own_calls(build_mark: Callable[[], str]) -> Iterator[None]:
    """Let the requests to own addresses that are sent in the block have this mark."""
    token = _build_mark.set(build_mark)
    try:
        yield
    finally:
        _build_mark.reset(token)


def mark_request(request: httpx2.Request) -> None:
    """Give the request the mark of whoever sends it if its address is one of this installation's."""
    request.headers.pop(HEADER, None)
    build_mark = _build_mark.get()
    if build_mark is not None and (is_own(request.url.host) or is_own(_read_host(request))):
        request.headers[HEADER] = build_mark()


def is_own(host: str) -> bool:
    """Return whether the host is this installation's by its settings: ALLOWED_HOSTS, which include that of PUBLIC_URL."""
    host = host.lower().strip("[]").rstrip(".")
    names = [*settings.ALLOWED_HOSTS, *(_LOOPBACK if "*" in settings.ALLOWED_HOSTS else ())]
    return any(is_same_domain(host, name.strip("[]")) for name in names)


def get_received_mark() -> str:
    """Return the mark of the current request, which is not verified, or an empty text."""
    return _received_mark.get()


@contextmanager
def receive_mark(mark: str) -> Iterator[None]:
    """Let the request that is handled in the block have this mark."""
    token = _received_mark.set(mark)
    try:
        yield
    finally:
        _received_mark.reset(token)


class ReceivedMarks:
    """An ASGI application that notes the marks of requests."""

    def __init__(self, inner: App) -> None:
        self._inner = inner

    async def __call__(self, scope: Message, receive: object, send: Send) -> None:
        headers = scope.get("headers", ())
        mark = next((value for name, value in headers if name == _RAW_HEADER), b"")
        with receive_mark(mark.decode("latin-1")):
            await self._inner(scope, receive, send)


def _read_host(request: httpx2.Request) -> str:
    """Return the host that the request names, which may be another than that of its address."""
    return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
