"""The engine's document port: it sends a document to a runner, and turns failures into sentences for people."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.errors import DocumentUnreadable
from workflows.engine.files.ports import DocumentRequest
from workflows.sandbox import frames
from workflows.sandbox.frames import make_storable
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool


MAX_BYTES: Final = 20 * 1024 * 1024
SECONDS: Final = 40.0  # of the clock; a runner has 20 seconds of the processor
RUNNERS: Final = 2
_MAX_CHARACTERS: Final = 1_000_100

FORMATS: Final = (
    "PDF, Word (docx), PowerPoint (pptx), Excel (xlsx), OpenDocument, EPUB, HTML, Markdown, CSV, JSON, YAML, XML, mail "
    "(eml), subtitles (vtt, srt) and plain text"
)
_SENTENCES: Final[Mapping[str, str]] = {
    "image": "{name} is an image, which has no text to take out; a model node with Images switched on can read it",
    "media": "{name} is audio or video, which has no text to take out",
    "format": "{name} has a format that can't be read. These can: {formats}",
    "password": "{name} is protected by a password",
    "bomb": "{name} would unpack to far more than a document has, and is not opened",
    "entities": "{name} contains XML entities or a document type, and is not opened",
    "scan": "{name} has pages but no text: it may be scanned. A model that reads images can read pictures of its pages",
    "memory": "{name} needs more memory than reading a document may use",
    "recursion": "{name} is nested too deeply",
    "broken": "{name} is damaged, or is not what its content says it is",
}


class DocumentPool:
    """Implements ``engine.files.ports.DocumentPort``. It can be used from any event loop; ``close()`` ends its processes."""

    def __init__(self, pool: RunnerPool | None = None, *, seconds: float = SECONDS) -> None:
        self.pool = pool or RunnerPool(
            RUNNERS, "documents.child", frames.MAX_DOCUMENT_REQUEST_BYTES
        )
        self._seconds = seconds

    async def extract_text(self, request: DocumentRequest) -> str:
        name = request.name[:200] or "The file"
        if len(request.content) > MAX_BYTES:
            limit = f"{MAX_BYTES // 1024**2} MB, the most for taking out text"
            raise DocumentUnreadable(f"{name} has more than {limit}")
        content = base64.b64encode(request.content).decode()
        message = {"job": "extract", "name": name, "content": content}
        if request.marks_pages:
            message["marks_pages"] = "yes"
        try:
            reply = await self.pool.call(message, seconds=self._seconds)
        except RunnerLate as error:
            raise DocumentUnreadable(f"{name} takes too long to read") from error
        except RunnerGone as error:
            raise DocumentUnreadable(
                f"{name} needs more time or memory than reading a document may use"
            ) from error
        return _read_reply(reply, name)

    def close(self) -> None:
        self.pool.close()


def _read_reply(reply: Mapping[str, Any], name: str) -> str:
    """Return the text of a reply, which comes from a process that read a stranger's document."""
    text = reply.get("text")
    if reply.get("ok") is True and isinstance(text, str) and len(text) <= _MAX_CHARACTERS:
        return make_storable(text)
    kind = reply.get("kind")
    sentence = _SENTENCES.get(kind if isinstance(kind, str) else "", _SENTENCES["broken"])
    raise DocumentUnreadable(sentence.format(name=name, formats=FORMATS))
