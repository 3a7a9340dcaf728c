"""Check that what a model wants to do to memory follows from the person's own words, which it names as its evidence.

A model reads more than the person said: quoted text, its own answer, what is known. Whatever it makes of that is not the
person's word. So the evidence must stand there as whole words, say what the text says, and speak of the entry that is to
change. Whether it does is told from words in common, from the topic, and from nearness in meaning.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from memory.logic.judgement import rules
from memory.logic.judgement.clauses import remove_foreign_text, split_sentences
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.likeness import list_words
from memory.logic.judgement.operations import Action, KnownFact, Operation
from memory.logic.judgement.turns import Clause


if TYPE_CHECKING:
    from memory.logic.judgement.judge import Judge


NOT_SAID: Final = "the evidence is not in the message"
QUOTED: Final = "the evidence is not the person's own words"
TOO_LITTLE: Final = "the evidence says too little"
STATES_NOTHING: Final = "the evidence states nothing"
NO_WISH: Final = "the evidence is no wish to forget"
UNSAID_NAME: Final = "the text has a name or a number that nobody said"
OTHER_TEXT: Final = "the text says something else than the evidence"
OTHER_ENTRY: Final = "the message does not speak of that entry"

# Shares and cosines, which are lenient: a model sees more than a comparison of sentences does.
MIN_TOPIC: Final = 0.1  # that both have the same topic
MIN_NEAR_ENTRY: Final = 0.25
MIN_NEAR_TEXT: Final = 0.35
MIN_NEAR_GERMAN: Final = 0.6
MIN_SURE_KIND: Final = 0.6  # that the evidence only asks
MIN_CHANGE: Final = 0.5  # that it says that something changed or ended
MAX_DEFINITE_TOPIC: Final = 0.5  # of a wish to forget that names nothing: "Forget that"
MAX_SHORT: Final = 3  # words of an answer that is understood from the question before it
ASKING: Final = frozenset({Kind.QUESTION, Kind.REQUEST, Kind.GREETING, Kind.THANKS, Kind.CODE})

# Scripts without spaces between words, in which a word may begin anywhere.
_UNSPACED: Final = (
    r"\u0e00-\u0e7f\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_SPACED_CHARACTER: Final = re.compile(rf"[^\W{_UNSPACED}]")
_WORDS: Final = re.compile(r"[^\W_]+")
_NAME: Final = re.compile(r"(?<=[\w,;:'\"(] )[^\W\d_a-zß-ÿа-я]\w{2,}")
_NUMBER: Final = re.compile(r"\d(?:[\d ()/.,:-]*\d)?")
# What a model may make of "last week" and the time that it is told.
_DATE_WORD: Final = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)\w*", re.IGNORECASE
)  # fmt: skip
_GERMAN: Final = re.compile(r"\b(?:ich|mein\w*|mich|mir|wir|unser\w*)\b", re.IGNORECASE)
_MIN_DIGITS: Final = 2


@dataclass(frozen=True)
class Evidence:
    """It has what a person wrote, and the known facts that a model was shown. Without a judge, only words are compared."""

    message: str
    judge: "Judge | None"
    facts: Sequence[KnownFact] = ()

    @cached_property
    def _own_text(self) -> str:
        return remove_foreign_text(self.message)

    @cached_property
    def _sentences(self) -> Sequence[str]:
        return split_sentences(self.message)

    def find_fault(self, operation: Operation, earlier: Sequence[str] = ()) -> str:
        """Return why the person's words don't say what the operation does, or an empty text.

        ``earlier`` are the messages before this one that the model was shown, the last one at the end, and the time.
        """
        if not _has_words(self._own_text, operation.evidence):
            return QUOTED if _has_words(self.message, operation.evidence) else NOT_SAID
        if _says_too_little(operation, self._own_text):
            return TOO_LITTLE
        targets = [fact for fact in self.facts if fact.id in operation.targets]
        if operation.text:
            sources = [self._own_text, *earlier, *(fact.text for fact in targets)]
            if fault := self._find_fault_of_text(operation, sources):
                return fault
        return self._find_fault_of_targets(operation, targets, earlier)

    def _find_fault_of_text(self, operation: Operation, sources: Sequence[str]) -> str:
        missing, count = _count_missing(operation.text, "\n".join(sources))
        is_german = _GERMAN.search(operation.text) is not None
        if missing and not (is_german and self._may_be_nouns(operation, missing, count)):
            return UNSAID_NAME
        return "" if self._says_text(operation) else OTHER_TEXT

    def _may_be_nouns(self, operation: Operation, missing: int, count: int) -> bool:
        """Return whether what has a capital letter may be no name, as in German, where each noun has one."""
        if missing < count or self.judge is None:
            return True
        return self._find_nearest(operation, operation.text) >= MIN_NEAR_GERMAN

    def _says_text(self, operation: Operation) -> bool:
        words = list_words(operation.text)
        shares_word = any(words & list_words(text) for text in self._list_own_words(operation))
        if shares_word or self.judge is None:
            return shares_word or not words
        is_near = self._find_nearest(operation, operation.text) >= MIN_NEAR_TEXT
        if self._only_asks(operation):
            return is_near
        return is_near or self._has_topic(self._list_own_words(operation), operation.text)

    def _find_fault_of_targets(
        self, operation: Operation, targets: Sequence[KnownFact], earlier: Sequence[str]
    ) -> str:
        if operation.action in (Action.FORGET, Action.ASK):
            if not self._is_wish(operation):
                return NO_WISH
            if self._names_nothing(operation):
                return ""
        elif operation.action is Action.END and self._only_asks(operation):
            return STATES_NOTHING
        speaks = all(self._speaks_of(operation, fact, earlier) for fact in targets)
        return "" if speaks else OTHER_ENTRY

    def _is_wish(self, operation: Operation) -> bool:
        sentences = self._list_own_words(operation)
        is_wish = self.judge and any(
            clause.is_forget for clause in self.judge.judge_texts(sentences)
        )
        return bool(is_wish) or any(map(rules.asks_to_forget, sentences))

    def _names_nothing(self, operation: Operation) -> bool:
        if self.judge is None:
            return False
        clauses = self.judge.judge_texts(self._list_own_words(operation))
        return all(float(clause.topics.max()) < MAX_DEFINITE_TOPIC for clause in clauses)

    def _only_asks(self, operation: Operation) -> bool:
        clause = self._judge(operation.evidence)
        return clause is not None and clause.kind in ASKING and clause.certainty >= MIN_SURE_KIND

    def _speaks_of(self, operation: Operation, fact: KnownFact, earlier: Sequence[str]) -> bool:
        sentences = self._list_own_words(operation)
        if self.judge is None or any(
            list_words(text) & list_words(fact.text) for text in sentences
        ):
            return True
        if self._is_near(sentences, fact.text):
            return True
        if self._only_asks(operation):
            return False
        if self._ends_something_of_others(operation, fact):
            return True
        is_short = len(_WORDS.findall(operation.evidence)) <= MAX_SHORT
        return is_short and self._is_near([*earlier[-2:]], fact.text)

    def _ends_something_of_others(self, operation: Operation, fact: KnownFact) -> bool:
        """Return whether what ended may be about somebody of theirs, by another word: "we broke up", "my wife"."""
        clause, fact_clause = self._judge(operation.evidence), self._judge(fact.text)
        if clause is None or fact_clause is None or fact_clause.is_of_speaker >= MIN_CHANGE:
            return False
        return max(clause.ended, clause.changed) >= MIN_CHANGE

    def _is_near(self, texts: Sequence[str], other: str) -> bool:
        return self._has_topic(texts, other) or any(
            nearness >= MIN_NEAR_ENTRY for nearness in self._list_nearness(texts, other)
        )

    def _has_topic(self, texts: Sequence[str], other: str) -> bool:
        clause = self._judge(other)
        if clause is None or self.judge is None:
            return False
        clauses = self.judge.judge_texts([text for text in texts if text.strip()])
        return any(float((each.topics * clause.topics).max()) >= MIN_TOPIC for each in clauses)

    def _find_nearest(self, operation: Operation, text: str) -> float:
        return max(self._list_nearness(self._list_own_words(operation), text), default=0.0)

    def _list_nearness(self, texts: Sequence[str], other: str) -> list[float]:
        return [self.judge.measure_nearness(text, other) for text in texts] if self.judge else []

    def _judge(self, text: str) -> Clause | None:
        return self.judge.judge_texts([text])[0] if self.judge and text.strip() else None

    def _list_own_words(self, operation: Operation) -> list[str]:
        """Return the evidence, and the sentences of the person that have it in them."""
        around = [text for text in self._sentences if _has_words(text, operation.evidence)]
        return [*dict.fromkeys([operation.evidence, *around])]


def _normalize(text: str) -> str:
    """Return the text without differences of case, width and white space."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return re.sub(r"\s+", " ", plain).strip()


def _has_words(text: str, evidence: str) -> bool:
    """Return whether the evidence stands in the text, and begins and ends where words do."""
    words, normal_text = _normalize(evidence), _normalize(text)
    if not words:
        return False
    return any(
        _is_apart(normal_text, start, start + len(words))
        for start in _iterate_places(normal_text, words)
    )


def _iterate_places(text: str, part: str) -> Iterator[int]:
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    return not (_joins(text, start) or _joins(text, end))


def _joins(text: str, position: int) -> bool:
    """Return whether a word of a script with spaces goes on at the place."""
    around = text[position - 1 : position + 1] if 0 < position < len(text) else ""
    return len(around) == 2 and all(map(_SPACED_CHARACTER.match, around))


def _says_too_little(operation: Operation, own_text: str) -> bool:
    """Return whether the evidence is a single word that says nothing by itself, and is not all that was said."""
    evidence = operation.evidence
    words = _WORDS.findall(_normalize(evidence))
    has_characters = len(re.findall(rf"[{_UNSPACED}]", evidence)) >= _MIN_DIGITS
    if len(words) >= 2 or has_characters:
        return False
    if words == _WORDS.findall(_normalize(own_text)):
        return False
    return list_words(evidence).isdisjoint(list_words(operation.text))


def _count_missing(text: str, sources: str) -> tuple[int, int]:
    """Return how many names and numbers of the text nobody said, and how many it has.

    Of a name only the beginning counts, because many languages change its end: "Warszawa", "w Warszawie".
    """
    words, digits = _normalize(sources), re.sub(r"\D", "", sources)
    names = [name for name in _NAME.findall(text) if not _DATE_WORD.fullmatch(name)]
    unsaid = [name for name in names if _normalize(name)[: max(3, len(name) - 3)] not in words]
    numbers = [re.sub(r"\D", "", number) for number in _NUMBER.findall(text)]
    numbers = [number for number in numbers if len(number) >= _MIN_DIGITS]
    unsaid += [number for number in numbers if number not in digits]
    return len(unsaid), len(names) + len(numbers)
