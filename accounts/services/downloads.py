"""Answers that are sent piece by piece, whichever way the server takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse


TYPES = {"jsonl": "application/jsonl; charset=utf-8", "csv": "text/csv; charset=utf-8"}


class FileAnswer(StreamingHttpResponse):
    """Django would read a synchronous iterator into memory before it sent it to an asynchronous server."""

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
        """In a thread of its own, which must not keep the connection it read with."""
        try:
            return next(self._pieces, b"")
        finally:
            connections.close_all()
