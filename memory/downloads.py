"""Downloads: an export chunk by chunk, by synchronous and asynchronous servers alike, and small files at once."""

import re
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from memory.services.transfer.exporting import CHUNK_BYTES, ExportFile


JSON_LINES = "application/jsonl; charset=utf-8"


class FileDownload(StreamingHttpResponse):
    """A streamed response, since Django would read a whole file into memory for an asynchronous server."""

    def __init__(self, export: ExportFile, name: str) -> None:
        safe_name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "memory"
        super().__init__(
            export.read_chunks(),
            content_type=JSON_LINES,
            headers={
                "Content-Disposition": f'attachment; filename="{safe_name}.jsonl"',
                "Content-Length": str(export.size),
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            },
        )
        self._export = export

    def close(self) -> None:
        super().close()
        self._export.file.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read_chunk = sync_to_async(self._export.file.read, thread_sensitive=False)
        while chunk := await read_chunk(CHUNK_BYTES):
            yield chunk


def build_download(data: bytes, content_type: str, file_name: str) -> HttpResponse:
    response = HttpResponse(data, content_type=content_type)
    # Django encodes names in any script for every browser.
    disposition = content_disposition_header(as_attachment=True, filename=file_name)
    response.headers["Content-Disposition"] = disposition or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
