"""Marks requests that a run makes to this installation's own addresses, so that what they start is counted with it.

Other addresses get no mark, and nobody states one: it is set when a request is sent, also for a redirect.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from config.env import env


HEADER: Final = "X-Mnemoflow-Caller"

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
    """Return whether this installation answers at the host."""
    host = host.lower().strip("[]").rstrip(".")
    return any(_matches(host, pattern) for pattern in _list_own_hosts())


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
        name = HEADER.lower().encode()
        mark = next((value for key, value in scope.get("headers", ()) if key == name), b"")
        with receive_mark(mark.decode("latin-1")):
            await self._inner(scope, receive, send)


def _read_host(request: httpx2.Request) -> str:
    """Return the host that the request names, which may be another than that of its address."""
    return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""


def _matches(host: str, pattern: str) -> bool:
    if pattern.startswith("."):
        return host == pattern[1:] or host.endswith(pattern)
    return pattern in ("*", host)


@cache
def _list_own_hosts() -> tuple[str, ...]:
    """Return the hosts at which this installation answers, as its web server knows them."""
    public_host = urlsplit(env().public_url or "").hostname or ""
    return tuple(
        host.lower().strip("[]") for host in (*env().allowed_hosts, public_host) if host.strip()
    )
