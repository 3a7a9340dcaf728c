"""Responses that are sent in pieces, by synchronous and asynchronous servers alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse


CONTENT_TYPES = {"jsonl": "application/jsonl; charset=utf-8", "csv": "text/csv; charset=utf-8"}


class FileDownload(StreamingHttpResponse):
    """A file of one of the kinds in CONTENT_TYPES, which is read piece by piece while it is sent.

    Under an asynchronous server, Django's own class would read the whole synchronous iterator into memory first.
    """

    def __init__(self, pieces: Iterator[bytes], *, name: str, kind: str) -> None:
        super().__init__(
            pieces,
            content_type=CONTENT_TYPES[kind],
            headers={
                "Content-Disposition": f'attachment; filename="{name}.{kind}"',
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            },
        )
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read_next = sync_to_async(self._read_next, thread_sensitive=False)
        while piece := await read_next():
            yield piece

    def _read_next(self) -> bytes:
        """Return the next piece, or b"" at the end. It runs in a thread that must not keep its database connection."""
        try:
            return next(self._pieces, b"")
        finally:
            connections.close_all()
