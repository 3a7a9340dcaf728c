"""Reread earlier turns of a conversation as memory knows them now: without what was forgotten, and with the end of the rest.

A turn says which entries it stored or recalled. What an entry said that is gone, or says something else since, is left out
wherever the conversation repeats it; what was true until some day gets that day. A restored entry reads as before.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from memory.logic.judgement.likeness import list_words


LEFT_OUT: Final = "…"  # in place of a message of which nothing is left
MIN_WORDS: Final = 0.75  # of those of a text that a sentence repeats
MIN_NUMBER: Final = 5  # digits of a number that says by itself what it is
MIN_REST: Final = 2  # words that are worth keeping of a sentence, unlike "Noted:"

_BREAK: Final = re.compile(r"((?<=[.!?…؟])\s+|(?<=[。！？])|\n+)")
_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-zß-ÿа-я]\w{2,}")
_NUMBER: Final = re.compile(r"\d[\d ()/.-]*\d")
_WORD: Final = re.compile(r"[^\W_]+")
_END: Final = " \t\n.!?。！？…"


class TurnFact(Protocol):
    """An entry that a turn stored or recalled, with what it said then."""

    @property
    def id(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def is_stored(self) -> bool: ...


class EarlierTurn(Protocol):
    @property
    def query(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def facts(self) -> Sequence[TurnFact]: ...


@dataclass(frozen=True, slots=True)
class FactState:
    """It has what an entry that isn't forgotten says now, and until when it held."""

    text: str
    valid_until: datetime | None = None


def list_facts(turns: Iterable[EarlierTurn]) -> list[TurnFact]:
    """Return the facts of the turns whose entries can be asked for, each entry once."""
    return [*{fact.id: fact for turn in turns for fact in turn.facts if fact.id}.values()]


def reread_turns(
    turns: Sequence[EarlierTurn], states: Mapping[str, FactState], now: datetime
) -> list[tuple[str, str]]:
    """Return the query and the answer of each turn. ``states`` has the entries of their facts that aren't forgotten."""
    reader = _Reader(states, now, [fact for turn in turns for fact in turn.facts if fact.id])
    return [reader.read(turn) for turn in turns]


class _Reader:
    """Knows what of the facts of a conversation is gone, and what held until some day."""

    def __init__(
        self, states: Mapping[str, FactState], now: datetime, facts: Sequence[TurnFact]
    ) -> None:
        self._states, self._now = states, now
        holding = [fact.text for fact in facts if self._holds(fact)]
        texts = {_normalize(text) for text in holding}
        values = frozenset[str]().union(*map(_list_values, holding))
        facts = [fact for fact in facts if _normalize(fact.text) not in texts]
        gone_texts = dict.fromkeys(fact.text for fact in facts if self._is_gone(fact))
        self._gone = [_Statement(text, values) for text in gone_texts]
        self._former = {
            fact.text: (_Statement(fact.text, values), end)
            for fact in facts
            if (end := self._find_end(fact))
        }

    def read(self, turn: EarlierTurn) -> tuple[str, str]:
        query, answer = self._leave_out(turn.query), self._leave_out(turn.answer)
        stored = {fact.text for fact in turn.facts if fact.is_stored}
        statements = [statement for statement in self._gone if statement.text in stored]
        if not all(statement.may_be_in(turn.query) for statement in statements):
            query = LEFT_OUT  # it says so in other words, which nobody can pick out
        return self._add_ends(query, stored), answer

    def _holds(self, fact: TurnFact) -> bool:
        return not self._is_gone(fact) and self._find_end(fact) is None

    def _is_gone(self, fact: TurnFact) -> bool:
        state = self._states.get(fact.id)
        return state is None or state.text != fact.text

    def _find_end(self, fact: TurnFact) -> datetime | None:
        """Return when what the entry still says stopped holding, or None if it holds, or is gone."""
        end = None if self._is_gone(fact) else self._states[fact.id].valid_until
        return end if end and end <= self._now else None

    def _leave_out(self, message: str) -> str:
        if not any(statement.may_be_in(message) for statement in self._gone):
            return message
        parts = _BREAK.split(message)
        for statement in self._gone:
            parts = [statement.cut(part) for part in parts]
        breaks = [*parts[1::2], ""]
        pairs = zip(parts[::2], breaks, strict=True)
        rest = "".join(text + end for text, end in pairs if text).strip()
        return rest if any(map(str.isalnum, rest)) else LEFT_OUT

    def _add_ends(self, query: str, stored: Iterable[str]) -> str:
        for text, (statement, end) in self._former.items():
            repeats = [part for part in _BREAK.split(query) if statement.is_in(part)]
            mark = f"[until {end.day} {end:%b %Y}"
            if repeats:
                query = query.replace(repeats[0], f"{mark}] {repeats[0]}", 1)
            elif text in stored:
                query = f"{mark}: {text}] {query}"
        return query


class _Statement:
    """It has what an entry said, and recognizes a sentence that repeats it."""

    def __init__(self, text: str, holding_values: frozenset[str]) -> None:
        self.text = text
        self._start = _normalize(text)
        self._values = _list_values(text) - holding_values
        self._words = list_words(text)

    def may_be_in(self, message: str) -> bool:
        return any(self.is_in(part) for part in _BREAK.split(message))

    def is_in(self, sentence: str) -> bool:
        """Return whether the sentence has the text in it, a name or number of it, or most of its words."""
        plain = _normalize(sentence)
        if not plain:
            return False
        if self._start in plain or any(value in plain for value in self._values):
            return True
        common = self._words & list_words(sentence)
        return bool(self._words) and len(common) >= MIN_WORDS * len(self._words)

    def cut(self, sentence: str) -> str:
        """Return the sentence without the text or, if it has it in other words, nothing."""
        position = sentence.casefold().find(self._start)
        if position >= 0 and len(sentence.casefold()) == len(sentence):
            rest = sentence[:position] + sentence[position + len(self._start) :]
            has_more = len(_WORD.findall(rest)) >= MIN_REST
            return rest if has_more and not self.is_in(rest) else ""
        return "" if self.is_in(sentence) else sentence


def _normalize(text: str) -> str:
    return re.sub(r"\s+", " ", text).casefold().strip(_END)


def _list_values(text: str) -> frozenset[str]:
    """Return the names and the long numbers of a text."""
    numbers = (
        number for number in _NUMBER.findall(text) if sum(map(str.isdigit, number)) >= MIN_NUMBER
    )
    return frozenset(map(str.casefold, (*_NAME.findall(text), *numbers)))
