"""Literal matches of a question in texts: a name, a number, or a part of a word.

A text that contains the question literally has all words of the question but the first and the last, so only texts with
these inner words are read. A question of one or two words has no inner words: then the texts with its rarest word are
read or, if no text has any of its words, all texts, since the question may be a part of a word. If more than two thousand
texts would have to be read, none is: a match in so many does not distinguish them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.core.folding import fold
from memory.core.recall.speakers import list_asked_marks
from memory.core.recall.tokens import parse_query


MAX_TEXTS_READ = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question: the whole text as a search compares it, its sorted terms, and the terms that every literal match has.

    ``content_weights`` says how much content each term has; terms without any are left out. ``rank_weights`` are the
    same for a rank that also knows the similarity in meaning.
    """

    folded_text: str
    terms: tuple[str, ...]
    inner_terms: frozenset[str]
    content_weights: Mapping[str, float]
    rank_weights: Mapping[str, float]
    marks: tuple[
        str, ...
    ] = ()  # of the speakers it may name, as ``memory.core.recall.speakers`` says

    @property
    def has_light_words_only(self) -> bool:
        """Return whether no word has its whole content in the rank."""
        return all(
            self.rank_weights[term] < weight for term, weight in self.content_weights.items()
        )

    def is_in(self, text: str) -> bool:
        return bool(self.folded_text) and self.folded_text in fold(text)

    def choose_required_terms(self, document_frequencies: Mapping[str, int]) -> frozenset[str]:
        """Return the terms that a text must have to be read; an empty set means that all texts are read."""
        if self.inner_terms:
            return self.inner_terms
        frequencies = [(count, term) for term, count in document_frequencies.items() if count]
        return frozenset([min(frequencies)[1]]) if frequencies else frozenset()


def parse_question(text: str, language: str) -> Question:
    query = parse_query(text, language)
    return Question(
        fold(text.strip()),
        tuple(sorted(set(query.terms))),
        query.inner_terms,
        query.content_weights,
        query.rank_weights,
        list_asked_marks(query.terms),
    )


def limit_candidates(candidates: Iterable[int]) -> list[int]:
    """Return the candidates, or an empty list if there are too many of them to read."""
    positions = list(candidates)
    return positions if len(positions) <= MAX_TEXTS_READ else []
