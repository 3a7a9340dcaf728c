"""The floor of a search for a prompt: entries that meet too little of the question are left out.

How much is too little depends on the question. What people ask about themselves is answered in other words than it was
told in, so that a little nearness in meaning says much; what is the same whoever asks is near to entries that don't answer it. So
the floor falls with the probability that the question concerns the person, between two scores that belong to the
embedder. An entry with enough words of the question is above every floor. A search with a ``min_score`` has no floor, nor
has one whose question wasn't embedded.

A search with a ``concern`` says which entries it considered and left out, and why, so that people can ask.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.core.records import MemoryEntry, MemoryQuery


# The floor falls steeply from an improbable concern, and is nothing at this probability; the lower one ends the fall before.
# `python -m bench.relevance` prints what comes of it.
CERTAIN_CONCERN: Final = 0.8
STEEPNESS: Final = 3
SUFFICIENT_WORDS: Final = 0.5  # the share of the question that an entry's words meet


class LeftOutReason(StrEnum):
    IRRELEVANT = "irrelevant"  # below the floor
    FORMER = "former"  # no longer holds


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that a search considered and left out. Nothing that it says is in here."""

    id: str
    score: float | None
    reason: LeftOutReason


class FoundEntries(list[MemoryEntry]):
    """The entries that a search found, and those that it left out."""

    left_out: tuple[LeftOut, ...] = ()


def build_found(entries: Iterable[MemoryEntry], left_out: Sequence[LeftOut]) -> FoundEntries:
    """Return the entries with those that were left out and aren't among them."""
    result = FoundEntries(entries)
    ids = {entry.id for entry in result}
    result.left_out = tuple(each for each in left_out if each.id not in ids)
    return result


def find_floor(query: MemoryQuery) -> float | None:
    """Return the least score of an entry that may enter a prompt, or None if all may."""
    meaning = query.meaning
    if query.concern is None or query.min_score is not None or not query.is_search:
        return None
    if meaning is None or not meaning.vector or meaning.floors is None:
        return None
    of_person, of_world = meaning.floors
    doubt = max(0.0, 1 - query.concern / CERTAIN_CONCERN)
    return max(of_person, of_world * doubt**STEEPNESS)


def select_relevant(
    query: MemoryQuery, entries: Iterable[MemoryEntry], former: Iterable[MemoryEntry] = ()
) -> FoundEntries:
    """Return the entries above the floor of the query, in their order. ``former`` are matches that no longer hold."""
    floor = find_floor(query)
    groups: tuple[list[MemoryEntry], list[MemoryEntry]] = ([], [])  # below the floor, and above
    for entry in entries:
        groups[floor is None or _is_relevant(entry, floor)].append(entry)
    below, above = groups
    relevant_former = (entry for entry in former if floor is None or _is_relevant(entry, floor))
    left_out = [
        *(LeftOut(entry.id, entry.score, LeftOutReason.FORMER) for entry in relevant_former),
        *(LeftOut(entry.id, entry.score, LeftOutReason.IRRELEVANT) for entry in below),
    ]
    return build_found(above, left_out)


def _is_relevant(entry: MemoryEntry, floor: float) -> bool:
    words, context, literal = (
        entry.explain.get(part, 0.0) for part in ("words", "context", "literal")
    )
    # The words of its neighbours alone say nothing about an entry.
    by_words = words + literal + context if words + literal > 0 else 0.0
    return by_words >= SUFFICIENT_WORDS or (entry.score or 0.0) >= floor
