"""The byte format of postings: 256 entries a block, two bytes for an entry that has the term, eight in the register.

The register is the rows of a term that no text has. It holds, for each number, the length of its entry and the number
of its predecessor in its group, both plus one, so that 0 means none. Other terms with a dot are marks of speakers
(``memory.core.recall.speakers``).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from struct import Struct

from memory.core.recall.scoring import MAX_TERM_COUNT
from memory.core.recall.speakers import find_marks
from memory.core.recall.tokens import extract_terms


BLOCK_SIZE = 256
REGISTER = "."  # the tokenizer never returns a dot
_REGISTER_RECORD = Struct("<II")

PostingKey = tuple[str, int]  # a term and a block
PostingRow = tuple[str, int, bytes]
PostingReader = Callable[[Sequence[PostingKey]], Mapping[PostingKey, bytes]]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The rows to write. A ``replaced`` row without bytes is removed; ``appended`` bytes follow those of the stored row."""

    replaced: list[PostingRow] = field(default_factory=list)
    appended: list[PostingRow] = field(default_factory=list)


@dataclass(slots=True)
class PostingChanges:
    """Collects the changes of postings by number, and packs them into rows.

    A posting that is taken out and added again with the same count is not a change.
    """

    _old_counts: dict[tuple[str, int], int] = field(default_factory=dict)
    _new_counts: dict[tuple[str, int], int] = field(default_factory=dict)
    # The length is None if the entry cannot be recalled.
    _lengths: dict[int, int | None] = field(default_factory=dict)
    _old_lengths: dict[int, int] = field(default_factory=dict)  # as the register has them
    _predecessors: dict[int, int | None] = field(default_factory=dict)  # of new numbers

    def add_number(self, number: int, predecessor: int | None) -> None:
        """Add a new number to the register, with the number before it in its group, if any."""
        self._predecessors[number] = predecessor
        self._lengths[number] = None

    def take_out(self, number: int, text: str) -> None:
        """Remove the postings of the number's present text."""
        text_terms = extract_terms(text)
        self._old_lengths.setdefault(number, len(text_terms))
        self._lengths[number] = None
        for term, count in _count_terms(text, text_terms).items():
            self._old_counts[term, number] = count

    def add(self, number: int, text: str) -> None:
        """Add the postings of the number's new text."""
        text_terms = extract_terms(text)
        self._lengths[number] = len(text_terms)
        for term, count in _count_terms(text, text_terms).items():
            self._new_counts[term, number] = count

    def list_rows(self, read: PostingReader) -> list[PostingRow]:
        """Read the rows that change and return their new contents. A row without bytes is to be removed."""
        return self._merge_rows(self._group_changed_counts(), self._list_register_blocks(), read)

    def pack_rows(self, read: PostingReader) -> PackedRows:
        """Return the rows to write, without reading the rows that only get new numbers.

        New numbers are the highest, so their postings are appended.
        """
        changed_counts: dict[PostingKey, Mapping[int, int]] = {}
        changed_blocks: list[int] = []
        appended: list[PostingRow] = []
        for key, counts in self._group_changed_counts().items():
            if self._is_append(key, counts):
                appended.append((*key, _encode_counts(counts)))
            else:
                changed_counts[key] = counts
        for block in self._list_register_blocks():
            if self._find_register_changes_in(block) <= self._predecessors.keys():
                appended.append((REGISTER, block, self._build_register(block)))
            else:
                changed_blocks.append(block)
        return PackedRows(self._merge_rows(changed_counts, changed_blocks, read), appended)

    def _merge_rows(
        self,
        counts_by_key: Mapping[PostingKey, Mapping[int, int]],
        blocks: Sequence[int],
        read: PostingReader,
    ) -> list[PostingRow]:
        """Return the new contents of the rows with these term counts, and of these blocks of the register."""
        keys = [*counts_by_key, *((REGISTER, block) for block in blocks)]
        stored = read(keys) if keys else {}
        rows: list[PostingRow] = [
            (*key, merge_counts(stored.get(key, b""), counts))
            for key, counts in counts_by_key.items()
        ]
        for block in blocks:
            register = stored.get((REGISTER, block), b"")
            rows.append((REGISTER, block, self._merge_register(block, register)))
        return rows

    def _is_append(self, key: PostingKey, counts: Mapping[int, int]) -> bool:
        numbers = {key[1] * BLOCK_SIZE + offset for offset in counts}
        return 0 not in counts.values() and numbers <= self._predecessors.keys()

    def _list_register_blocks(self) -> list[int]:
        return sorted({number // BLOCK_SIZE for number in self._find_register_changes()})

    def _find_register_changes(self) -> Iterable[int]:
        """Yield the numbers whose register record changes."""
        for number, length in self._lengths.items():
            if number in self._predecessors or length != self._old_lengths.get(number):
                yield number

    def _find_register_changes_in(self, block: int) -> set[int]:
        return {number for number in self._find_register_changes() if number // BLOCK_SIZE == block}

    def _group_changed_counts(self) -> Mapping[PostingKey, dict[int, int]]:
        counts_by_key: dict[PostingKey, dict[int, int]] = defaultdict(dict)
        for (term, number), count in self._new_counts.items():
            if self._old_counts.get((term, number)) != count:
                counts_by_key[term, number // BLOCK_SIZE][number % BLOCK_SIZE] = count
        for term, number in self._old_counts.keys() - self._new_counts.keys():
            counts_by_key[term, number // BLOCK_SIZE][number % BLOCK_SIZE] = 0
        return counts_by_key

    def _merge_register(self, block: int, register: bytes) -> bytes:
        numbers = self._find_register_changes_in(block)
        size = _REGISTER_RECORD.size * (max(numbers) % BLOCK_SIZE + 1)
        buffer = bytearray(register.ljust(size, b"\0"))
        for number in numbers:
            offset = _REGISTER_RECORD.size * (number % BLOCK_SIZE)
            length = _encode_optional(self._lengths[number])
            predecessor = _REGISTER_RECORD.unpack_from(buffer, offset)[1]
            if number in self._predecessors:
                predecessor = _encode_optional(self._predecessors[number])
            _REGISTER_RECORD.pack_into(buffer, offset, length, predecessor)
        return bytes(buffer)

    def _build_register(self, block: int) -> bytes:
        """Build the end of a register from new numbers, which follow each other."""
        return b"".join(
            _REGISTER_RECORD.pack(
                _encode_optional(self._lengths[number]),
                _encode_optional(self._predecessors[number]),
            )
            for number in sorted(self._find_register_changes_in(block))
        )


def merge_counts(postings: bytes, counts: Mapping[int, int]) -> bytes:
    """Return a term's block with the new counts at these offsets; a count of 0 removes the offset."""
    if 0 not in counts.values() and (not postings or postings[-2] < min(counts)):  # at the end
        return postings + _encode_counts(counts)
    merged = {**dict(zip(postings[0::2], postings[1::2], strict=True)), **counts}
    return _encode_counts({offset: count for offset, count in merged.items() if count})


def compute_next_number(block: int, size: int) -> int:
    """Return the number after the last of a register whose last row is this block, of this many bytes."""
    return block * BLOCK_SIZE + size // _REGISTER_RECORD.size


def _encode_optional(value: int | None) -> int:
    return 0 if value is None else value + 1


def _encode_counts(counts: Mapping[int, int]) -> bytes:
    pairs: Iterable[tuple[int, int]] = sorted(counts.items())
    return bytes(chain.from_iterable(pairs))


def _count_terms(text: str, text_terms: Iterable[str]) -> dict[str, int]:
    """Return the counts of the text's terms, and the marks of its speaker."""
    counts = {term: min(count, MAX_TERM_COUNT) for term, count in Counter(text_terms).items()}
    return {**counts, **find_marks(text)}
