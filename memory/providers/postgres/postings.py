"""Postings as bytes: 256 entries a block, two bytes an entry that has the term, eight in the register.

The register (the rows of a term that no text has) says of each number how long its entry is and which
number comes before it in its group, both plus one, so that 0 is nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from struct import Struct

from memory.core.scoring import MOST_COUNTED
from memory.core.tokens import terms


BLOCK = 256
REGISTER = "."  # no text is cut into a dot

Key = tuple[str, int]  # a term and a block
Row = tuple[str, int, bytes]
Read = Callable[[Sequence[Key]], Mapping[Key, bytes]]


@dataclass(slots=True)
class Changes:
    """What becomes of postings, gathered number by number, then packed row by row.

    What is taken out and added again with the same count is no change.
    """

    _was: dict[tuple[str, int], int] = field(default_factory=dict)
    _now: dict[tuple[str, int], int] = field(default_factory=dict)
    _lengths: dict[int, int | None] = field(default_factory=dict)  # none: can't be recalled
    _seated: dict[int, int | None] = field(
        default_factory=dict
    )  # new numbers, and who comes before

    def seat(self, number: int, before: int | None) -> None:
        self._seated[number] = before
        self._lengths[number] = None

    def take_out(self, number: int, text: str) -> None:
        self._lengths[number] = None
        for term, count in _counted(terms(text)).items():
            self._was[term, number] = count

    def add(self, number: int, text: str) -> None:
        found = terms(text)
        self._lengths[number] = len(found)
        for term, count in _counted(found).items():
            self._now[term, number] = count

    def rows(self, read: Read) -> list[Row]:
        """Reads the rows that change, and packs them anew. A row without bytes is to be dropped."""
        changed, blocks = self._changed(), self._blocks()
        known = read([*changed, *((REGISTER, block) for block in blocks)])
        rows: list[Row] = [
            (*key, patched(known.get(key, b""), counts)) for key, counts in changed.items()
        ]
        for block in blocks:
            packed = known.get((REGISTER, block), b"")
            rows.append((REGISTER, block, self._registered(block, packed)))
        return rows

    def _blocks(self) -> list[int]:
        return sorted({number // BLOCK for number in self._lengths})

    def _changed(self) -> Mapping[Key, dict[int, int]]:
        found: dict[Key, dict[int, int]] = defaultdict(dict)
        for (term, number), count in self._now.items():
            if self._was.get((term, number)) != count:
                found[term, number // BLOCK][number % BLOCK] = count
        for term, number in self._was.keys() - self._now.keys():
            found[term, number // BLOCK][number % BLOCK] = 0
        return found

    def _registered(self, block: int, packed: bytes) -> bytes:
        here = [number for number in self._lengths if number // BLOCK == block]
        grown = bytearray(packed.ljust(_SEAT.size * (max(here) % BLOCK + 1), b"\0"))
        for number in here:
            at = _SEAT.size * (number % BLOCK)
            length, before = self._lengths[number], _SEAT.unpack_from(grown, at)[1]
            if number in self._seated:
                before = _plus_one(self._seated[number])
            _SEAT.pack_into(grown, at, _plus_one(length), before)
        return bytes(grown)


def patched(packed: bytes, counts: Mapping[int, int]) -> bytes:
    """A term's block after these offsets got these counts; 0 takes out."""
    if 0 not in counts.values() and (not packed or packed[-2] < min(counts)):  # at the end
        return packed + _pairs(counts)
    known = {**dict(zip(packed[0::2], packed[1::2], strict=True)), **counts}
    return _pairs({offset: count for offset, count in known.items() if count})


def seats_in(size: int) -> int:
    """How many numbers a register of so many bytes has."""
    return size // _SEAT.size


_SEAT = Struct("<II")


def _plus_one(value: int | None) -> int:
    return 0 if value is None else value + 1


def _pairs(counts: Mapping[int, int]) -> bytes:
    ordered: Iterable[tuple[int, int]] = sorted(counts.items())
    return bytes(chain.from_iterable(ordered))


def _counted(found: Iterable[str]) -> dict[str, int]:
    return {term: min(count, MOST_COUNTED) for term, count in Counter(found).items()}
