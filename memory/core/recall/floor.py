"""The floor of a search for a prompt: entries that meet too little of the question are left out.

How much is too little depends on the question. What people ask about themselves is answered in other words than it was
told in, so that a little nearness in meaning says much; what is the same whoever asks is near to entries that don't answer it. So
the floor falls with the probability that the question concerns the person, between two scores that belong to the
embedder. An entry with enough words of the question is above every floor. A search with a ``min_score`` has no floor, nor
has one whose question wasn't embedded.

A question of the person that isn't answered by anything known is still near to whatever else is personal. So a search may
have a higher floor for entries about another topic than the one that is asked for (``TopicFloors``). It is compared with
their nearness in meaning alone: of the words that a question and any fact share, most are like "my" and "is".

A search with a ``concern`` says which entries it considered and left out, and why, so that people can ask.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.core.recall.tokens import parse_query
from memory.core.records import MemoryEntry, MemoryQuery, TopicFloors
from memory.core.values import build_search_text


# The floor falls steeply from an improbable concern, and is nothing at this probability; the lower one ends the fall before.
# `python -m bench.relevance` prints what comes of it.
CERTAIN_CONCERN: Final = 0.8
STEEPNESS: Final = 3
SUFFICIENT_WORDS: Final = 0.5  # the share of the question that an entry's words meet
# The keys of the metadata that say what a fact is about, and whether it is about somebody else than the person.
ATTRIBUTE: Final = "attribute"
ABOUT: Final = "about"
OTHERS: Final = "other"


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
        groups[_may_enter(entry, query, floor)].append(entry)
    below, above = groups
    relevant_former = (entry for entry in former if _may_enter(entry, query, floor))
    left_out = [
        *(LeftOut(entry.id, entry.score, LeftOutReason.FORMER) for entry in relevant_former),
        *(LeftOut(entry.id, entry.score, LeftOutReason.IRRELEVANT) for entry in below),
    ]
    return build_found(above, left_out)


def _may_enter(entry: MemoryEntry, query: MemoryQuery, floor: float | None) -> bool:
    return floor is None or _is_relevant(entry, floor, query.topic_floors)


def _is_relevant(entry: MemoryEntry, floor: float, topic_floors: TopicFloors | None) -> bool:
    words, context, literal, nearness = (
        entry.explain.get(part, 0.0) for part in ("words", "context", "literal", "vector")
    )
    # The words of its neighbours alone say nothing about an entry.
    by_words = words + literal + context if words + literal > 0 else 0.0
    if topic_floors is None:
        return by_words >= SUFFICIENT_WORDS or (entry.score or 0.0) >= floor
    if by_words >= SUFFICIENT_WORDS and _has_word(entry, topic_floors.words):
        return True
    return nearness >= _find_topic_floor(entry, topic_floors) and (entry.score or 0.0) >= floor


def _has_word(entry: MemoryEntry, words: frozenset[str]) -> bool:
    terms = parse_query(build_search_text("", entry.value)).content_weights
    return not words.isdisjoint(terms)


def _find_topic_floor(entry: MemoryEntry, floors: TopicFloors) -> float:
    attribute = entry.metadata.get(ATTRIBUTE)
    if not isinstance(attribute, str) or entry.metadata.get(ABOUT) == OTHERS:
        return floors.others
    return floors.by_attribute.get(attribute, floors.others)
