"""Decodes a response in small pieces and stops when the decompressed body exceeds a limit.

64 kB of compressed zeros become some 64 MB before a naive client counts them. Requests ask for no compression; if a
server compresses anyway, this module decompresses the response.
"""

import zlib
from collections.abc import Iterator
from typing import Final

import httpx2

from config.net.errors import BodyTooLarge, HeadersTooLarge, NetFault


RAW_STEP: Final = 4096
INFLATED_STEP: Final = 64 * 1024
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 32 * 1024

# The window bits of zlib: 31 means gzip, 15 means zlib.
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyDecoder:
    """Decodes raw chunks, and raises ``BodyTooLarge`` as soon as their decoded size exceeds the limit."""

    def __init__(self, limit: int, encoding: str) -> None:
        self._remaining = limit
        bits = _WINDOW_BITS.get(encoding)
        self._inflate = zlib.decompressobj(bits) if bits else None

    def feed(self, raw: bytes) -> Iterator[bytes]:
        for start in range(0, len(raw), RAW_STEP):
            for piece in self._decode(raw[start : start + RAW_STEP]):
                self._remaining -= len(piece)
                if self._remaining < 0:
                    raise BodyTooLarge
                if piece:
                    yield piece

    def _decode(self, step: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield step
            return
        try:
            yield self._inflate.decompress(step, INFLATED_STEP)
            while self._inflate.unconsumed_tail:
                yield self._inflate.decompress(self._inflate.unconsumed_tail, INFLATED_STEP)
        except zlib.error as error:
            raise NetFault("The response's compression is invalid.") from error


def check_headers(response: httpx2.Response, limit: int) -> str:
    """Return the content encoding. Raise ``NetFault`` if it isn't supported, or headers or body are too large."""
    raw = response.headers.raw
    size = sum(len(name) + len(value) for name, value in raw)
    if len(raw) > MAX_HEADERS or size > MAX_HEADER_BYTES:
        raise HeadersTooLarge
    encoding = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
    if encoding != "identity" and encoding not in _WINDOW_BITS:
        raise NetFault("The response uses a compression that was not requested.")
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > limit:
        raise BodyTooLarge
    return encoding


def strip_encoding_headers(response: httpx2.Response, encoding: str) -> httpx2.Headers:
    """Return the headers without those that describe the encoded body."""
    headers = response.headers.copy()
    if encoding != "identity":
        for name in ("content-encoding", "content-length"):
            headers.pop(name, None)
    return headers
