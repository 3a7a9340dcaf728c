"""Finds secrets in a text that a server answers or a model writes, whatever encodings they are in.

The forms that ``config.redaction`` lists are found where they stand. A word that says a secret only after it is decoded,
perhaps several times, counts as a whole. So does a word that would unpack to much more than the text itself: a text could
otherwise be a megabyte of small archives that unpack to gigabytes, one inside the other.
"""

import base64
import binascii
import html
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from config.redaction import Redactor, list_forms
from workflows.engine.language.document import Json


MIN_LENGTH: Final = 6  # a shorter secret is part of too many words once they are decoded
MAX_DECODINGS: Final = 4  # one inside the other
UNPACKED_PER_LETTER: Final = 20  # bytes that the archives of a text may unpack to, all together
_WORD: Final = re.compile(r"[^\s\"'<>{}()\[\],]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_BASE64_PART: Final = re.compile(r"[A-Za-z0-9+_-]{8,}")  # of a path, which is divided by slashes
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_GZIP_OR_ZLIB: Final = 47  # the window bits with which zlib reads both


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


class SecretFinder:
    """Finds these secrets, forwards and backwards. What it costs grows with the text and with the number of secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        texts = {secret.strip() for secret in secrets}
        forms = {form for text in texts for form in _list_plain_forms(text)}
        long_enough = sorted(text for text in texts if len(text) >= MIN_LENGTH)
        self._decoded = tuple(
            dict.fromkeys(form for text in long_enough for form in (text, text[::-1]))
        )
        self._shortest = min(map(len, self._decoded), default=0)
        self._forms = sorted(forms)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_in(self, value: Json) -> bool:
        """Return whether a string of the value, or the name of a field, has a secret."""
        return any(self._is_in_text(text) for text in _iter_texts(value))

    def replace(self, text: str, mask: str) -> str:
        """Return the text with the mask in place of each secret, or of the word that says it."""
        text = Redactor(dict.fromkeys(self._forms, mask)).redact_text(text)
        room = _Room(len(text) * UNPACKED_PER_LETTER)
        return _WORD.sub(
            lambda match: mask if self._says(match.group(), room) else match.group(), text
        )

    def _is_in_text(self, text: str) -> bool:
        if any(form in text for form in self._forms):
            return True
        room = _Room(len(text) * UNPACKED_PER_LETTER)
        return any(self._says(match.group(), room) for match in _WORD.finditer(text))

    def _says(self, word: str, room: _Room) -> bool:
        """Return whether a word says a secret after it is decoded, or might say one in what is too much to unpack."""
        if not self._decoded or len(word) < self._shortest:
            return False
        try:
            return self._says_decoded(word, room)
        except _TooMuchUnpacked:
            return True

    def _says_decoded(self, word: str, room: _Room) -> bool:
        texts = {word}
        earlier_texts = {word}
        for _depth in range(MAX_DECODINGS):
            texts = {decoded for text in texts for decoded in _decode(text, room)} - earlier_texts
            if any(secret in text for text in texts for secret in self._decoded):
                return True
            earlier_texts |= texts
        return False


def _list_plain_forms(secret: str) -> Iterator[str]:
    """Yield the forms that are found where they stand. A secret with spaces or quotes isn't one word in HTML or JSON."""
    forms = list_forms(secret)
    if not forms:
        return
    backwards = [secret[::-1]] if len(secret) >= MIN_LENGTH else []
    if _WORD.fullmatch(secret):
        yield from (*forms, *backwards)
        return
    for form in (html.escape(secret), *forms, *backwards):
        yield form
        yield json.dumps(form)[1:-1]


def _iter_texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _iter_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_texts(item)


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
