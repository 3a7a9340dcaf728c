"""Responses that are sent in pieces, by synchronous and asynchronous servers alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse


TYPES = {"jsonl": "application/jsonl; charset=utf-8", "csv": "text/csv; charset=utf-8"}


class FileDownload(StreamingHttpResponse):
    """A streamed file. Django would read a synchronous iterator into memory before sending it to an asynchronous server."""

    def __init__(self, pieces: Iterator[bytes], *, name: str, kind: str) -> None:
        super().__init__(
            pieces,
            content_type=TYPES[kind],
            headers={
                "Content-Disposition": f'attachment; filename="{name}.{kind}"',
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            },
        )
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        following = sync_to_async(self._next, thread_sensitive=False)
        while piece := await following():
            yield piece

    def _next(self) -> bytes:
        """Return the next piece in a separate thread, which must not keep its database connection."""
        try:
            return next(self._pieces, b"")
        finally:
            connections.close_all()
