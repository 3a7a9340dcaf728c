"""Find the known facts that a wish to forget may mean, and choose among them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.judgement.labels import TOPICS, Attribute
from memory.logic.judgement.likeness import (
    MIN_TOPIC,
    JudgedFact,
    Likeness,
    compare,
    is_same_person,
    list_words,
)
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.turns import Clause


# Probabilities and cosines of centered vectors; `python -m bench.judgement` prints what they decide.
MIN_SPEAKER_OF_WISH: Final = 0.5  # that a statement that is to be forgotten is about the speaker
MAX_SPEAKER_OF_OTHER: Final = 0.25  # … for one about somebody else: "my brother's phone"
MIN_FORGOTTEN: Final = 0.25
MIN_POSSIBLE: Final = 0.15  # … of what could be meant beside it, so that the person is asked
MAX_BEHIND: Final = 0.15  # of a fact that is about as near to a wish to forget as the nearest one
MIN_NUMBER: Final = 5  # digits of a number that says by itself what a fact is about
MIN_STEM: Final = 3  # characters that two forms of a word have in common

# Of these a person tells one at a time, so that several are one thing and its history.
_HISTORIES: Final = frozenset(
    {Attribute.NAME, Attribute.HOME, Attribute.WORK, Attribute.EMPLOYER, Attribute.AGE, Attribute.BIRTHDAY}
)  # fmt: skip
# Who says one of these means each fact that is found.
ALL: Final = re.compile(
    r"\b(?:all|everything|anything|every|both|alles?|beide\w*|tout\w*|tous|tod[oa]s?|tudo|tutt[oiae]|ambos|entramb[ie]|"
    r"allemaal|wszystk\w+|все|всё|всего|обо всём|hepsi\w*|her şeyi?|bütün|tüm|كل|جميع)\b"
    r"|全部|所有|一切|都忘|全て|すべて|모두|모든|전부|ทั้งหมด|ทุก",
    re.IGNORECASE,
)
# A word with a capital letter within a sentence, and digits with what may stand between them.
_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w{2,}")
_NUMBER: Final = re.compile(r"\d[\d ()/.-]*\d")
# What belongs to the speaker: "my name", "mein Name", "我的名字".
_MY: Final = re.compile(
    r"\b(?:my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mis?|nuestr\w+|meus?|minhas?|noss[oa]s?|mi[oae]|miei|nostr\w+|mijn|onze?|"
    r"m[oó]j\w*|nasz\w*|мо[йяёеию]\w*|наш\w*)\s+([^\W\d_]+)"
    r"|我(?:们)?的?([\u4e00-\u9fff]{2})|(?:私|僕|俺)の(\w{2})|(?:^|\s)(?:내|제)\s?(\w{2})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wish to forget may mean this fact. One that isn't ``is_sure`` is only a second choice.

    It ``is_of_kind`` if the wish names what the fact is about or a word of it, and not only something of the same topic,
    ``is_same`` if both are about the same person, and ``is_of_other`` if it is about somebody else than the speaker. Facts
    of the same ``history`` are one thing, as it was and as it is.
    """

    id: str
    text: str
    nearness: float
    is_sure: bool
    is_of_kind: bool
    is_same: bool
    is_of_other: bool
    history: Attribute | None


def list_candidates(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> list[Candidate]:
    """Return the known facts that a wish to forget may mean, the nearest first."""
    judgements = (_judge(clause, judgement, center) for judgement in known_facts)
    candidates = [candidate for candidate in judgements if candidate]
    if not any(fact.is_sure for fact in candidates):
        return []
    return sorted(_leave_out_others(clause, candidates), key=lambda fact: (-fact.nearness, fact.id))


def _judge(clause: Clause, judgement: JudgedFact, center: Floats) -> Candidate | None:
    fact = judgement.clause
    likeness = compare(clause, fact, center)
    is_same = likeness.topic_share >= MIN_TOPIC and _is_same_person(clause, fact, likeness)
    is_near = likeness.nearness >= MIN_POSSIBLE and (is_same or likeness.has_word)
    is_only_one = is_same and likeness.is_single
    if not (is_near or is_only_one):
        return None
    is_same_kind = fact.attribute is clause.attribute
    has_history = is_only_one and fact.attribute in _HISTORIES & TOPICS[likeness.topic]
    return Candidate(
        judgement.fact.id,
        judgement.fact.text,
        likeness.nearness,
        is_sure=likeness.nearness >= MIN_FORGOTTEN or is_only_one,
        is_of_kind=is_same_kind or likeness.has_word,
        is_same=is_same,
        is_of_other=fact.is_of_speaker <= MAX_SPEAKER_OF_OTHER,
        history=fact.attribute if has_history else None,
    )


def _is_same_person(clause: Clause, fact: Clause, likeness: Likeness) -> bool:
    """Return whether the wish and the fact are about the same person. Both may say it: "my name"."""
    if is_same_person(clause, fact, likeness, MIN_SPEAKER_OF_WISH):
        return True
    return likeness.is_single and names_same_of_speaker(clause.text, fact.text)


def names_same_of_speaker(wish: str, fact: str) -> bool:
    """Return whether both name the same thing or person of the speaker, in any form of its word."""
    return any(
        first.startswith(second[:length])
        for first in _list_of_speaker(wish)
        for second in _list_of_speaker(fact)
        if (length := max(min(len(first), len(second), MIN_STEM), len(second) - 2)) <= len(first)
    )


def _list_of_speaker(text: str) -> list[str]:
    return [next(filter(None, match.groups())).casefold() for match in _MY.finditer(text)]


def _leave_out_others(clause: Clause, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the facts without those about others that say no more of the wish than those about its person.

    "My phone number" isn't that of the brother if the person's own is known.
    """
    words = list_words(clause.text)
    counts = [len(words & list_words(fact.text)) for fact in candidates if fact.is_same]
    if clause.is_of_speaker < MIN_SPEAKER_OF_WISH or not counts:
        return [*candidates]
    most = max(counts)
    return [
        fact
        for fact in candidates
        if not fact.is_of_other or fact.is_same or len(words & list_words(fact.text)) > most
    ]


def select_meant(clause: Clause, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return all candidates that are likely if the wish says so, and else those that are meant.

    "Everything about my allergies" isn't what is remotely like one, such as another thing of health.
    """
    if candidates and not ALL.search(clause.text):
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


def is_clear(clause: Clause, selection: Sequence[Candidate]) -> bool:
    """Return whether the facts are all meant: the wish says so, or they are one thing."""
    first = selection[0]
    if ALL.search(clause.text) or (
        all(fact.history is first.history for fact in selection) and first.history
    ):
        return True
    return all(shares_value(clause.text, first.text, fact.text) for fact in selection[1:])


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
