"""Ends a synchronous exchange at its deadline, wherever it waits.

httpcore2 limits each single wait. A server that sends a byte of its headers now and then would never be left, and a thread
can't be interrupted as a coroutine can.
"""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2


# The seconds that remain of the exchange for which this thread is waiting.
_remaining: ContextVar[Callable[[], float] | None] = ContextVar("remaining", default=None)


@contextmanager
def limit_waits(remaining: Callable[[], float]) -> Iterator[None]:
    """Let no wait of a ``TimedStream`` in this block go on when no time remains."""
    token = _remaining.set(remaining)
    try:
        yield
    finally:
        _remaining.reset(token)


class TimedStream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _shorten(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _shorten(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = _shorten(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self._inner.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _shorten(timeout: float | None, fault: type[httpcore2.TimeoutException]) -> float | None:
    remaining = _remaining.get()
    if remaining is None:
        return timeout
    seconds = remaining()
    if seconds <= 0:
        raise fault("The time for the whole exchange is up.")
    return seconds if timeout is None else min(timeout, seconds)
