"""Answers that are files: sent piece by piece, whichever way the server takes them."""

import re
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from memory.services.transfer.exporting import CHUNK, Exported


JSON_LINES = "application/jsonl; charset=utf-8"


class FileAnswer(StreamingHttpResponse):
    """Django would read a synchronous file into memory before it sent it to an asynchronous server."""

    def __init__(self, made: Exported, name: str) -> None:
        safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "memory"
        super().__init__(
            made.chunks(),
            content_type=JSON_LINES,
            headers={
                "Content-Disposition": f'attachment; filename="{safe}.jsonl"',
                "Content-Length": str(made.size),
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            },
        )
        self._made = made

    def close(self) -> None:
        super().close()
        self._made.file.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = sync_to_async(self._made.file.read, thread_sensitive=False)
        while chunk := await read(CHUNK):
            yield chunk
