"""The formulas of a rank and of its parts, on numbers or on arrays.

``memory.core.recall.ranking`` and the search over postings both use them, because two floats are equal only if the same
operations run in the same order.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar


K1, B = 0.9, 0.4  # the parameters of BM25
CONTEXT_WEIGHT = 1.0
SIMILARITY_WEIGHT = 1.0
# Where no text is in a group, no text has a context of its own: then meaning weighs as much as words and context. Texts that
# have more terms than this in the mean are about several things, of which their vectors say less.
SIMILARITY_WEIGHT_WITHOUT_CONTEXT = 2.0
ONE_VECTOR_TERMS = 60
# With a similarity, words count fully in a text that meets this share of the question by words, and less below. A fact of
# a few words that has one of them in common with the question mostly has it by chance.
SUFFICIENT_COVERAGE = 0.4
SUFFICIENT_COVERAGE_OF_LONG = 0.6  # without a context
SUFFICIENT_COVERAGE_OF_SHORT = 0.8
NEIGHBOUR_WEIGHT = 0.2
# In a longer text the words and the meaning are about more than its neighbours are: it lifts them less.
LIFTING_TERMS = 50
# By these shares the rank of a turn is lowered: of somebody else than the question names, of an assistant, which writes at
# length what the person hardly asked for, and, as far as it is a question, of a person who asks another.
OTHER_SPEAKER_SHARE = 0.5
MACHINE_SHARE = 0.5
QUESTION_SHARE = 0.4
# A turn of fewer terms says less: "Me too" has lost up to this share.
SHORT_TERMS = 15
SHORT_SHARE = 0.4
LITERAL_FLOOR = 0.5
RECENCY_WEIGHT = 0.5

PREDECESSORS = 2  # the entries whose words are the context
MAX_TERM_COUNT = 255  # occurrences of a term that count in one entry

ScoreParts = Mapping[str, float]
Number = TypeVar("Number")  # a float, or an array of floats


def compute_rarity(document_frequency: int, total: int) -> float:
    """Return the inverse document frequency of a term, given the number of texts with it and of all texts."""
    return math.log(1 + (total - document_frequency + 0.5) / (document_frequency + 0.5))


def compute_mean_length(total_length: int, total: int) -> float:
    return total_length / total if total_length else 1.0


def weigh_length(length: float, mean: float) -> float:
    """Return BM25's penalty for the length of a text, which ``saturate`` needs; arrays of lengths are accepted."""
    return K1 * (1 - B + B * length / mean)


def saturate(count: float, length_weight: float) -> float:
    """Return the weight of a term that occurs ``count`` times in a text; each further occurrence adds less."""
    return count * (K1 + 1) / (count + length_weight)


def normalize(score: float, highest: float) -> float:
    """Return the score divided by the highest score. Only a text without any of the words gets 0."""
    return score / highest if highest else score


def discount(score: float, coverage: float, sufficient: float = SUFFICIENT_COVERAGE) -> float:
    """Return the score of a text's words for a rank that also knows its similarity in meaning.

    The best of all texts has 1 by its words, even if it has only one common word of a long question. So a text that meets
    little of the question counts little.
    """
    is_low = coverage < sufficient
    share = is_low * (coverage / sufficient) + (1 - is_low)
    return score * (share * share)


def choose_sufficient_coverage(has_context: bool, mean_length: float) -> float:
    if has_context:
        return SUFFICIENT_COVERAGE
    more = SUFFICIENT_COVERAGE_OF_SHORT - SUFFICIENT_COVERAGE_OF_LONG
    return SUFFICIENT_COVERAGE_OF_LONG + more * _measure_shortness(mean_length)


def choose_similarity_weight(has_context: bool, mean_length: float) -> float:
    if has_context:
        return SIMILARITY_WEIGHT
    return SIMILARITY_WEIGHT_WITHOUT_CONTEXT * _measure_shortness(mean_length)


def _measure_shortness(mean_length: float) -> float:
    """Return 1 for texts of which one vector says all, and less the longer they are."""
    return min(1.0, ONE_VECTOR_TERMS / mean_length)


def combine_scores(
    words: float, context: float, similarity: float | None = None, weight: float = SIMILARITY_WEIGHT
) -> float:
    """Return the mean of the scores; ``weight`` is that of the similarity."""
    if similarity is None:
        return (words + CONTEXT_WEIGHT * context) / (1 + CONTEXT_WEIGHT)
    weighted_sum = words + CONTEXT_WEIGHT * context + weight * similarity
    return weighted_sum / (1 + CONTEXT_WEIGHT + weight)


def weigh_lifting(score: float, length: float) -> float:
    """Return the score with which a text of this length lifts its neighbours."""
    is_long = length > LIFTING_TERMS
    return score * (is_long * (LIFTING_TERMS / (length + (1 - is_long))) + (1 - is_long))


def compute_prior(
    by_person: float,
    by_machine: float,
    by_named: float,
    questions: float,
    length: float,
    is_anybody_named: float,
) -> float:
    """Return the share of its rank that a turn keeps for its speaker (``memory.core.recall.speakers``)."""
    is_other = is_anybody_named * by_person * (1 - by_named)
    share = (1 - OTHER_SPEAKER_SHARE * is_other) * (1 - MACHINE_SHARE * by_machine)
    is_short = by_person * (length < SHORT_TERMS)
    share = share * (1 - SHORT_SHARE * (is_short * (1 - length / SHORT_TERMS)))
    return share * (1 - QUESTION_SHARE * questions)


def weigh_neighbours(two_before: float, before: float, after: float, two_after: float) -> float:
    return NEIGHBOUR_WEIGHT * (two_before + before + after + two_after)


def choose_scale(highest: float) -> float:
    """Return the divisor of all scores. The neighbours' share can raise sums above 1; then all are scaled down alike."""
    return max(1.0, highest)


def compute_rank(total: float, scale: float, literal: bool, recency: float | None) -> float:
    rank = total / scale
    if literal:
        rank = LITERAL_FLOOR + (1 - LITERAL_FLOOR) * rank
    if recency is not None:
        rank = (rank + RECENCY_WEIGHT * recency) / (1 + RECENCY_WEIGHT)
    return min(1.0, rank)


def compute_recency(updated_at: datetime, now: datetime, half_life_days: float) -> float:
    """Return the recency of an update: 1 for this moment, and 0.5 after the half-life."""
    days = max(0.0, (now - updated_at).total_seconds() / 86_400)
    return float(0.5 ** (days / half_life_days))


@dataclass(frozen=True, slots=True)
class RankComponents:
    """The components of a text's rank before scaling. ``similarity`` and ``recency`` are None if the query has none."""

    words: float
    context: float
    neighbours: float
    literal: bool
    similarity: float | None = None
    recency: float | None = None
    similarity_weight: float = SIMILARITY_WEIGHT
    prior: float = 1.0  # of its speaker

    def explain(self, scale: float) -> ScoreParts:
        """Return the contribution of each part that has one; together they add up to the rank."""
        total_weight = (
            1 + CONTEXT_WEIGHT + (0.0 if self.similarity is None else self.similarity_weight)
        )
        remainder = 1.0 if self.recency is None else 1 / (1 + RECENCY_WEIGHT)
        share = self.prior * remainder * (1 - LITERAL_FLOOR if self.literal else 1.0) / scale
        parts = {
            "rank_words": share * self.words / total_weight,
            "rank_context": share * CONTEXT_WEIGHT * self.context / total_weight,
            "rank_neighbours": share * self.neighbours,
            "rank_literal": remainder * LITERAL_FLOOR if self.literal else 0.0,
        }
        if self.similarity is not None:
            parts["rank_vector"] = share * self.similarity_weight * self.similarity / total_weight
        if self.recency is not None:
            parts["rank_recency"] = remainder * RECENCY_WEIGHT * self.recency
        return {name: part for name, part in parts.items() if part}
