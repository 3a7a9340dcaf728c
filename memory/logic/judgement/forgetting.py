"""Decide what a wish to forget means: what was stored last, facts that are known, or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.judgement.likeness import (
    MIN_TOPIC,
    JudgedFact,
    compare,
    is_same_person,
    list_words,
)
from memory.logic.judgement.operations import Action, KnownFact, Operation
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.turns import Clause


# Probabilities and cosines of centered vectors; `python -m bench.judgement` prints what they decide.
MIN_SPEAKER_OF_WISH: Final = 0.5  # that a statement that is to be forgotten is about the speaker
MIN_FORGOTTEN: Final = 0.25
MIN_POSSIBLE: Final = 0.15  # … of what could be meant beside it, so that the person is asked
MIN_KIND_OF_ALL: Final = (
    0.25  # of a topic that "everything about my health" and a fact have in common
)
MIN_LATEST: Final = 0.7  # that a wish means what was stored last: "Forget that"
MAX_TOPIC: Final = 0.5  # … of whose topics none is more probable, unless it is sure
MIN_SURELY_LATEST: Final = 0.9
MIN_PERHAPS_LATEST: Final = 0.3  # … so that the person is asked
MAX_VAGUE_TOPIC: Final = 0.6
MAX_BEHIND: Final = 0.15  # of a fact that is about as near to a wish to forget as the nearest one
MIN_NUMBER: Final = 5  # digits of a number that says by itself what a fact is about

# Who says one of these means each fact that is found.
_ALL: Final = re.compile(
    r"\b(?:all|everything|anything|every|both|alles|alle|beide\w*|tout\w*|tous|tod[oa]s?|tudo|tutt[oiae]|ambos|entramb[ie]|"
    r"allemaal|wszystk\w+|все|всё|всего|обо всём|hepsi\w*|her şeyi?|bütün|كل)\b"
    r"|全部|所有|一切|都忘|全て|すべて|모두|모든|전부|ทั้งหมด|ทุก",
    re.IGNORECASE,
)
# A word with a capital letter within a sentence, and digits with what may stand between them.
_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w{2,}")
_NUMBER: Final = re.compile(r"\d[\d ()/.-]*\d")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wish to forget may mean this fact. One that isn't ``is_sure`` is only a second choice.

    It ``is_of_kind`` if the wish names what the fact is about or a word of it, and not only something of the same topic.
    """

    id: str
    text: str
    nearness: float
    is_sure: bool
    is_of_kind: bool


def decide_to_forget(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats, latest: Sequence[str]
) -> Operation | None:
    """Forget what is meant. If two things could be meant, the person is asked, and nothing is forgotten."""
    if latest and _means_latest(clause):
        return Operation(Action.FORGET, targets=tuple(latest), evidence=clause.text)
    candidates = list_candidates(clause, known_facts, center)
    if not candidates:
        ask = _ask_about_possible(clause, known_facts, center)
        return ask or _ask_about_latest(clause, latest)
    selection = select_meant(clause, candidates)
    first = selection[0].text
    is_clear = bool(_ALL.search(clause.text)) or all(
        shares_value(clause.text, first, fact.text) for fact in selection[1:]
    )
    action = Action.FORGET if is_clear else Action.ASK
    facts = [judgement.fact for judgement in known_facts]
    evidence = list_evidence(selection, facts) if is_clear else []
    targets = (*(fact.id for fact in selection), *(fact.id for fact in evidence))
    return Operation(action, targets=targets, evidence=clause.text)


def _means_latest(clause: Clause) -> bool:
    is_vague = clause.topics.max() <= MAX_TOPIC
    return clause.latest >= (MIN_LATEST if is_vague else MIN_SURELY_LATEST)


def _ask_about_latest(clause: Clause, latest: Sequence[str]) -> Operation | None:
    """Ask if what was stored last is meant, unless the wish names something: that isn't known, so there is nothing to forget."""
    is_vague = clause.latest >= MIN_PERHAPS_LATEST and clause.topics.max() <= MAX_VAGUE_TOPIC
    if not latest or not is_vague:
        return None
    return Operation(Action.ASK, targets=tuple(latest), evidence=clause.text)


def _ask_about_possible(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> Operation | None:
    """Ask about what the wish may mean if nothing is likely: facts with a word of it, or all of its kind if it says "all"."""
    is_about_all = _ALL.search(clause.text) is not None
    targets = []
    for judgement in known_facts:
        likeness = compare(clause, judgement.clause, center)
        names_it = likeness.has_word and likeness.nearness >= MIN_POSSIBLE
        is_of_kind = judgement.clause.attribute is clause.attribute
        is_meant = is_of_kind and likeness.topic_share >= MIN_KIND_OF_ALL
        if names_it or (is_about_all and is_meant):
            targets.append(judgement.fact.id)
    if not targets:
        return None
    return Operation(Action.ASK, targets=tuple(targets), evidence=clause.text)


def list_candidates(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> list[Candidate]:
    """Return the known facts that a wish to forget may mean, the nearest first."""
    candidates = []
    for judgement in known_facts:
        likeness = compare(clause, judgement.clause, center)
        is_same_topic = likeness.topic_share >= MIN_TOPIC
        is_same = is_same_topic and is_same_person(
            clause, judgement.clause, likeness, MIN_SPEAKER_OF_WISH
        )
        is_near = likeness.nearness >= MIN_POSSIBLE and (is_same or likeness.has_word)
        is_only_one = is_same and likeness.is_single
        if is_near or is_only_one:
            is_sure = likeness.nearness >= MIN_FORGOTTEN or is_only_one
            fact = judgement.fact
            is_same_kind = judgement.clause.attribute is clause.attribute
            is_of_kind = is_same_kind or likeness.has_word
            candidates.append(
                Candidate(fact.id, fact.text, likeness.nearness, is_sure, is_of_kind=is_of_kind)
            )
    candidates.sort(key=lambda fact: (-fact.nearness, fact.id))
    return candidates if any(fact.is_sure for fact in candidates) else []


def select_meant(clause: Clause, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return all candidates that are likely if the wish says so, and else those that are meant.

    "Everything about my allergies" isn't what is remotely like one, such as another thing of health.
    """
    if candidates and not _ALL.search(clause.text):
        return choose_candidates(clause, candidates)
    return [candidate for candidate in candidates if candidate.is_sure or candidate.is_of_kind]


def choose_candidates(clause: Clause, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the facts that are meant: those about as near as the nearest, and others that say the same.

    Of facts that are equally near, those with most of the words of the wish are meant: "my sister Anna".
    """
    words = list_words(clause.text)
    nearest = [fact for fact in candidates if fact.nearness >= candidates[0].nearness - MAX_BEHIND]
    word_counts = {fact.id: len(words & list_words(fact.text)) for fact in nearest}
    most = max(word_counts.values())
    selection = [fact for fact in nearest if word_counts[fact.id] == most]
    first = selection[0].text
    equals = [fact for fact in candidates if shares_value(clause.text, first, fact.text)]
    return [*selection, *(fact for fact in equals if fact not in selection)]


def list_evidence(
    selection: Sequence[Candidate], known_facts: Sequence[KnownFact]
) -> list[KnownFact]:
    """Return the other facts that have a long number of the selected ones, such as a phone number in other words."""
    numbers = frozenset(number for fact in selection for number in _list_numbers(fact.text))
    ids = {fact.id for fact in selection}
    return [
        f for f in known_facts if f.id not in ids and not numbers.isdisjoint(_list_numbers(f.text))
    ]


def shares_value(wish: str, text: str, other: str) -> bool:
    """Return whether both texts have a name or a long number in common that the wish doesn't have."""
    return not (_list_values(text) & _list_values(other)) <= _list_values(wish)


def _list_values(text: str) -> frozenset[str]:
    return frozenset([*_NAME.findall(text), *_list_numbers(text)])


def _list_numbers(text: str) -> frozenset[str]:
    numbers = (re.sub(r"\D", "", match) for match in _NUMBER.findall(text))
    return frozenset(number for number in numbers if len(number) >= MIN_NUMBER)
