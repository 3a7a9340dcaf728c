"""Watches the body of a response that other code reads, and tells when it ends by itself or breaks off."""

from collections.abc import AsyncIterator, Callable

import httpx2


# Called with the error that ended the body, or with None at its regular end.
OnEnd = Callable[[Exception | None], None]


def watch_body(response: httpx2.Response, on_end: OnEnd) -> None:
    """Call ``on_end`` when the body has ended, unless its reader closes it before. The body must not be read yet."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _WatchedStream(response.stream, on_end)


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
