"""The formulas of a score, and its explanation. Whoever sums must sum in this order.

Floats are only equal when the same operations come in the same order, so the oracle and the sums
over postings both do exactly what stands here, on numbers or on arrays of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar


K1 = 0.9
B = 0.4
CONTEXT_WEIGHT = 1.0
VECTOR_WEIGHT = 1.0
LENDING = 0.2
LITERAL_FLOOR = 0.5
RECENCY_WEIGHT = 0.5

PREDECESSORS = 2  # whose words are an entry's context
MOST_COUNTED = 255  # how often a term counts in one entry

Parts = Mapping[str, float]
Number = TypeVar("Number")  # a float, or an array of floats


def rarity(found_in: int, total: int) -> float:
    return math.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def mean_length(lengths: int, total: int) -> float:
    return lengths / total if lengths else 1.0


def longer(length: float, mean: float) -> float:
    """How much a text's length weighs against it. Arrays of lengths are welcome."""
    return K1 * (1 - B + B * length / mean)


def saturated(count: float, weight: float) -> float:
    return count * (K1 + 1) / (count + weight)


def normal(score: float, highest: float) -> float:
    """The floor is 0, what a text without any of the words gets, even where all have some."""
    return score / highest if highest else score


def base(own: float, context: float, vector: float | None = None) -> float:
    if vector is None:
        return (own + CONTEXT_WEIGHT * context) / (1 + CONTEXT_WEIGHT)
    weighed = own + CONTEXT_WEIGHT * context + VECTOR_WEIGHT * vector
    return weighed / (1 + CONTEXT_WEIGHT + VECTOR_WEIGHT)


def lent(two_before: float, before: float, after: float, two_after: float) -> float:
    return LENDING * (two_before + before + after + two_after)


def scale(highest: float) -> float:
    """Lending may lift sums above 1; then all are brought down alike."""
    return max(1.0, highest)


def final(total: float, by: float, literal: bool, recency: float | None) -> float:
    score = total / by
    if literal:
        score = LITERAL_FLOOR + (1 - LITERAL_FLOOR) * score
    if recency is not None:
        score = (score + RECENCY_WEIGHT * recency) / (1 + RECENCY_WEIGHT)
    return min(1.0, score)


def recency_of(updated_at: datetime, now: datetime, half_life_days: float) -> float:
    """1 for what was written just now, half of it after the half-life."""
    days = max(0.0, (now - updated_at).total_seconds() / 86_400)
    return float(0.5 ** (days / half_life_days))


@dataclass(frozen=True, slots=True)
class Sums:
    """What one text got, before it is scaled. ``vector`` and ``recency`` are none where nobody asked."""

    own: float
    context: float
    lent: float
    literal: bool
    vector: float | None = None
    recency: float | None = None

    def explained(self, by: float) -> Parts:
        """What each part brought; together they are the score."""
        whole = 1 + CONTEXT_WEIGHT + (0.0 if self.vector is None else VECTOR_WEIGHT)
        kept = 1.0 if self.recency is None else 1 / (1 + RECENCY_WEIGHT)
        share = kept * (1 - LITERAL_FLOOR if self.literal else 1.0) / by
        parts = {
            "words": share * self.own / whole,
            "context": share * CONTEXT_WEIGHT * self.context / whole,
            "neighbours": share * self.lent,
            "literal": kept * LITERAL_FLOOR if self.literal else 0.0,
        }
        if self.vector is not None:
            parts["vector"] = share * VECTOR_WEIGHT * self.vector / whole
        if self.recency is not None:
            parts["recency"] = kept * RECENCY_WEIGHT * self.recency
        return parts
