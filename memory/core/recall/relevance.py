"""The score of an entry: the share of a question that it meets, from 0 to 1, whatever else the memory holds.

A question is met by words or by meaning, whichever says more. Each of its words has a weight, a rare word more than a
common one and a word that no entry has the most, so that a question about something unknown has low scores only. Words
without content, such as "which" or "的", have none. An entry that has all words, or contains the question literally,
has 1.0. Words that only the two entries before it in its group have count half.

The score says how much of the question an entry meets, the rank (``memory.core.recall.ranking``) which entry comes
first: the rank also knows lengths, repeated words, neighbours and recency, and compares the entries of one answer.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from memory.core.recall import scoring
from memory.core.recall.scoring import ScoreParts


CONTEXT_SHARE: Final = 0.5
# Rarity is computed as if there were this many more texts, so that a word is not common because one of two has it.
BACKGROUND_TEXTS: Final = 100


@dataclass(frozen=True, slots=True)
class TermWeights:
    """The weights of a question's terms, in the order in which they are added up."""

    weights: Sequence[tuple[str, float]]
    total: float

    def compute_coverage(self, terms: Set[str]) -> float:
        """Return the share of the question that these terms meet."""
        met = 0.0
        for term, weight in self.weights:
            met += weight * (term in terms)
        return met / self.total if self.total else 0.0


def weigh_terms(
    content_weights: Mapping[str, float],
    frequencies: Mapping[str, int],
    total: int,
    *,
    share_of: TermWeights | None = None,
) -> TermWeights:
    """Weigh the terms of a question by their content and by their frequencies among ``total`` texts.

    ``share_of`` are the whole weights if the content of all terms was lowered: what is missing is met by no text.
    """
    weights = [
        (term, content * scoring.compute_rarity(frequencies.get(term, 0), total + BACKGROUND_TEXTS))
        for term, content in sorted(content_weights.items())
    ]
    whole = 0.0
    for (
        _term,
        weight,
    ) in weights:  # not sum(), which rounds better than the arrays of another provider
        whole += weight
    return TermWeights(weights, whole if share_of is None else share_of.total)


@dataclass(frozen=True, slots=True)
class Relevance:
    """How an entry meets a question. ``context`` is the coverage of the entry together with the entries before it."""

    words: float
    context: float
    is_literal: bool
    nearness: float | None = None  # None if nothing was searched by meaning

    @property
    def score(self) -> float:
        by_words = 1.0 if self.is_literal else self._coverage
        return max(by_words, self.nearness or 0.0)

    def explain(self) -> ScoreParts:
        """Return what each part adds; together they add up to the score."""
        coverage = self._coverage
        by_words = 1.0 if self.is_literal else coverage
        parts = {
            "words": self.words,
            "context": coverage - self.words,
            "literal": by_words - coverage,
        }
        if self.nearness is not None:
            parts["vector"] = max(0.0, self.nearness - by_words)
        return parts

    @property
    def _coverage(self) -> float:
        return self.words + CONTEXT_SHARE * (self.context - self.words)
