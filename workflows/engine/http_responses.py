"""Converts HTTP responses to outputs: text or a file, within size limits."""

import hashlib
import re
from collections.abc import Mapping
from email.message import Message
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from workflows.engine.language.document import Json
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
_EXTENSIONS: Final[Mapping[str, str]] = {
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp",
    "image/svg+xml": ".svg", "application/pdf": ".pdf", "application/zip": ".zip",
    "audio/mpeg": ".mp3", "audio/wav": ".wav", "video/mp4": ".mp4", "text/csv": ".csv",
    "text/plain": ".txt", "application/json": ".json",
}  # fmt: skip


def get_media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_declared_file(headers: Mapping[str, str]) -> bool | None:
    """Return whether the headers alone declare a file; or None if they don't tell."""
    if parse_disposition(headers)[0]:
        return True
    media_type = get_media_type(headers)
    if _TEXTUAL.match(media_type):
        return False
    return True if _BINARY.match(media_type) else None


def is_file_answer(response: HttpResponse) -> bool:
    declared = is_declared_file(response.headers)
    return _is_binary(response.body) if declared is None else declared


def find_exceeded_limit(response: HttpResponse) -> int | None:
    """Return the limit in megabytes that a response exceeds, or None if it is small enough."""
    limit = MAX_BINARY_BYTES if is_file_answer(response) else MAX_TEXT_BYTES
    return limit // (1024 * 1024) if len(response.body) > limit else None


def decode_text(response: HttpResponse) -> str:
    """Decode the body. NUL characters are removed, and invalid bytes become question marks."""
    message = Message()
    message["content-type"] = response.headers.get("content-type", "")
    charset = str(message.get_param("charset") or "utf-8")
    try:
        text = response.body.decode(charset, "replace")
    except LookupError:
        text = response.body.decode("utf-8", "replace")
    return text.replace("\x00", "")


def build_file(response: HttpResponse, url: str) -> dict[str, Json]:
    """Return the file of a response as a workflow value, with its URL and its properties."""
    media_type = get_media_type(response.headers) or "application/octet-stream"
    category = media_type.partition("/")[0]
    name = parse_disposition(response.headers)[1] or PurePosixPath(unquote(urlsplit(url).path)).name
    name = _clean_name(name) or "file"
    suffix = PurePosixPath(name).suffix or _EXTENSIONS.get(media_type, "")
    return {
        "dify_model_identity": "__dify__file__",
        "type": category if category in ("image", "audio", "video") else "document",
        "transfer_method": "remote_url",
        "remote_url": url,
        "url": url,
        "filename": name,
        "name": name,
        "extension": suffix,
        "mime_type": media_type,
        "size": len(response.body),
        "sha256": hashlib.sha256(response.body).hexdigest(),
    }


def parse_disposition(headers: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether the headers declare an attachment, and its file name, which may be empty."""
    disposition = headers.get("content-disposition", "")
    if not disposition:
        return False, ""
    message = Message()
    message["content-disposition"] = disposition
    name = message.get_filename() or ""
    return message.get_content_disposition() == "attachment" or bool(name), name


def _is_binary(body: bytes) -> bool:
    sample = body[:1024]
    if b"\x00" in sample:
        return True
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        # The end of the sample may cut a character of a longer text.
        return error.start < len(sample) - 3 or len(body) <= len(sample)
    return False


def _clean_name(name: str) -> str:
    return re.sub(r"[\x00-\x1f/\\]", "", name.replace("\\", "/").rsplit("/", 1)[-1])[:255]
