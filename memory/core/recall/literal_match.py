"""Literal matches of a question in texts: a name, a number, or a part of a word.

A text that contains the question literally has the question's inner words, so only texts with those words are read. A
question of one or two words has no inner words. Then its rarest word decides; if no word of it is in the index, it
may be a part of a word, and every text is read. More than two thousand texts are not read: a match in so many does
not distinguish them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.core.recall.tokens import extract_inner_terms, extract_query_terms


MAX_TEXTS_READ = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question. ``terms`` are sorted and unique, the order of the sums; a literal match always has the ``inner``."""

    needle: str
    terms: tuple[str, ...]
    inner: frozenset[str]

    def is_in(self, text: str) -> bool:
        return bool(self.needle) and self.needle in text.casefold()

    def choose_required_terms(self, document_frequencies: Mapping[str, int]) -> frozenset[str]:
        """Return the terms that a text must have to be read; an empty set means that all texts are read."""
        if self.inner:
            return self.inner
        frequencies = [(count, term) for term, count in document_frequencies.items() if count]
        return frozenset([min(frequencies)[1]]) if frequencies else frozenset()


def parse_question(text: str, language: str) -> Question:
    terms = extract_query_terms(text, language)
    inner = extract_inner_terms(text.strip(), language).intersection(terms)
    return Question(text.strip().casefold(), tuple(sorted(set(terms))), frozenset(inner))


def limit_candidates(candidates: Iterable[int]) -> list[int]:
    """Return the candidates, or an empty list if there are too many of them to read."""
    positions = list(candidates)
    return positions if len(positions) <= MAX_TEXTS_READ else []
