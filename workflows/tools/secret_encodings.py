"""Reads a text in each of the encodings that could be meant, to find what it says.

Each of them is read in time that grows with the text alone: a pattern begins at the start of a word only, and doesn't go
back.
"""

import base64
import binascii
import bz2
import html
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes


_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_BASE64_PART: Final = re.compile(r"[A-Za-z0-9+_-]{8,}")  # of a path, which is divided by slashes
_BASE32: Final = re.compile(r"[A-Z2-7]{10,}|[a-z2-7]{10,}")
_BASE32_HEX: Final = re.compile(r"[0-9A-V]{10,}|[0-9a-v]{10,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
# The bytes one by one, with something between them: 73 33, 73:33, 0x73, 0x33
_SINGLE_BYTES: Final = re.compile(
    r"(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{2}(?:[ \t\r\n,:;._-]{1,4}+(?:0x)?[0-9a-fA-F]{2}(?![0-9a-zA-Z])){5,}"
)
# The same in decimal numbers, as programs print a list of bytes.
_DECIMAL_BYTES: Final = re.compile(
    r"(?<![0-9a-zA-Z.])[0-9]{1,3}(?:[ \t\r\n,;]{1,4}+[0-9]{1,3}(?![0-9a-zA-Z.])){5,}"
)
_BASE58: Final = re.compile(r"(?<![A-Za-z0-9+])[1-9A-HJ-NP-Za-km-z]{9,}+(?![0OIl+])")
_DIGITS_OF_BASE58: Final = bytes.maketrans(
    b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", bytes(range(58))
)
# The letters of a number in base 58 that are read: each of them changes all bytes, so that the work grows with the square.
MAX_BASE58: Final = 400
_BITS: Final = re.compile(r"(?:[01]{8}){6,}")
_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)
_QUOTED: Final = re.compile(r"=([0-9a-fA-F]{2})")  # quoted-printable, as in mail
# One word a line, as encoded texts are wrapped, also if the line breaks are escaped.
_WRAPPED: Final = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]++(?:[ \t]*+(?:\r?\n|\\r\\n|\\n)[ \t]*+[A-Za-z0-9+/_-]++)+"
)
_LINE_BREAK: Final = re.compile(r"[ \t]*(?:\r?\n|\\r\\n|\\n)[ \t]*")
_DIGITS_OF_BASE32: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHIJKLMNOPQRSTUV"
)
_NOISE: Final = 8  # a text with more than one unreadable character in so many says nothing
_GZIP_OR_ZLIB: Final = 47  # the window bits with which zlib reads both
_RAW_DEFLATE: Final = -15  # those for the same without a header
_MIN_DEFLATED: Final = 8  # bytes
_MAX_DICTIONARY: Final = 80 * 1024 * 1024  # bytes; the highest preset of xz needs 65 MB


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


# How the files of a format begin, and what unpacks them. The last format is that of xz before it had a header.
_UNPACKERS: Final[tuple[tuple[bytes, Callable[[], _Decompressor]], ...]] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(_GZIP_OR_ZLIB)),
    (b"\x78", lambda: zlib.decompressobj(_GZIP_OR_ZLIB)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(memlimit=_MAX_DICTIONARY)),
    (b"\x5d\0\0", lambda: lzma.LZMADecompressor(memlimit=_MAX_DICTIONARY)),
)
_UNPACKING_ERRORS: Final = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


class TooMuchUnpacked(Exception):
    """The archives of a text unpack to more than may be read."""


@dataclass(slots=True)
class Room:
    """The bytes that the archives of a text may still unpack to."""

    byte_count: int

    def unpack(self, content: bytes) -> Iterator[bytes]:
        """Yield the content of a packed file, or other content as it is and inflated. Raises TooMuchUnpacked."""
        for beginning, build in _UNPACKERS:
            if content.startswith(beginning):
                unpacked = self._unpack(content, build())
                yield content if unpacked is None else unpacked
                return
        yield content
        if len(content) >= _MIN_DEFLATED:
            decompressor = zlib.decompressobj(_RAW_DEFLATE)
            unpacked = self._unpack(content, decompressor, is_ended=lambda: decompressor.eof)
            yield from () if unpacked is None else (unpacked,)

    def _unpack(
        self,
        content: bytes,
        decompressor: _Decompressor,
        is_ended: Callable[[], bool] = lambda: True,
    ) -> bytes | None:
        """Return what the content unpacks to, or None if it isn't packed, or hasn't ended although it must."""
        if self.byte_count < 0:
            raise TooMuchUnpacked
        try:
            unpacked = decompressor.decompress(content, self.byte_count + 1)
        except _UNPACKING_ERRORS:
            return None
        if not is_ended() and len(unpacked) <= self.byte_count:
            return None
        self.byte_count = max(self.byte_count - len(unpacked), -1)
        if self.byte_count < 0:
            raise TooMuchUnpacked
        return unpacked


@dataclass(frozen=True, slots=True)
class Reading:
    """This is what a text says in one encoding. ``is_noise`` means that it is no text, and that nothing more is encoded in it."""

    text: str
    is_noise: bool = False


def iter_encoded_blocks(text: str) -> Iterator[re.Match[str]]:
    """Yield the passages of several words that may say something only together."""
    yield from _WRAPPED.finditer(text)
    yield from _SINGLE_BYTES.finditer(text)
    yield from _DECIMAL_BYTES.finditer(text)


def decode(text: str, room: Room) -> Iterator[Reading]:
    """Yield what a text says if it is read in each of the encodings that could be meant."""
    if "%" in text or "+" in text:
        content = text.replace("+", " ").encode(errors="surrogatepass")
        yield from _read_bytes(unquote_to_bytes(content))
    if "\\" in text:
        yield from _read_letters(_ESCAPE.sub(_unescape, text))
    if "=" in text:
        yield from _read_letters(_QUOTED.sub(lambda match: chr(int(match[1], 16)), text))
    if "&" in text:
        yield Reading(html.unescape(text))
    if "\0" in text:  # UTF-16 that was read as another encoding
        yield Reading(text.replace("\0", ""))
    for match in _WRAPPED.finditer(text):
        yield from map(Reading, _unwrap(match.group()))
    for pattern, decode_binary in _BINARY:
        for match in pattern.finditer(text):
            with suppress(ValueError, binascii.Error):  # it only looks like the encoding
                for content in room.unpack(decode_binary(match.group())):
                    yield from _read_bytes(content)


def _read_letters(text: str) -> Iterator[Reading]:
    """Yield the text, and what it says if its letters are bytes of UTF-8."""
    yield Reading(text)
    with suppress(UnicodeError):
        if not text.isascii():
            yield Reading(text.encode("latin-1").decode())


def _read_bytes(content: bytes) -> Iterator[Reading]:
    """Yield the text in UTF-8, and in UTF-16 if it could be that."""
    text = content.decode(errors="replace")
    unreadable_count, nul_count = text.count("\ufffd"), content.count(0)
    yield Reading(text, is_noise=unreadable_count * _NOISE > len(text))
    if unreadable_count or nul_count:
        for encoding in ("utf-16-le", "utf-16-be"):
            is_noise = nul_count * _NOISE < len(content)
            yield Reading(content.decode(encoding, errors="replace"), is_noise)


def _unescape(match: re.Match[str]) -> str:
    if octal := match[4]:
        return chr(int(octal, 8))
    code = match[1] or match[2] or match[3]
    return chr(min(int(code, 16), sys.maxunicode)) if code else match[5]


def _unwrap(block: str) -> Iterator[str]:
    """Yield the lines of a wrapped text as one word. What comes before it, one word a line, isn't part of it.

    All lines but the last are equally long. A text of two lines has no two that are.
    """
    lines = _LINE_BREAK.split(block)
    lengths = list(map(len, lines))
    pairs = enumerate(pairwise(lengths))
    equal = next((number for number, (length, next_) in pairs if length == next_), 0)
    for start in dict.fromkeys((0, equal, len(lines) - 2)):
        yield "".join(lines[start:])


def _read_base64(text: str) -> bytes:
    body = text.replace("-", "+").replace("_", "/")
    body = body[:-1] if len(body) % 4 == 1 else body
    return base64.b64decode(body + "=" * (-len(body) % 4))


def _read_base32(text: str) -> bytes:
    return _read_base32_hex(text.upper().translate(_DIGITS_OF_BASE32))


def _read_base32_hex(text: str) -> bytes:
    """Return the bytes. Python's own digits are those of this encoding, and read much faster than by ``base64``."""
    bit_count = 5 * len(text)
    return (int(text, 32) >> bit_count % 8).to_bytes(bit_count // 8)


def _read_base58(text: str) -> bytes:
    """Return the bytes of a number in base 58, as Bitcoin writes it. Raises ValueError for too long a number."""
    if len(text) > MAX_BASE58:
        raise ValueError
    number = 0
    for digit in text.encode().translate(_DIGITS_OF_BASE58):
        number = number * 58 + digit
    return number.to_bytes((number.bit_length() + 7) // 8)


def _read_single_bytes(text: str) -> bytes:
    return bytes.fromhex("".join(re.findall(r"(?:0x)?([0-9a-fA-F]{2})(?![0-9a-zA-Z])", text)))


def _read_decimal_bytes(text: str) -> bytes:
    """Return the bytes; a number that is none is left out."""
    return bytes(number for number in map(int, re.findall("[0-9]+", text)) if number < 256)


def _read_bits(text: str) -> bytes:
    return int(text, 2).to_bytes(len(text) // 8)


_BINARY: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...]] = (
    (_BASE64, _read_base64),
    (_BASE64_PART, _read_base64),
    (_BASE58, _read_base58),
    (_BASE32, _read_base32),
    (_BASE32_HEX, _read_base32_hex),
    (_HEX, bytes.fromhex),
    (_SINGLE_BYTES, _read_single_bytes),
    (_DECIMAL_BYTES, _read_decimal_bytes),
    (_BITS, _read_bits),
)
