"""Reads an answer in small raw steps and stops at a limit counted after decompression.

A raw chunk of 64 kB of zeros, compressed, inflates to some 64 MB before a naive client counts it.
We ask for no compression; a server that compresses all the same is inflated here, piece by piece.
"""

import zlib
from collections.abc import Iterator
from typing import Final

import httpx

from config.net.errors import BodyTooLarge, HeadersTooLarge, NetFault


RAW_STEP: Final = 4096
INFLATED_STEP: Final = 64 * 1024
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 32 * 1024

# zlib's window bits: 31 reads gzip, 15 zlib
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class Body:
    """Fed raw chunks, gives decoded ones; raises BodyTooLarge at the first byte too many."""

    def __init__(self, limit: int, encoding: str) -> None:
        self._left = limit
        bits = _WINDOW_BITS.get(encoding)
        self._inflate = zlib.decompressobj(bits) if bits else None

    def feed(self, raw: bytes) -> Iterator[bytes]:
        for start in range(0, len(raw), RAW_STEP):
            step = raw[start : start + RAW_STEP]
            for piece in self._decoded(step):
                self._left -= len(piece)
                if self._left < 0:
                    raise BodyTooLarge
                if piece:
                    yield piece

    def _decoded(self, step: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield step
            return
        try:
            yield self._inflate.decompress(step, INFLATED_STEP)
            while self._inflate.unconsumed_tail:
                yield self._inflate.decompress(self._inflate.unconsumed_tail, INFLATED_STEP)
        except zlib.error as error:
            raise NetFault("The answer's compression is broken.") from error


def checked_encoding(response: httpx.Response) -> str:
    """The answer's content encoding; raises for headers beyond the limits or one we can't bound."""
    raw = response.headers.raw
    if len(raw) > MAX_HEADERS or sum(len(k) + len(v) for k, v in raw) > MAX_HEADER_BYTES:
        raise HeadersTooLarge
    encoding = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
    if encoding != "identity" and encoding not in _WINDOW_BITS:
        raise NetFault("The answer is compressed in a way that wasn't asked for.")
    return encoding


def announced_too_large(response: httpx.Response, limit: int) -> bool:
    length = response.headers.get("content-length", "")
    return length.isascii() and length.isdigit() and int(length) > limit


def plain_headers(response: httpx.Response, encoding: str) -> httpx.Headers:
    """Headers that fit the decoded body."""
    headers = response.headers.copy()
    if encoding != "identity":
        for name in ("content-encoding", "content-length"):
            if name in headers:
                del headers[name]
    return headers
