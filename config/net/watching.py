"""Watches the body of a response that other code reads, and tells when it ends by itself or breaks off.

Such code may end all its exchanges because one body fails; it can be given another body in its place.
"""

from collections.abc import AsyncIterator, Callable

import httpx2


# Called with the error that ended the body, or with None at its regular end.
OnEnd = Callable[[Exception | None], None]


def watch_body(response: httpx2.Response, on_end: OnEnd) -> None:
    """Call ``on_end`` when the body has ended, unless its reader closes it before. The body must not be read yet."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _WatchedStream(response.stream, on_end)


def replace_broken_body(
    response: httpx2.Response, build_body: Callable[[Exception], bytes]
) -> None:
    """Give the reader the body that is built of the error if the real one can't be read to its end.

    The body must not be read yet. One that is compressed stays as it is.
    """
    is_plain = "content-encoding" not in response.headers
    if is_plain and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _ReplacedStream(response.stream, build_body)


class _WatchedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, on_end: OnEnd) -> None:
        self._stream, self._on_end = stream, on_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except Exception as error:
            self._on_end(error)
            raise
        self._on_end(None)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _ReplacedStream(httpx2.AsyncByteStream):
    """Reads all before it gives anything, so that nothing of a broken body comes before the other one."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, build_body: Callable[[Exception], bytes]
    ) -> None:
        self._stream, self._build_body = stream, build_body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = b"".join([piece async for piece in self._stream])
        except Exception as error:
            body = self._build_body(error)
        yield body

    async def aclose(self) -> None:
        await self._stream.aclose()
