"""Finds the format of a document by its content, and returns its text; used in a runner only."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from workflows.engine.files.media_types import detect_type
from workflows.sandbox.documents import markup, office, pdf, plain, tables
from workflows.sandbox.documents.failures import Unreadable
from workflows.sandbox.serving import build_failure


MAX_CHARACTERS: Final = 1_000_000
MAX_JSON_BYTES: Final = 6 * 1024 * 1024  # of the text in a reply
CUT_NOTE: Final = "\n\n[…]"

Reader = Callable[[bytes], str]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT: Final = "application/vnd.oasis.opendocument"
READERS: Final[Mapping[str, Reader]] = {
    "application/pdf": pdf.read_pdf,
    f"{_OFFICE}.wordprocessingml.document": office.read_docx,
    f"{_OFFICE}.presentationml.presentation": office.read_pptx,
    f"{_OFFICE}.spreadsheetml.sheet": tables.read_xlsx,
    f"{_OPEN_DOCUMENT}.text": markup.read_open_document,
    f"{_OPEN_DOCUMENT}.spreadsheet": markup.read_open_document,
    f"{_OPEN_DOCUMENT}.presentation": markup.read_open_document,
    "application/epub+zip": markup.read_epub,
    "text/html": markup.read_html,
    "text/csv": tables.read_csv,
    "text/tab-separated-values": tables.read_csv,
    "message/rfc822": plain.read_mail,
    "text/vtt": plain.read_subtitles,
    "application/x-subrip": plain.read_subtitles,
    **dict.fromkeys(
        ("text/plain", "text/markdown", "application/json", "application/jsonl", "application/yaml",
         "application/xml", "image/svg+xml"),
        plain.read_text,
    ),
}  # fmt: skip
# These readers use a library in C, so their process reads no other document.
_IN_C: Final = frozenset({office.read_docx, office.read_pptx})
# Why other formats can't be read.
_REASONS: Final[Mapping[str, str]] = {
    "image": "image",
    "audio": "media",
    "video": "media",
}


def extract(message: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a message: the text of its document, or the kind of the failure."""
    content = base64.b64decode(message["content"])
    media_type = detect_type(content, str(message["name"]))
    reader = READERS.get(media_type.name)
    if reader is None:
        kind = _REASONS.get(media_type.kind, "format")
        return build_failure(kind, media_type.name)
    if message.get("marks_pages") and reader is pdf.read_pdf:
        reader = pdf.read_pages
    reply = _read(reader, content)
    return {**reply, "spent": reader in _IN_C}


def _read(reader: Reader, content: bytes) -> dict[str, Any]:
    try:
        return {"ok": True, "text": _cut(reader(content))}
    except Unreadable as error:
        return build_failure(error.kind, str(error))
    except MemoryError:
        return build_failure("memory")
    except RecursionError:
        return build_failure("recursion")
    except Exception as error:  # whatever a library raises about a broken document
        return build_failure("broken", type(error).__name__)


def _cut(text: str) -> str:
    """Return the text without characters that nothing can store, up to what a reply may have."""
    text = text.encode("utf-8", "replace").decode().replace("\x00", "").strip()
    is_cut = len(text) > MAX_CHARACTERS
    text = text[:MAX_CHARACTERS]
    while len(json.dumps(text)) > MAX_JSON_BYTES:
        text, is_cut = text[: len(text) // 2], True
    return text + CUT_NOTE if is_cut else text
