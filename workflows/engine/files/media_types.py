"""Finds the type of a file by its content. The name only decides between types that look alike, such as texts.

A file that says one thing in its name and is another one is described as what it is, so that no later check can be
talked into anything by a name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import filetype


MAX_NAME: Final = 200
_SAMPLE: Final = 8192
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT: Final = "application/vnd.oasis.opendocument"

OCTETS: Final = "application/octet-stream"
TEXT: Final = "text/plain"

# The main part of an Office document, or the content of the entry ``mimetype`` → media type, extension.
_ARCHIVES: Final[Mapping[bytes, tuple[str, str]]] = {
    b"word/document.xml": (f"{_OFFICE}.wordprocessingml.document", ".docx"),
    b"xl/workbook.xml": (f"{_OFFICE}.spreadsheetml.sheet", ".xlsx"),
    b"ppt/presentation.xml": (f"{_OFFICE}.presentationml.presentation", ".pptx"),
}
_DECLARED: Final[Mapping[str, tuple[str, str]]] = {
    "application/epub+zip": ("application/epub+zip", ".epub"),
    f"{_OPEN_DOCUMENT}.text": (f"{_OPEN_DOCUMENT}.text", ".odt"),
    f"{_OPEN_DOCUMENT}.spreadsheet": (f"{_OPEN_DOCUMENT}.spreadsheet", ".ods"),
    f"{_OPEN_DOCUMENT}.presentation": (f"{_OPEN_DOCUMENT}.presentation", ".odp"),
}
# The extension of a text → its media type. A text with any other name is plain text.
_TEXTS: Final[Mapping[str, str]] = {
    ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown",
    ".markdown": "text/markdown", ".mdx": "text/markdown", ".json": "application/json",
    ".jsonl": "application/jsonl", ".yaml": "application/yaml", ".yml": "application/yaml",
    ".xml": "application/xml", ".html": "text/html", ".htm": "text/html",
    ".eml": "message/rfc822", ".vtt": "text/vtt", ".srt": "application/x-subrip",
}  # fmt: skip
_MARKUP: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+(\w+)[^>]*>\s*)?<\s*(\w[\w:]*)",
    re.IGNORECASE | re.DOTALL,
)
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# Extensions that also name a type, besides the usual one.
_SPELLINGS: Final[Mapping[str, frozenset[str]]] = {
    ".jpg": frozenset({".jpeg", ".jfif"}),
    ".docx": frozenset({".docm", ".dotx"}),
    ".xlsx": frozenset({".xlsm", ".xltx"}),
    ".pptx": frozenset({".pptm", ".ppsx"}),
    ".tif": frozenset({".tiff"}),
    ".mp4": frozenset({".m4v"}),
}


@dataclass(frozen=True, slots=True)
class MediaType:
    """The media type of a content, its kind as in Dify's file object, and the extension that fits it."""

    name: str
    kind: str
    extension: str


def detect_type(content: bytes, name: str) -> MediaType:
    suffix = get_extension(name)
    if content[:4] == b"PK\x03\x04":
        return _describe_archive(content)
    if content.startswith(b"%PDF-"):
        return _build("application/pdf", ".pdf")
    if (guess := filetype.guess(content[:_SAMPLE])) is not None and not _is_text(content):
        extension = f".{guess.extension}"
        is_spelling = suffix in _SPELLINGS.get(extension, ())
        return _build(guess.mime, suffix if is_spelling else extension)
    if content[:1024].find(b"%PDF-") >= 0 and not _is_text(content):
        return _build("application/pdf", ".pdf")
    if not _is_text(content):
        return _build(OCTETS, "")
    if (markup := _find_markup(content)) is not None:
        return _build(*markup)
    media_type = _TEXTS.get(suffix, TEXT)
    return _build(media_type, suffix if media_type != TEXT else suffix or ".txt")


def clean_name(name: str) -> str:
    """Return the name of a file for people: without folders, control characters and invisible marks."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    cleaned = "".join(character for character in last if character.isprintable()).strip(" .")
    if len(cleaned) > MAX_NAME:
        suffix = get_extension(cleaned)
        cleaned = cleaned[: MAX_NAME - len(suffix)] + suffix
    return cleaned or "file"


def get_extension(name: str) -> str:
    """Return the extension of a name in lower case, with its dot, or "" for an unusual one."""
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    return suffix if re.fullmatch(r"\.[a-z0-9]{1,12}", suffix) else ""


def is_shown_inline(media_type: str) -> bool:
    """Return whether a page may show such a file as a picture. SVG is never shown, because it can run scripts."""
    return media_type in _IMAGES


def get_served_type(media_type: str) -> str:
    """Return the type with which a content is served: one that no browser runs or draws, or a picture's own."""
    return media_type if media_type in _IMAGES or media_type == "application/pdf" else OCTETS


def _build(media_type: str, extension: str) -> MediaType:
    category = media_type.partition("/")[0]
    if media_type == "image/svg+xml" or media_type == OCTETS:
        kind = "custom"
    elif category in ("image", "audio", "video"):
        kind = category
    elif media_type in ("application/x-msdownload", "application/x-executable"):
        kind = "custom"
    else:
        kind = "document"
    return MediaType(media_type, kind, extension)


def _describe_archive(content: bytes) -> MediaType:
    """Return the type of a zip by the names in it. Nothing is unpacked, and no table of contents is read."""
    if content[30:38] == b"mimetype":  # the first entry of EPUB and OpenDocument, not compressed
        text = content[38:138].decode("ascii", "replace")
        for declared, (media_type, extension) in _DECLARED.items():
            if text.startswith(declared) and not text[len(declared) :].startswith("-"):
                return _build(media_type, extension)
    for part, (media_type, extension) in _ARCHIVES.items():
        if part in content:
            return _build(media_type, extension)
    return MediaType("application/zip", "custom", ".zip")


def _is_text(content: bytes) -> bool:
    sample = content[:_SAMPLE]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):  # the mark of UTF-16
        return True
    if b"\x00" in sample:
        return False
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        # The end of the sample may cut a character; an old encoding has few bytes that no text has.
        if error.start >= len(sample) - 3 and len(content) > len(sample):
            return True
        controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in sample)
        return controls == 0 and _is_readable(sample)
    return not any(byte < 32 and byte not in b"\t\n\r\f\x08\x1b" for byte in sample)


def _is_readable(sample: bytes) -> bool:
    """Return whether most of a text in an unknown encoding is letters, digits and white space."""
    if filetype.guess(sample) is not None:
        return False
    plain = sum(32 <= byte < 127 or byte in b"\t\n\r" for byte in sample)
    return plain * 2 >= len(sample)


def _find_markup(content: bytes) -> tuple[str, str] | None:
    """Return the type of a text that a browser would take for a page or a drawing, whatever its name is."""
    match = _MARKUP.match(content[:_SAMPLE].removeprefix(b"\xef\xbb\xbf"))
    if match is None:
        return None
    names = {(match[1] or b"").lower(), match[2].lower().rpartition(b":")[2]}
    if b"svg" in names:
        return "image/svg+xml", ".svg"
    return ("text/html", ".html") if b"html" in names else None
