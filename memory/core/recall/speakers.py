"""Who speaks in the turns of a conversation, for the rank: a question about somebody is answered by what they said.

A turn begins with its speaker: ``Mia: I live in Oslo.`` What this says is kept as marks beside the terms of a text, each
with a count as terms have. No term of a text begins with a dot, so marks can stand in the same postings.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from memory.core.recall.tokens import (
    DEFAULT_LANGUAGE,
    MAX_SEARCHED_CHARACTERS,
    extract_terms,
)


BY_PERSON: Final = ".:"  # the text is a turn of somebody who has a name
BY_MACHINE: Final = ".!"  # the text is a turn of an assistant or a tool
# The share of a named person's turn that is questions, of 255: they ask for something about somebody else.
QUESTIONS: Final = ".?"
WHOLE: Final = 255

_SPEAKER = re.compile(r"([^\W\d_][^\n:：]{0,39})(?::\s|：)")
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？\n]|$)")
_MAX_NAME_WORDS = 4
# Speakers that are roles. Those who use the product have no name in their turns, and ask about themselves.
_PERSONS = frozenset(["user", "human", "用户"])
_MACHINES = frozenset(["assistant", "ai", "bot", "system", "tool", "助手", "机器人"])
_NO_MARKS: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class Turn:
    """The rank reads these numbers of a turn, each from 0 to 1."""

    by_person: int = 0
    by_machine: int = 0
    by_named: int = 0  # by somebody whom the question names
    questions: float = 0.0


def find_marks(search_text: str, language: str = DEFAULT_LANGUAGE) -> Mapping[str, int]:
    """Return the marks of a text, whose first line is the key of its entry."""
    start = search_text.find("\n") + 1
    speaker = _SPEAKER.match(search_text, start)
    if speaker is None or len(speaker[1].split()) > _MAX_NAME_WORDS:
        return _NO_MARKS
    role = speaker[1].strip().casefold()
    if role in _PERSONS:
        return _NO_MARKS
    if role in _MACHINES:
        return {BY_MACHINE: 1}
    marks = {BY_PERSON: 1, **dict.fromkeys(_name_marks(extract_terms(speaker[1], language)), 1)}
    if share := _measure_questions(search_text[speaker.end() : MAX_SEARCHED_CHARACTERS].strip()):
        marks[QUESTIONS] = share
    return marks


def list_asked_marks(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the marks that the rank of a question with these terms needs: first those of the speakers it may name."""
    return (*sorted(_name_marks(terms)), BY_PERSON, BY_MACHINE, QUESTIONS)


def read_turn(marks: Mapping[str, int], question_marks: Iterable[str]) -> Turn:
    """Return what the marks of a text say; ``question_marks`` are those of the question."""
    if not marks:
        return Turn()
    return Turn(
        marks.get(BY_PERSON, 0),
        marks.get(BY_MACHINE, 0),
        int(any(mark in marks for mark in question_marks if is_name(mark))),
        marks.get(QUESTIONS, 0) / WHOLE,
    )


def is_name(mark: str) -> bool:
    return mark not in (BY_PERSON, BY_MACHINE, QUESTIONS)


def _name_marks(terms: Iterable[str]) -> set[str]:
    """Return the marks of the terms of a name. One character of a longer name is in many words."""
    return {f".{term}" for term in terms if len(term) > 1}


def _measure_questions(text: str) -> int:
    sentences = _SENTENCE.findall(text)
    count = sum(len(sentence) for sentence in sentences if sentence.endswith(("?", "？")))
    return round(WHOLE * count / len(text)) if text else 0
