"""Postings as bytes: 256 entries a block, two bytes an entry that has the term, eight in the register.

The register (the rows of a term that no text has) says of each number how long its entry is and which
number comes before it in its group, both plus one, so that 0 is nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from struct import Struct

from memory.core.recall.scoring import MAX_TERM_COUNT
from memory.core.recall.tokens import extract_terms


BLOCK = 256
REGISTER = "."  # no text is cut into a dot

Key = tuple[str, int]  # a term and a block
Row = tuple[str, int, bytes]
Read = Callable[[Sequence[Key]], Mapping[Key, bytes]]


@dataclass(frozen=True, slots=True)
class Packed:
    """What becomes of rows. A whole one without bytes is to be dropped; ``tails`` go to the end of what is there."""

    whole: list[Row] = field(default_factory=list)
    tails: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Changes:
    """What becomes of postings, gathered number by number, then packed row by row.

    What is taken out and added again with the same count is no change.
    """

    _was: dict[tuple[str, int], int] = field(default_factory=dict)
    _now: dict[tuple[str, int], int] = field(default_factory=dict)
    _lengths: dict[int, int | None] = field(default_factory=dict)  # none: can't be recalled
    _were: dict[int, int] = field(default_factory=dict)  # what the register says of them
    _seated: dict[int, int | None] = field(
        default_factory=dict
    )  # new numbers, and who comes before

    def seat(self, number: int, before: int | None) -> None:
        self._seated[number] = before
        self._lengths[number] = None

    def take_out(self, number: int, text: str) -> None:
        found = extract_terms(text)
        self._were.setdefault(number, len(found))
        self._lengths[number] = None
        for term, count in _counted(found).items():
            self._was[term, number] = count

    def add(self, number: int, text: str) -> None:
        found = extract_terms(text)
        self._lengths[number] = len(found)
        for term, count in _counted(found).items():
            self._now[term, number] = count

    def rows(self, read: Read) -> list[Row]:
        """Reads the rows that change, and packs them anew. A row without bytes is to be dropped."""
        return self._whole(self._changed(), self._blocks(), read)

    def packed(self, read: Read) -> Packed:
        """The same without reading where only fresh numbers come in: they are the highest, and stand at the end."""
        changed, blocks = self._changed(), self._blocks()
        ends = {key: counts for key, counts in changed.items() if self._is_end(key, counts)}
        of_fresh = [block for block in blocks if self._told_in(block) <= self._seated.keys()]
        whole = self._whole(
            {key: counts for key, counts in changed.items() if key not in ends},
            [block for block in blocks if block not in of_fresh],
            read,
        )
        tails = [(*key, _pairs(counts)) for key, counts in ends.items()]
        tails += [(REGISTER, block, self._register_of(block)) for block in of_fresh]
        return Packed(whole, tails)

    def _whole(
        self, changed: Mapping[Key, Mapping[int, int]], blocks: Sequence[int], read: Read
    ) -> list[Row]:
        keys = [*changed, *((REGISTER, block) for block in blocks)]
        known = read(keys) if keys else {}
        rows: list[Row] = [
            (*key, patched(known.get(key, b""), counts)) for key, counts in changed.items()
        ]
        for block in blocks:
            packed = known.get((REGISTER, block), b"")
            rows.append((REGISTER, block, self._registered(block, packed)))
        return rows

    def _is_end(self, key: Key, counts: Mapping[int, int]) -> bool:
        numbers = {key[1] * BLOCK + offset for offset in counts}
        return 0 not in counts.values() and numbers <= self._seated.keys()

    def _blocks(self) -> list[int]:
        return sorted({number // BLOCK for number in self._told()})

    def _told(self) -> Iterable[int]:
        """Of whom the register has something else to say than before."""
        for number, length in self._lengths.items():
            if number in self._seated or length != self._were.get(number):
                yield number

    def _told_in(self, block: int) -> set[int]:
        return {number for number in self._told() if number // BLOCK == block}

    def _changed(self) -> Mapping[Key, dict[int, int]]:
        found: dict[Key, dict[int, int]] = defaultdict(dict)
        for (term, number), count in self._now.items():
            if self._was.get((term, number)) != count:
                found[term, number // BLOCK][number % BLOCK] = count
        for term, number in self._was.keys() - self._now.keys():
            found[term, number // BLOCK][number % BLOCK] = 0
        return found

    def _registered(self, block: int, packed: bytes) -> bytes:
        here = self._told_in(block)
        grown = bytearray(packed.ljust(_SEAT.size * (max(here) % BLOCK + 1), b"\0"))
        for number in here:
            at = _SEAT.size * (number % BLOCK)
            length, before = self._lengths[number], _SEAT.unpack_from(grown, at)[1]
            if number in self._seated:
                before = _plus_one(self._seated[number])
            _SEAT.pack_into(grown, at, _plus_one(length), before)
        return bytes(grown)

    def _register_of(self, block: int) -> bytes:
        """Of fresh numbers, which follow each other."""
        return b"".join(
            _SEAT.pack(_plus_one(self._lengths[number]), _plus_one(self._seated[number]))
            for number in sorted(self._told_in(block))
        )


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
    return {term: min(count, MAX_TERM_COUNT) for term, count in Counter(found).items()}
