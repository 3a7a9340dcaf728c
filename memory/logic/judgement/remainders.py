"""Tell what a known fact says beside what a person asks to forget, so that nothing is taken away that they didn't name.

Entries of one fact each have no remainder. Others come from models, imports and authors.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.judgement.clauses import list_splits, remove_introduction, split_sentences
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.likeness import list_words
from memory.logic.judgement.turns import (
    Clause,
    can_stand_apart,
    capitalize,
    select_independent,
)


MIN_SURE_TOPIC: Final = 0.5  # probability of a topic that the wish isn't about

_SPACES: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Remainder:
    """``texts`` are what is to be kept. It ``is_unclear`` if the fact says more, but can't be told apart."""

    texts: tuple[str, ...] = ()
    is_unclear: bool = False


UNCLEAR: Final = Remainder(is_unclear=True)


def find_remainder(judge: Judge | None, wish: str, fact: str) -> Remainder:
    """Return what of the fact is kept if the wish is met. Nothing is if the wish means all of it, as "Forget that" does."""
    if judge is None:
        return UNCLEAR if _names_part(wish, fact) else Remainder()
    sentences = split_sentences(fact)
    units = [unit for sentence in sentences for unit in _list_units(judge, sentence)]
    matches = {clause.text for clause in _list_meant(judge, wish, units)}
    if len(units) > 1 and not matches:
        return Remainder()
    if matches and _remove_spaces("".join(sentences)) != _remove_spaces(fact):
        return UNCLEAR  # it has more than sentences of a person
    rest: list[str] = []
    for unit in units:
        if unit.text in matches or len(units) == 1:
            remainder = _divide(judge, wish, unit)
            if remainder.is_unclear:
                return UNCLEAR
            rest += remainder.texts
        else:
            rest.append(unit.text)
    return Remainder(tuple(dict.fromkeys(rest)))


def _list_units(judge: Judge, sentence: str) -> list[Clause]:
    """Return the clauses of a sentence that are facts by themselves, or the sentence as one."""
    good_split = next(filter(can_stand_apart, judge.judge_splits(sentence)), None)
    return [*map(capitalize, good_split or judge.judge_texts([sentence]))]


def _list_meant(judge: Judge, wish: str, facts: Sequence[Clause]) -> list[Clause]:
    """Return the facts that the wish means, or one of its own clauses: "Forget my name, and where I live"."""
    matches = judge.list_meant(wish, facts)
    for part in (part for split in list_splits(wish) for part in split):
        candidates = [fact for fact in facts if list_words(part) & list_words(fact.text)]
        matches += judge.list_meant(part, candidates) if candidates else []
    return matches


def _divide(judge: Judge, wish: str, unit: Clause) -> Remainder:
    """Return what is left of what is no row of facts, such as "I like tea and coffee", or leaves out whom it is about."""
    is_unclear = False
    topic = int(judge.judge_texts([remove_introduction(wish)])[0].topics.argmax())
    for split in judge.judge_splits(unit.text):
        by_words = _list_by_words(wish, split)
        matches = by_words or judge.list_meant(wish, split)
        rest = [part for part in split if part not in matches]
        foreign_parts = [part for part in rest if _is_on_other_topic(part, topic)]
        if not matches or not rest or not (by_words or foreign_parts):
            continue
        independent_parts = select_independent(split)
        if all(part in independent_parts for part in rest) and (by_words or foreign_parts == rest):
            return Remainder(tuple(capitalize(part).text for part in rest))
        is_unclear |= bool(by_words) or any(part.is_stored for part in foreign_parts)
    return Remainder(is_unclear=is_unclear)


def _list_by_words(wish: str, parts: Sequence[Clause]) -> list[Clause]:
    """Return the parts whose last word the wish has: the tea of "I like tea and coffee". A verb alone names nothing."""
    words = list_words(wish)
    ends = [list_words(part.text.split()[-1]) for part in parts]
    matches = [part for part, end in zip(parts, ends, strict=True) if end and end <= words]
    return [] if parts[0] in matches and len(parts[0].text.split()) == 1 else matches


def _names_part(wish: str, fact: str) -> bool:
    """Return whether the wish has every word of a part of the fact, and not of all its parts."""
    words = list_words(wish)
    for split in list_splits(fact):
        is_in_wish = [list_words(part) <= words for part in split]
        if any(is_in_wish) and not all(is_in_wish):
            return True
    return False


def _is_on_other_topic(part: Clause, topic: int) -> bool:
    index = int(part.topics.argmax())
    return index != topic and float(part.topics[index]) >= MIN_SURE_TOPIC


def _remove_spaces(text: str) -> str:
    return _SPACES.sub("", text.replace("’", "'"))
