"""Literal matches of a question in texts: a name, a number, a part of a word.

A text that contains the question literally has its inner words, so only those that have them are read. A question of
one or two words has none; then its rarest word decides, and when no word of it is known, it may be a piece of one,
and every text is read. More than two thousand are not worth it: what so many have in common tells nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.core.recall.tokens import inner_terms, query_terms


MOST_READ = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """``terms`` are sorted, each once: sums are taken in that order."""

    needle: str
    terms: tuple[str, ...]
    inner: frozenset[str]

    def is_in(self, text: str) -> bool:
        return bool(self.needle) and self.needle in text.casefold()

    def telling(self, found_in: Mapping[str, int]) -> frozenset[str]:
        """The words a text must have to be read; none: all are read. ``found_in`` counts the texts of each."""
        if self.inner:
            return self.inner
        known = [(count, term) for term, count in found_in.items() if count]
        return frozenset([min(known)[1]]) if known else frozenset()


def question(text: str, language: str) -> Question:
    terms = query_terms(text, language)
    inner = inner_terms(text.strip(), language).intersection(terms)
    return Question(text.strip().casefold(), tuple(sorted(set(terms))), frozenset(inner))


def worth_reading(candidates: Iterable[int]) -> list[int]:
    found = list(candidates)
    return found if len(found) <= MOST_READ else []
