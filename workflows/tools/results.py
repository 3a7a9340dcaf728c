"""Turns the answers of other parties into results of bounded size: text, and the JSON in it."""

import json
import re
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Final

from config.http import strict_json
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult


MAX_TEXT: Final = 50_000  # characters that a model or a page is given
MAX_DATA: Final = 200_000  # characters of the JSON text of the structured part

# Encodings of text. Python has others, such as Punycode, that take long for a large body.
_CHARSETS: Final = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|ascii|iso-8859-\d+|latin-?1|windows-125\d|gbk|gb2312|gb18030|"
    r"big5|shift[_-]jis|euc-(jp|kr)|koi8-r",
    re.IGNORECASE,
)


def build_http_result(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    clean: Callable[[str], str] | None = None,
) -> ToolResult:
    """Return the response of an API. A status from 400 is an error, of which the model is told."""
    is_error = status >= 400
    media_type, text = _decode(headers, body)
    prefix = f"HTTP {status}\n" if is_error else ""
    if text is None:
        note = f"A file of type {media_type or 'unknown'}, {len(body):,} bytes; it is not shown."
        return ToolResult(prefix + note, is_error=is_error)
    text = clean(text) if clean else text
    data = _parse_json(text) if "json" in media_type or text[:1] in ("{", "[") else ()
    return ToolResult(
        prefix + shorten_text(text or f"HTTP {status}, no content"), data=data, is_error=is_error
    )


def shorten_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return text that can be stored and shown, and says that it was cut where it was."""
    clean = text.replace("\x00", "").encode(errors="replace").decode()
    if len(clean) <= limit:
        return clean
    return f"{clean[:limit]}\n[Cut: {len(clean) - limit:,} more characters]"


def limit_data(value: Json) -> tuple[Json, ...]:
    """Return the structured part of a result, or nothing if it is too large or can't be stored."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ()
    return _parse_json(text)


def _parse_json(text: str) -> tuple[Json, ...]:
    if len(text) > MAX_DATA:
        return ()
    try:
        return (strict_json.loads(text),)
    except strict_json.NotStrictJson:
        return ()


def _decode(headers: Mapping[str, str], body: bytes) -> tuple[str, str | None]:
    """Return the media type and the text, or None for a file that isn't text."""
    message = Message()
    message["content-type"] = headers.get("content-type", "")[:200]
    media_type = message.get_content_type() if headers.get("content-type") else ""
    charset = str(message.get_param("charset", "utf-8"))
    try:
        return media_type, body.decode(charset if _CHARSETS.fullmatch(charset) else "utf-8")
    except (LookupError, UnicodeDecodeError):
        is_text = media_type.startswith("text/") or "json" in media_type or "xml" in media_type
        return media_type, body.decode(errors="replace") if is_text else None
