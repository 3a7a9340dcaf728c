"""Scores: which of these texts answer that question, and why.

The measured recipe: stemmed BM25 over the entry, plus half of the same over the entry together
with the one before it, each brought to 0..1 first. Sums of normalised scores beat rank fusion.
A text that contains the question literally never ranks under half.

Statistics come from the texts that are handed in: those that are visible and pass the filter.
Another part (vectors, neighbours) is one more row in ``Parts`` and one more weight.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from memory.core.tokens import DEFAULT_LANGUAGE, query_terms, terms


K1 = 0.9
B = 0.4
CONTEXT_WEIGHT = 0.5
LITERAL_FLOOR = 0.5

Parts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """``position`` in the texts handed in; ``parts`` explain the score."""

    position: int
    score: float
    parts: Parts


def rank(query: str, texts: Sequence[str], *, language: str = DEFAULT_LANGUAGE) -> list[Hit]:
    """Hits in the order of the texts, oldest first as they must come; sorting is the caller's.

    A text is a hit by its own words or by containing the question; its predecessor's words only
    move it up.
    """
    asked = set(query_terms(query, language))
    counted = [_counted(asked, terms(text, language)) for text in texts]
    alone = _normalised(_scores(counted))
    together = _normalised(_scores(_with_predecessors(counted)))
    needle = query.strip().casefold()
    hits = []
    for position, text in enumerate(texts):
        literal = bool(needle) and needle in text.casefold()
        if alone[position] > 0 or literal:
            hits.append(_hit(position, alone[position], together[position], literal))
    return hits


def bm25(asked: Iterable[str], documents: Sequence[Sequence[str]]) -> list[float]:
    wanted = set(asked)
    return _scores([_counted(wanted, document) for document in documents])


@dataclass(frozen=True, slots=True)
class _Counted:
    """How often a document has the words that were asked for, and how long it is."""

    counts: Mapping[str, int]
    length: int


def _counted(wanted: Set[str], document: Sequence[str]) -> _Counted:
    if wanted.isdisjoint(document):  # most are; this runs in C
        return _Counted(_NONE, len(document))
    return _Counted(Counter(term for term in document if term in wanted), len(document))


_NONE: Mapping[str, int] = {}


def _scores(documents: Sequence[_Counted]) -> list[float]:
    if not documents:
        return []
    frequency = Counter(term for document in documents for term in document.counts)
    mean = sum(document.length for document in documents) / len(documents) or 1.0
    rarity = {term: _rarity(found_in, len(documents)) for term, found_in in frequency.items()}
    return [
        # In one order, so that the same words always give the very same float.
        sum(
            rarity[term] * _saturated(document.counts[term], document.length, mean)
            for term in sorted(document.counts)
        )
        if document.counts
        else 0.0
        for document in documents
    ]


def _rarity(found_in: int, total: int) -> float:
    return math.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def _saturated(count: int, length: int, mean: float) -> float:
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))


def _with_predecessors(documents: Sequence[_Counted]) -> list[_Counted]:
    return [*documents[:1], *(_joined(before, own) for before, own in pairwise(documents))]


def _joined(before: _Counted, own: _Counted) -> _Counted:
    if not before.counts or not own.counts:
        counts = before.counts or own.counts
    else:
        counts = {**own.counts}
        for term, count in before.counts.items():
            counts[term] = counts.get(term, 0) + count
    return _Counted(counts, before.length + own.length)


def _normalised(scores: Sequence[float]) -> list[float]:
    """The floor is 0, what a text without any of the words gets, even where all have some."""
    highest = max(scores, default=0.0)
    return [score / highest if highest else 0.0 for score in scores]


def _hit(position: int, alone: float, together: float, literal: bool) -> Hit:
    words = (alone + CONTEXT_WEIGHT * together) / (1 + CONTEXT_WEIGHT)
    score = LITERAL_FLOOR + (1 - LITERAL_FLOOR) * words if literal else words
    parts = {"words": alone, "context": together, "literal": float(literal)}
    return Hit(position, min(1.0, score), parts)
