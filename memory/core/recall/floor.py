"""The floor of a search for a prompt: entries that meet too little of the question are left out.

How much is too little depends on the question. What people ask about themselves is answered in other words than it was
told in, so that a little nearness in meaning says much; what is the same whoever asks is near to entries that don't answer it. So
the floor falls with the probability that the question concerns the person, between two scores that belong to the
embedder. An entry with enough words of the question is above every floor. A search with a ``min_score`` has no floor, nor
has one whose question wasn't embedded.
"""

from collections.abc import Iterable
from typing import Final

from memory.core.records import MemoryEntry, MemoryQuery


# From this probability on, the floor is the lower one; `python -m bench.relevance` prints what comes of it.
CERTAIN_CONCERN: Final = 0.6
SUFFICIENT_WORDS: Final = 0.4  # the share of the question that an entry's words meet
_PARTS_OF_WORDS: Final = ("words", "context", "literal")


def find_floor(query: MemoryQuery) -> float | None:
    """Return the least score of an entry that may enter a prompt, or None if all may."""
    meaning = query.meaning
    if query.concern is None or query.min_score is not None or not query.is_search:
        return None
    if meaning is None or not meaning.vector or meaning.floors is None:
        return None
    of_person, of_world = meaning.floors
    return max(of_person, of_world * (1 - query.concern / CERTAIN_CONCERN))


def select_relevant(query: MemoryQuery, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return the entries above the floor of the query, in their order."""
    floor = find_floor(query)
    return [entry for entry in entries if floor is None or _is_relevant(entry, floor)]


def _is_relevant(entry: MemoryEntry, floor: float) -> bool:
    by_words = sum(entry.explain.get(part, 0.0) for part in _PARTS_OF_WORDS)
    return by_words >= SUFFICIENT_WORDS or (entry.score or 0.0) >= floor
