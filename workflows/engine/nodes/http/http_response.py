"""What an HTTP answer is to a workflow: text, or a file; and how large it may be."""

import hashlib
import re
from collections.abc import Mapping
from email.message import Message
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from workflows.engine.document import Json
from workflows.engine.ports import HttpResponse


MAX_TEXT_BYTES: Final = 1024 * 1024
MAX_BINARY_BYTES: Final = 10 * 1024 * 1024

_TEXTUAL: Final = re.compile(
    r"text/|application/(?:.*\+)?(?:json|xml|javascript|ecmascript|yaml|x-yaml|graphql|sql|toml|"
    r"x-ndjson|ndjson|jsonlines|x-www-form-urlencoded|x-sh)$|multipart/|message/"
)
_BINARY: Final = re.compile(
    r"image/|audio/|video/|font/|application/(?:octet-stream|pdf|zip|gzip|x-gzip|x-tar|x-7z.*|"
    r"msword|vnd\..*|x-zip.*|x-bzip.*|epub\+zip|wasm|java-archive|x-rar.*)$"
)
_KINDS: Final[Mapping[str, str]] = {"image": "image", "audio": "audio", "video": "video"}
_EXTENSIONS: Final[Mapping[str, str]] = {
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp",
    "image/svg+xml": ".svg", "application/pdf": ".pdf", "application/zip": ".zip",
    "audio/mpeg": ".mp3", "audio/wav": ".wav", "video/mp4": ".mp4", "text/csv": ".csv",
    "text/plain": ".txt", "application/json": ".json",
}  # fmt: skip


def media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def says_file(headers: Mapping[str, str]) -> bool | None:
    """Whether the headers alone call it a file; None when they leave it open."""
    if disposition_of(headers)[0]:
        return True
    kind = media_type(headers)
    if _TEXTUAL.match(kind):
        return False
    return True if _BINARY.match(kind) else None


def is_file_answer(response: HttpResponse) -> bool:
    said = says_file(response.headers)
    return _looks_binary(response.body) if said is None else said


def limit_for(headers: Mapping[str, str]) -> int:
    """Of an answer whose headers leave it open the larger: its beginning decides."""
    return MAX_TEXT_BYTES if says_file(headers) is False else MAX_BINARY_BYTES


def too_large(response: HttpResponse) -> int | None:
    """The limit in megabytes an answer breaks."""
    limit = MAX_BINARY_BYTES if is_file_answer(response) else MAX_TEXT_BYTES
    return limit // (1024 * 1024) if len(response.body) > limit else None


def text_of(response: HttpResponse) -> str:
    """NUL characters go, as everywhere; what isn't text of its charset becomes a question mark."""
    message = Message()
    message["content-type"] = response.headers.get("content-type", "")
    charset = str(message.get_param("charset") or "utf-8")
    try:
        text = response.body.decode(charset, "replace")
    except LookupError:
        text = response.body.decode("utf-8", "replace")
    return text.replace("\x00", "")


def file_of(response: HttpResponse, url: str) -> dict[str, Json]:
    """A file as workflows know it: where it is, and what it was when it was looked at."""
    mime = media_type(response.headers) or "application/octet-stream"
    name = disposition_of(response.headers)[1] or PurePosixPath(unquote(urlsplit(url).path)).name
    name = _safe_name(name) or "file"
    suffix = PurePosixPath(name).suffix or _EXTENSIONS.get(mime, "")
    return {
        "dify_model_identity": "__dify__file__",
        "type": _KINDS.get(mime.partition("/")[0], "document"),
        "transfer_method": "remote_url",
        "remote_url": url,
        "url": url,
        "filename": name,
        "name": name,
        "extension": suffix,
        "mime_type": mime,
        "size": len(response.body),
        "sha256": hashlib.sha256(response.body).hexdigest(),
    }


def disposition_of(headers: Mapping[str, str]) -> tuple[bool, str]:
    """Whether it is meant to be kept as a file, and under which name."""
    written = headers.get("content-disposition", "")
    if not written:
        return False, ""
    message = Message()
    message["content-disposition"] = written
    name = message.get_filename() or ""
    return message.get_content_disposition() == "attachment" or bool(name), name


def _looks_binary(body: bytes) -> bool:
    start = body[:1024]
    if b"\x00" in start:
        return True
    try:
        start.decode()
    except UnicodeDecodeError as error:
        return error.start < len(start) - 3 or len(body) <= len(start)
    return False


def _safe_name(name: str) -> str:
    return re.sub(r"[\x00-\x1f/\\]", "", name.replace("\\", "/").rsplit("/", 1)[-1])[:255]
