"""Relate what was said to what is known: the same, an addition, a replacement, an end, or something to be forgotten.

A wrong retirement is worse than two entries, so whatever can't be told apart stays. Nothing is retired that the turn
didn't speak of: a known fact is replaced only by one about the same topic of the same person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.core.recall.tokens import LIGHT_WORDS, parse_query
from memory.logic.judgement.labels import SHARED, SINGLE, TOPICS
from memory.logic.judgement.operations import Action, KnownFact, Operation
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.turns import Clause


# Probabilities and cosines of centered vectors; `python -m bench.judgement` prints what they decide.
MIN_TOPIC: Final = 0.15  # that two statements have the same topic
MIN_SURE_TOPIC: Final = 0.5  # … so that both can't be true
MIN_SPEAKER: Final = 0.6  # that a statement is about the speaker
MAX_DIFFERENCE: Final = 0.3  # of that probability, between statements about the same person
MIN_CHANGED: Final = 0.3  # that something changed or ended
MIN_SURE_CHANGE: Final = 0.5
MAX_PAST: Final = 0.4
MIN_NEAR: Final = 0.25
MIN_VERY_NEAR: Final = 0.55
MIN_NAMED: Final = 0.1  # of what ended and shares a word
MIN_FORGOTTEN: Final = 0.25
MIN_POSSIBLE: Final = 0.15  # … of what could be meant beside it, so that the person is asked
MAX_BEHIND: Final = 0.15  # of a fact that is about as near to a wish to forget as the nearest one
MIN_NUMBER: Final = 5  # digits of a number that says by itself what a fact is about

# Words that add: what is said with them replaces nothing.
_ALSO: Final = re.compile(
    r"\b(?:also|too|as well|another|second|auch|noch ein\w*|zusätzlich|aussi|également|también|otr[oa]|también|outr[oa]|"
    r"anche|un altr[oa]|pure|ook|też|także|również|тоже|также|ещё|еще|ayrıca|أيضا|أيضًا)\b"
    r"|[也还還另又]|[ぁ-んァ-ヶ一-龠]も|[가-힣]도(?:\s|$)|ด้วย|อีก",
    re.IGNORECASE,
)
# Of a kind of thing there is one favourite.
_FAVOURITE: Final = re.compile(
    r"\b(?:favou?rit|liebling|préféré|prefer[ei]d|preferit|lieveling|ulubion|любим)\w*|en sevdiğim|\w*مفضل\w*|"
    r"最喜[欢歡]|最爱|最愛|一番好き|(?:제일|가장) 좋아\w*|ชอบที่สุด|โปรด",
    re.IGNORECASE,
)
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
class JudgedFact:
    """A known fact, and what the probes say of it."""

    fact: KnownFact
    clause: Clause


@dataclass(frozen=True, slots=True)
class Likeness:
    """It says what a clause and a known fact have in common."""

    topic: int  # the index of the topic in ``TOPICS`` that both have with the greatest probability
    topic_share: float  # that probability
    nearness: float  # the cosine without what all statements share
    has_word: bool  # a word with content

    @property
    def is_single(self) -> bool:
        return self.topic < len(SINGLE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wish to forget may mean this fact. One that isn't ``is_sure`` is only a second choice."""

    id: str
    text: str
    nearness: float
    is_sure: bool


def decide_operations(
    clauses: Sequence[Clause],
    known_facts: Sequence[JudgedFact],
    center: Floats,
    latest: Sequence[str] = (),
) -> list[Operation]:
    """Return the operations for the clauses of a turn, in their order.

    ``center`` is what all statements share, and ``latest`` are the ids of what the last turn stored: what "don't remember
    that" means.
    """
    return [
        operation
        for clause in clauses
        if (operation := _decide(clause, known_facts, center, latest))
    ]


def _decide(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats, latest: Sequence[str]
) -> Operation | None:
    if clause.is_forget:
        return _decide_to_forget(clause, known_facts, center, latest)
    targets = list_replaced(clause, known_facts, center)
    action = Action.REPLACE if targets else Action.ADD
    return Operation(action, clause.text, targets, clause.text)


def _decide_to_forget(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats, latest: Sequence[str]
) -> Operation | None:
    """Forget what is meant. If two things could be meant, the person is asked, and nothing is forgotten."""
    candidates = list_candidates(clause, known_facts, center)
    if not candidates:
        targets = tuple(latest)
        return Operation(Action.FORGET, targets=targets, evidence=clause.text) if targets else None
    if _ALL.search(clause.text):
        selection, is_clear = candidates, True
    else:
        selection = choose_candidates(clause, candidates)
        first = selection[0].text
        is_clear = all(shares_value(clause.text, first, fact.text) for fact in selection[1:])
    action = Action.FORGET if is_clear else Action.ASK
    facts = [judgement.fact for judgement in known_facts]
    evidence = list_evidence(selection, facts) if is_clear else []
    targets = (*(fact.id for fact in selection), *(fact.id for fact in evidence))
    return Operation(action, targets=targets, evidence=clause.text)


def list_replaced(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> tuple[str, ...]:
    """Return the ids of the known facts whose place the clause takes."""
    if clause.past >= MAX_PAST and clause.changed + clause.ended < MIN_CHANGED:
        return ()
    if clause.ended < MIN_SURE_CHANGE and _ALSO.search(clause.text):
        return ()
    matches = []
    for judgement in known_facts:
        if judgement.fact.text != clause.text:
            likeness = compare(clause, judgement.clause, center)
            if _replaces(clause, judgement.clause, likeness):
                matches.append((likeness, judgement.fact.id))
    if not matches:
        return ()
    if all(likeness.is_single for likeness, _id in matches):
        return tuple(target for _likeness, target in matches)
    # Of several values only the one that is meant: the nearest.
    return (max(matches, key=lambda pair: (pair[0].has_word, pair[0].nearness))[1],)


def _replaces(clause: Clause, fact: Clause, likeness: Likeness) -> bool:
    same_topic = likeness.topic_share >= MIN_TOPIC
    if _is_same_favourite(clause.text, fact.text):
        return True
    if not _is_same_person(clause, fact, likeness):
        return False
    if clause.ended >= MIN_CHANGED and clause.ended >= clause.changed:
        return _ends(clause, likeness, same_topic=same_topic)
    if same_topic and likeness.is_single:
        return clause.changed >= MIN_CHANGED or likeness.nearness >= MIN_NEAR
    if clause.changed >= MIN_CHANGED:
        is_sure = clause.changed >= MIN_SURE_CHANGE or likeness.has_word
        least = MIN_NEAR if is_sure else MIN_VERY_NEAR
        return likeness.nearness >= (least if same_topic else MIN_VERY_NEAR)
    return False


def _is_same_favourite(text: str, fact: str) -> bool:
    """Return whether both name the favourite of the same kind of thing."""
    if not (_FAVOURITE.search(text) and _FAVOURITE.search(fact)):
        return False
    return shares_word(_FAVOURITE.sub(" ", text), _FAVOURITE.sub(" ", fact))


def _ends(clause: Clause, likeness: Likeness, *, same_topic: bool) -> bool:
    """Return whether what is no longer so is the known fact: it speaks of it by a word, or is near."""
    if likeness.has_word:
        return same_topic or likeness.nearness >= MIN_NAMED
    if likeness.is_single:
        return same_topic and likeness.nearness >= MIN_VERY_NEAR
    return same_topic and (likeness.nearness >= MIN_NEAR or TOPICS[likeness.topic] in SHARED)


def _is_same_person(clause: Clause, fact: Clause, likeness: Likeness) -> bool:
    """Return whether both are about the speaker, or about the same other person or thing, by its word."""
    if min(clause.is_of_speaker, fact.is_of_speaker) >= MIN_SPEAKER:
        return True
    if TOPICS[likeness.topic] in SHARED and likeness.topic_share >= MIN_TOPIC:
        return True
    difference = abs(clause.is_of_speaker - fact.is_of_speaker)
    return likeness.has_word and difference <= MAX_DIFFERENCE


def contradicts(clause: Clause, fact: Clause, center: Floats) -> bool:
    """Return whether both can't be so at once: they say something else about what a person has one of.

    Which of them holds can't be told from it, so that a person is asked.
    """
    if max(clause.past, fact.past) >= MAX_PAST or clause.attribute is not fact.attribute:
        return False
    if _ALSO.search(clause.text) or _ALSO.search(fact.text):
        return False
    likeness = compare(clause, fact, center)
    is_topic = likeness.is_single and likeness.topic_share >= MIN_SURE_TOPIC
    is_near = likeness.nearness >= MIN_POSSIBLE
    return is_topic and is_near and _is_same_person(clause, fact, likeness)


def list_candidates(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> list[Candidate]:
    """Return the known facts that a wish to forget may mean, the nearest first."""
    candidates = []
    for judgement in known_facts:
        likeness = compare(clause, judgement.clause, center)
        is_same_topic = likeness.topic_share >= MIN_TOPIC
        is_same = is_same_topic and _is_same_person(clause, judgement.clause, likeness)
        is_near = likeness.nearness >= MIN_POSSIBLE and (is_same or likeness.has_word)
        is_only_one = is_same and likeness.is_single
        if is_near or is_only_one:
            is_sure = likeness.nearness >= MIN_FORGOTTEN or is_only_one
            fact = judgement.fact
            candidates.append(Candidate(fact.id, fact.text, likeness.nearness, is_sure=is_sure))
    candidates.sort(key=lambda fact: (-fact.nearness, fact.id))
    return candidates if any(fact.is_sure for fact in candidates) else []


def choose_candidates(clause: Clause, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the facts that are meant: those about as near as the nearest, and others that say the same.

    Of facts that are equally near, those with most of the words of the wish are meant: "my sister Anna".
    """
    words = _list_words(clause.text)
    nearest = [fact for fact in candidates if fact.nearness >= candidates[0].nearness - MAX_BEHIND]
    word_counts = {fact.id: len(words & _list_words(fact.text)) for fact in nearest}
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


def compare(clause: Clause, fact: Clause, center: Floats) -> Likeness:
    products = clause.topics * fact.topics
    topic = int(products.argmax())
    first, second = clause.vector - center, fact.vector - center
    lengths = float((first @ first) * (second @ second)) ** 0.5
    nearness = float(first @ second) / lengths if lengths else 0.0
    return Likeness(topic, float(products[topic]), nearness, shares_word(clause.text, fact.text))


def shares_word(text: str, other: str) -> bool:
    """Return whether both texts have a word with content in common."""
    return not _list_words(text).isdisjoint(_list_words(other))


def _list_words(text: str) -> frozenset[str]:
    terms = parse_query(text).content_weights.items()
    return frozenset(term for term, weight in terms if weight >= 1 and term not in LIGHT_WORDS)
