"""The words of memories that a conversation was shown long ago, in a fixed size.

The newest words are kept as they are. Of older ones only a Bloom filter is left: what is in it is recognized, always. The
more words have faded, the more often others are taken for them, so that a person is asked once too often and never once
too seldom.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Final


MAX_WORDS: Final = 50_000  # characters that are kept as they are
SIZE: Final = 2**15  # bytes of the filter; one window in a million is taken for one of 9,000
HASHES: Final = 16
_PREFIX: Final = "#faded:"  # no word begins like this


class FadedMemories:
    """The filter. A piece is a window or a short word, see ``shown_memories``."""

    def __init__(self, bits: bytes = bytes(SIZE)) -> None:
        self._bits = bytearray(bits)

    def __contains__(self, piece: str) -> bool:
        return all(self._bits[bit >> 3] & (1 << (bit & 7)) for bit in _iter_bits(piece))

    def add(self, piece: str) -> None:
        for bit in _iter_bits(piece):
            self._bits[bit >> 3] |= 1 << (bit & 7)

    @classmethod
    def unite(cls, filters: "Iterable[FadedMemories]") -> "FadedMemories":
        """Return one filter with the pieces of all: turns at the same time may each have made one."""
        number = 0
        for each in filters:
            number |= int.from_bytes(each._bits)
        return cls(number.to_bytes(SIZE))

    def dump(self) -> str:
        return _PREFIX + base64.b64encode(zlib.compress(bytes(self._bits))).decode()

    @classmethod
    def parse(cls, text: str) -> "FadedMemories | None":
        """Return the filter that was dumped, or None for any other text."""
        if not text.startswith(_PREFIX):
            return None
        try:
            packed = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
            bits = zlib.decompressobj().decompress(packed, SIZE + 1)
        except (ValueError, zlib.error):
            return None
        return cls(bits) if len(bits) == SIZE else None


def split_newest(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the words that are too old to be kept, and the others. Of words that come twice, the last place counts."""
    newest_first = list(dict.fromkeys(reversed(list(words))))
    length, count = 0, 0
    for word in newest_first:
        length += len(word)
        if length > MAX_WORDS:
            break
        count += 1
    return newest_first[count:][::-1], newest_first[:count][::-1]


def _iter_bits(piece: str) -> Iterator[int]:
    digest = hashlib.blake2b(piece.encode(errors="replace"), digest_size=16).digest()
    first, step = int.from_bytes(digest[:8]), int.from_bytes(digest[8:]) | 1
    return ((first + number * step) % (SIZE * 8) for number in range(HASHES))
