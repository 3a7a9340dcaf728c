"""Keeps memory from feeding on itself: what was recalled into a prompt, or stored by the run itself, is not learnt from its answer.

Word by word, since a model that repeats a memory wraps it ("as you told me, …") and turns it round,
and over all of a run's texts together, since an answer quotes two of them in one sentence.
A sentence with anything new in it that matters, a number, a no, a name, is no repetition; nor is one
that puts known words beside each other which stood beside each other nowhere.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.core.recall.tokens import query_terms
from memory.core.records import MemoryEntry
from memory.logic.conversations.summary import sentences
from memory.logic.curation.sentence_rating import is_question, judge
from memory.logic.entries.duplicates import Likeness, compare_values, is_significant, normalize
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.entries.texts import list_texts


Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The terms of each text that was put before a model, all of them, and which stand side by side."""

    terms: tuple[frozenset[str], ...]
    all: frozenset[str] = frozenset()
    pairs: frozenset[Pair] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Recalled":
        plain = [unwrapped(one) for one in dict.fromkeys(texts)]
        terms = tuple(filter(None, map(_terms, plain)))
        return cls(terms, frozenset().union(*terms), frozenset().union(*map(_pairs, plain)))

    def says(self, sentence: str) -> bool:
        """Nothing in the sentence but these texts, and the phrases of telling them again."""
        quoted = [part for part in _QUOTES.split(unwrapped(sentence)) if _own(part)]
        return bool(quoted) and all(map(self._covers, quoted))

    def _covers(self, part: str) -> bool:
        own = _own(part)
        return any(_is_within(text, own) for text in self.terms) or self._covers_together(part, own)

    def _covers_together(self, part: str, own: frozenset[str]) -> bool:
        beside = _pairs(part)
        strange = sum(pair not in self.pairs for pair in beside)
        return _is_within(self.all, own) and strange <= (1 - _BESIDE) * len(beside)


def recalled_texts(entries: Iterable[MemoryEntry]) -> tuple[str, ...]:
    """The mark of what was recalled into a run's prompts: what its provenance lists, as texts."""
    return tuple(dict.fromkeys(text for entry in entries for text in list_texts(entry.value)))


def without_recalled(sentences: Sequence[str], recalled: Recalled) -> tuple[str, ...]:
    return tuple(one for one in sentences if not recalled.says(one))


def merely_told_again(task: str, outputs: Iterable[str], known: Recalled) -> bool:
    """Whether a run did no more than answer from memory, or say what it stored.

    What repeats the task is the question, not the answer; small talk round the answer is nothing new.
    A question nothing came of is no more worth an account than one that memory answered.
    """
    said = [
        one
        for text in outputs
        for one in sentences(text)
        if compare_values(one, task) is Likeness.DIFFERENT
    ]
    new = [one for one in said if not known.says(one)]
    if any(judge(one).worth_keeping for one in new):
        return False
    return len(new) < len(said) or is_question(task)


def names(task: str, summary: str) -> bool:
    """An account of a task that was done before says what memory says, and is one all the same."""
    return bool(_terms(task)) and _terms(task) <= _terms(summary)


def unwrapped(text: str) -> str:
    """Without the names of what memory is written down in: keys of a list, members of an entry."""
    return _MEMBER.sub(" ", _LISTED.sub("", text))


_COVERED = 0.8
_BESIDE = 0.75  # of what stands side by side in the sentence, in one of the texts

# A key looks made: said_01a2, task:01a2. "Rome: …" and "2.0: …" are somebody's words.
_LISTED = re.compile(r"(?:^|(?<=\s))(?:[-*•]\s+)?[a-zA-Z]\w*[_:][\w:.@/-]*:\s+(?=\S)", re.MULTILINE)
_MEMBER = re.compile(r"[\"'](?:summary|learnings|errors|solutions)[\"']\s*:")
_QUOTES = re.compile(r"[“”„«»「」『』\"\n]")


def _is_within(text: frozenset[str], own: frozenset[str]) -> bool:
    new = own - text
    if any(map(is_significant, new)):
        return False
    return len(new) <= (1 - _COVERED) * len(own)


def _terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(normalize(text)))


def _own(text: str) -> frozenset[str]:
    return _terms(text) - _TELLING_AGAIN


def _pairs(text: str) -> frozenset[Pair]:
    return frozenset(pairwise(_in_order(text)))


def _in_order(text: str) -> Iterator[str]:
    """Single characters of scripts without spaces: their pairs are what stands side by side."""
    for term in query_terms(normalize(text)):
        if term not in _TELLING_AGAIN and not (len(term) > 1 and is_unspaced(term)):
            yield term


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
