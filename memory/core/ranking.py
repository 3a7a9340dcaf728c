"""Scores: which of these texts answer that question, and why.

The measured recipe: stemmed BM25 over the entry, plus half of the same over the entry together
with the one before it, each brought to 0..1 first. Sums of normalised scores beat rank fusion.
A text that contains the question literally never ranks under half.

Statistics come from the texts that are handed in: those that are visible and pass the filter.
Another part (vectors, neighbours) is one more row in ``Parts`` and one more weight.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
    asked = query_terms(query, language)
    documents = [terms(text, language) for text in texts]
    alone = _normalised(bm25(asked, documents))
    together = _normalised(bm25(asked, _with_predecessors(documents)))
    needle = query.strip().casefold()
    hits = []
    for position, text in enumerate(texts):
        literal = bool(needle) and needle in text.casefold()
        if alone[position] > 0 or literal:
            hits.append(_hit(position, alone[position], together[position], literal))
    return hits


def bm25(asked: Iterable[str], documents: Sequence[Sequence[str]]) -> list[float]:
    if not documents:
        return []
    wanted = set(asked)
    counts = [Counter(term for term in document if term in wanted) for document in documents]
    frequency = Counter(term for count in counts for term in count)
    mean = sum(map(len, documents)) / len(documents) or 1.0
    # In one order, so that the same words always give the very same float.
    weights = [(term, _rarity(frequency[term], len(documents))) for term in sorted(frequency)]
    return [
        sum(weight * _saturated(count[term], len(document), mean) for term, weight in weights)
        for document, count in zip(documents, counts, strict=True)
    ]


def _rarity(found_in: int, total: int) -> float:
    return math.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def _saturated(count: int, length: int, mean: float) -> float:
    if not count:
        return 0.0
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))


def _with_predecessors(documents: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [*documents[:1], *((*before, *own) for before, own in pairwise(documents))]


def _normalised(scores: Sequence[float]) -> list[float]:
    """The floor is 0, what a text without any of the words gets, even where all have some."""
    highest = max(scores, default=0.0)
    return [score / highest if highest else 0.0 for score in scores]


def _hit(position: int, alone: float, together: float, literal: bool) -> Hit:
    words = (alone + CONTEXT_WEIGHT * together) / (1 + CONTEXT_WEIGHT)
    score = LITERAL_FLOOR + (1 - LITERAL_FLOOR) * words if literal else words
    parts = {"words": alone, "context": together, "literal": float(literal)}
    return Hit(position, min(1.0, score), parts)
