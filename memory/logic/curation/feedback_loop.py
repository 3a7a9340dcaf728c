"""Protection against feedback loops: content that a run recalled or stored is not learned again.

Sentences are compared with the known strings by their terms, because a model that repeats a memory rephrases it and adds
phrases such as "as you told me". They are also compared with all strings together, because a sentence can quote two of
them. A sentence with a new significant term (a number or a negation) is no repetition, nor is one that combines known
terms in new pairs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.core.recall.tokens import extract_query_terms
from memory.logic.conversations.summary import split_sentences
from memory.logic.entries.duplicates import Likeness, compare_values, is_significant, normalize
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.statements import is_question, rate_statements


Pair = tuple[str, str]

_TERM_SHARE = 0.8
_PAIR_SHARE = 0.75  # of the neighboring pairs in the sentence, in one of the texts

# A generated key: said_01a2, task:01a2. "Rome: …" and "2.0: …" are ordinary text.
_LIST_KEY = re.compile(
    r"(?:^|(?<=\s))(?:[-*•]\s+)?[a-zA-Z]\w*[_:][\w:.@/-]*:\s+(?=\S)", re.MULTILINE
)
_MEMBER = re.compile(r"[\"'](?:summary|learnings|errors|solutions)[\"']\s*:")
_QUOTES = re.compile(r"[“”„«»「」『』\"\n]")

# Terms that introduce a repeated memory.
_INTRODUCTORY_TERMS = frozenset(
    term
    for phrase in (
        "as you told mentioned said before earlier previously remember recall noted according",
        "to my memory memories records notes know known already based on previous conversation context",
        "根据之前的记忆，你提到过、说过、告诉过我，如前所述，我记得，据我所知，记录显示",
    )
    for term in extract_query_terms(phrase)
)


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """The terms of each known string, the terms of all strings together, and the pairs of neighboring terms."""

    terms_by_text: tuple[frozenset[str], ...]
    all_terms: frozenset[str] = frozenset()
    pairs: frozenset[Pair] = frozenset()

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> "KnownTexts":
        plain = [strip_wrapping(text) for text in dict.fromkeys(texts)]
        terms = tuple(filter(None, map(_list_terms, plain)))
        return cls(terms, frozenset().union(*terms), frozenset().union(*map(_list_pairs, plain)))

    def contains(self, sentence: str) -> bool:
        """Return whether the sentence has only content of these strings, besides introductory phrases."""
        parts = _QUOTES.split(strip_wrapping(sentence))
        content = [(part, terms) for part in parts if (terms := _list_content_terms(part))]
        return bool(content) and all(self._contains_part(part, terms) for part, terms in content)

    def _contains_part(self, part: str, terms: frozenset[str]) -> bool:
        """Return whether one string has the terms, or all strings have them together with most of the pairs."""
        if any(_has_terms(known_terms, terms) for known_terms in self.terms_by_text):
            return True
        pairs = _list_pairs(part)
        unknown_count = sum(pair not in self.pairs for pair in pairs)
        return _has_terms(self.all_terms, terms) and unknown_count <= (1 - _PAIR_SHARE) * len(pairs)


def exclude_known(sentences: Sequence[str], known_texts: KnownTexts) -> tuple[str, ...]:
    return tuple(sentence for sentence in sentences if not known_texts.contains(sentence))


def is_repetition(
    task: str, outputs: Iterable[str], known_texts: KnownTexts, judge: Judge | None
) -> bool:
    """Return whether a run has no new result: its outputs repeat known strings, or its task is a question.

    Sentences that repeat the task and small talk aren't results.
    """
    answers = [
        sentence
        for text in outputs
        for sentence in split_sentences(text)
        if compare_values(sentence, task) is Likeness.DIFFERENT
    ]
    new = [sentence for sentence in answers if not known_texts.contains(sentence)]
    if any(rate_statements(new, judge)):
        return False
    return len(new) < len(answers) or is_question(task, judge)


def mentions_task(task: str, summary: str) -> bool:
    """Return whether the summary has all terms of the task."""
    return bool(_list_terms(task)) and _list_terms(task) <= _list_terms(summary)


def strip_wrapping(text: str) -> str:
    """Remove the names that surround memory in prompts: keys of a list, members of an entry."""
    return _MEMBER.sub(" ", _LIST_KEY.sub("", text))


def _has_terms(known_terms: frozenset[str], terms: frozenset[str]) -> bool:
    """Return whether most of the terms are known, and no unknown one is significant."""
    unknown = terms - known_terms
    return len(unknown) <= (1 - _TERM_SHARE) * len(terms) and not any(map(is_significant, unknown))


def _list_terms(text: str) -> frozenset[str]:
    return frozenset(extract_query_terms(normalize(text)))


def _list_content_terms(text: str) -> frozenset[str]:
    return _list_terms(text) - _INTRODUCTORY_TERMS


def _list_pairs(text: str) -> frozenset[Pair]:
    return frozenset(pairwise(_iterate_terms(text)))


def _iterate_terms(text: str) -> Iterator[str]:
    """Yield the terms in order, without introductory ones; scripts without spaces yield single characters."""
    for term in extract_query_terms(normalize(text)):
        if term not in _INTRODUCTORY_TERMS and not (len(term) > 1 and is_unspaced(term)):
            yield term
