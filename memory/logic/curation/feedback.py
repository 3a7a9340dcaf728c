"""Keeps memory from feeding on itself: what was recalled into a prompt is not learnt from its answer.

Word by word, since a model that repeats a memory wraps it ("as you told me, …") and turns it round.
A sentence with anything new in it that matters, a number, a no, a name, is no repetition.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.core.records import MemoryEntry
from memory.core.tokens import query_terms
from memory.logic.near import is_telling, normalised
from memory.logic.texts import texts_in


@dataclass(frozen=True, slots=True)
class Recalled:
    """The terms of each text that was put before a model."""

    terms: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Recalled":
        return cls(tuple(filter(None, map(_terms, texts))))

    def says(self, sentence: str) -> bool:
        """Nothing in the sentence but one of these texts, and the phrases of telling it again."""
        own = _terms(sentence) - _TELLING_AGAIN
        return bool(own) and any(_covers(text, own) for text in self.terms)


def recalled_texts(entries: Iterable[MemoryEntry]) -> tuple[str, ...]:
    """The mark of what was recalled into a run's prompts: what its provenance lists, as texts."""
    return tuple(dict.fromkeys(text for entry in entries for text in texts_in(entry.value)))


def without_recalled(sentences: Sequence[str], recalled: Recalled) -> tuple[str, ...]:
    return tuple(one for one in sentences if not recalled.says(one))


_COVERED = 0.8


def _covers(text: frozenset[str], own: frozenset[str]) -> bool:
    new = own - text
    if any(map(is_telling, new)):
        return False
    return len(new) <= (1 - _COVERED) * len(own)


def _terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(normalised(text)))


# What introduces a memory when it is told again.
_TELLING_AGAIN = frozenset(
    term
    for phrase in (
        "as you told mentioned said before earlier previously remember recall noted according",
        "to my memory memories records notes know known already based on previous conversation context",
        "根据之前的记忆，你提到过、说过、告诉过我，如前所述，我记得，据我所知，记录显示",
    )
    for term in query_terms(phrase)
)
