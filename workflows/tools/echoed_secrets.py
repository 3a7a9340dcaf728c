"""Removes the secret of a connection from what its server answers: some repeat the headers or the address of a request.

The forms that ``config.redaction`` lists are replaced where they stand. A word that says the secret only after it is
decoded, perhaps several times, is replaced as a whole. So is a word that would unpack to much more than the answer itself:
an answer could otherwise be a megabyte of small archives that unpack to gigabytes, one inside the other.
"""

import base64
import binascii
import html
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import unquote_plus

from config.redaction import Redactor, list_forms
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolAsks, ToolResult
from workflows.tools.openapi.security import Security


REDACTED: Final = "[secret]"
MIN_LENGTH: Final = 6  # a shorter secret is part of too many words
MAX_DECODINGS: Final = 4  # one inside the other
UNPACKED_PER_LETTER: Final = 20  # bytes that the archives of a text may unpack to, all together
_WORD: Final = re.compile(r"[^\s\"'<>{}()\[\],]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_BASE64_PART: Final = re.compile(r"[A-Za-z0-9+_-]{8,}")  # of a path, which is divided by slashes
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_GZIP_OR_ZLIB: Final = 47  # the window bits with which zlib reads both

Clean = Callable[[str], str]


class _TooMuchUnpacked(Exception):
    """The archives of a text unpack to more than may be read."""


@dataclass(slots=True)
class _Room:
    """The bytes that the archives of a text may still unpack to."""

    byte_count: int

    def unpack(self, content: bytes) -> bytes:
        """Return the content of a gzip or zlib file, or other content as it is. Raises _TooMuchUnpacked."""
        if content[:2] != b"\x1f\x8b" and content[:1] != b"\x78":
            return content
        if self.byte_count < 0:
            raise _TooMuchUnpacked
        decompressor = zlib.decompressobj(_GZIP_OR_ZLIB)
        try:
            unpacked = decompressor.decompress(content, self.byte_count + 1)
        except zlib.error:
            return content
        self.byte_count = max(self.byte_count - len(unpacked), -1)
        if self.byte_count < 0:
            raise _TooMuchUnpacked
        return unpacked


def build_cleaner(secret: str | None, security: Security) -> Clean:
    """Return the function that removes the secret from a text, in every form in which the request showed it."""
    secrets = _list_secrets(secret or "", security)
    if not secrets:
        return _keep
    forms = {form for each in secrets for form in (html.escape(each), *list_forms(each))}
    # A secret with spaces isn't one word, so that the forms of JSON in JSON stand here, too.
    forms |= {json.dumps(form)[1:-1] for form in forms}
    return partial(_clean, Redactor(dict.fromkeys(forms, REDACTED)), secrets)


def clean_result(result: ToolResult, clean: Clean) -> ToolResult:
    data = [_clean_value(value, clean) for value in result.data]
    return replace(result, text=clean(result.text), data=data)


def clean_question(question: ToolAsks, clean: Clean) -> ToolAsks:
    """Return the question as people may see it. Its state goes back to its server as it came."""
    return ToolAsks(
        {name: _clean_value(value, clean) for name, value in question.form.items()}, question.state
    )


def _list_secrets(secret: str, security: Security) -> tuple[str, ...]:
    """Return the secret, what the header has of it, and for a user with a password the password alone."""
    parts = [secret]
    if header := security.build_header(secret):
        parts.append(header[1].rpartition(" ")[2])
    if security.type == "basic":
        parts.append(secret.partition(":")[2])
    return tuple(dict.fromkeys(part for part in parts if len(part) >= MIN_LENGTH))


def _keep(text: str) -> str:
    return text


def _clean(redactor: Redactor, secrets: tuple[str, ...], text: str) -> str:
    text = redactor.redact_text(text)
    shortest, room = min(map(len, secrets)), _Room(len(text) * UNPACKED_PER_LETTER)

    def clean_word(match: re.Match[str]) -> str:
        word = match.group()
        return REDACTED if len(word) >= shortest and _says(word, secrets, room) else word

    return _WORD.sub(clean_word, text)


def _says(word: str, secrets: tuple[str, ...], room: _Room) -> bool:
    """Return whether a word says a secret after it is decoded, or might say one in what is too much to unpack."""
    try:
        return _says_decoded(word, secrets, room)
    except _TooMuchUnpacked:
        return True


def _says_decoded(word: str, secrets: tuple[str, ...], room: _Room) -> bool:
    texts = {word}
    earlier_texts = {word}
    for _depth in range(MAX_DECODINGS):
        texts = {decoded for text in texts for decoded in _decode(text, room)} - earlier_texts
        if any(secret in text for text in texts for secret in secrets):
            return True
        earlier_texts |= texts
    return False


def _decode(text: str, room: _Room) -> Iterator[str]:
    """Yield what a text says if it is read in each of the encodings that could be meant."""
    if "%" in text or "+" in text:
        yield unquote_plus(text)
    if "\\" in text:
        yield _ESCAPE.sub(_unescape, text)
    if "&" in text:
        yield html.unescape(text)
    for pattern, decode in _BINARY:
        for match in pattern.finditer(text):
            with suppress(
                ValueError, binascii.Error, zlib.error
            ):  # it only looks like the encoding
                yield room.unpack(decode(match.group())).decode()


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else match[3]


def _read_base64(text: str) -> bytes:
    body = text.replace("-", "+").replace("_", "/")
    return base64.b64decode(body + "=" * (-len(body) % 4))


_BINARY: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...]] = (
    (_BASE64, _read_base64),
    (_BASE64_PART, _read_base64),
    (_HEX, bytes.fromhex),
)


def _clean_value(value: Json, clean: Clean) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_value(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_value(item, clean) for key, item in value.items()}
    return value
