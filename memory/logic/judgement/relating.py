"""Relate what was said to what is known: the same, an addition, a replacement, an end, or something to be forgotten.

A wrong retirement is worse than two entries, so whatever can't be told apart stays. Nothing is retired that the turn
didn't speak of: a known fact is replaced only by one about the same topic of the same person.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from memory.logic.judgement.forgetting import decide_to_forget
from memory.logic.judgement.labels import SHARED, SINGLE, TOPICS
from memory.logic.judgement.likeness import (
    MIN_TOPIC,
    JudgedFact,
    Likeness,
    compare,
    is_same_person,
    shares_word,
)
from memory.logic.judgement.operations import Action, Operation
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.turns import Clause
from memory.logic.judgement.wishes.candidates import MIN_POSSIBLE


# Probabilities and cosines of centered vectors; `python -m bench.judgement` prints what they decide.
MIN_SURE_TOPIC: Final = 0.5  # that two statements have the same topic, so that both can't be true
MIN_CHANGED: Final = 0.3  # that something changed or ended
MIN_ENDED: Final = 0.4  # … that it ended, which may be any of several things with a common word
MIN_SURE_CHANGE: Final = 0.5
MAX_PAST: Final = 0.4
MIN_NEAR: Final = 0.25
MIN_VERY_NEAR: Final = 0.55
MIN_NEAR_END: Final = 0.5  # of what ended without a word of it
# That a statement without a word of change says the other value of what a person has one of.
MIN_OTHER_VALUE_TOPIC: Final = 0.35
MIN_OTHER_VALUE_NEAR: Final = 0.35
MIN_NAMED: Final = 0.1  # of what ended and shares a word

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


def decide_operations(
    clauses: Sequence[Clause],
    known_facts: Sequence[JudgedFact],
    center: Floats,
    latest: Sequence[str] = (),
    everything: Sequence[str] = (),
) -> list[Operation]:
    """Return the operations for the clauses of a turn, in their order.

    ``center`` is what all statements share, and ``latest`` are the ids of what the last turn stored: what "don't remember
    that" means. ``everything`` are those of all facts. What stopped holding can only be forgotten.
    """
    current_facts = [judgement for judgement in known_facts if not judgement.fact.is_former]
    operations: list[Operation] = []
    for clause in clauses:
        if clause.is_forget:
            operations += decide_to_forget(clause, known_facts, center, latest, everything)
        else:
            operations.append(_decide(clause, current_facts, center))
    return operations


def may_concern_known(clause: Clause) -> bool:
    """Return whether any known fact could be forgotten or replaced for the clause, which has to be compared with all then."""
    if clause.is_forget:
        return True
    if _replaces_nothing(clause):
        return False
    is_change = max(clause.changed, clause.ended) >= MIN_CHANGED
    if is_change or _names_favourite(clause.text):
        return True
    return float(clause.topics[: len(SINGLE)].max()) >= MIN_OTHER_VALUE_TOPIC


def _decide(clause: Clause, known_facts: Sequence[JudgedFact], center: Floats) -> Operation:
    targets = list_replaced(clause, known_facts, center)
    action = Action.REPLACE if targets else Action.ADD
    return Operation(action, clause.text, targets, clause.text)


def list_replaced(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> tuple[str, ...]:
    """Return the ids of the known facts whose place the clause takes."""
    if _replaces_nothing(clause):
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


def _replaces_nothing(clause: Clause) -> bool:
    """Return whether the clause tells of the past, or adds to what is known, whatever that is."""
    is_past_first = clause.past >= max(clause.changed, clause.ended)
    if clause.past >= MAX_PAST and (is_past_first or clause.changed + clause.ended < MIN_CHANGED):
        return True
    return clause.ended < MIN_SURE_CHANGE and _adds(clause.text)


def _replaces(clause: Clause, fact: Clause, likeness: Likeness) -> bool:
    same_topic = likeness.topic_share >= MIN_TOPIC
    if _is_same_favourite(clause.text, fact.text):
        return True
    if not is_same_person(clause, fact, likeness):
        return False
    if clause.ended >= MIN_ENDED and clause.ended >= clause.changed:
        return _ends(clause, likeness, same_topic=same_topic)
    if same_topic and likeness.is_single:
        return clause.changed >= MIN_CHANGED or _is_other_value(likeness)
    if clause.changed >= MIN_CHANGED:
        # Of several things a new one takes the place of its own kind: a new bicycle isn't instead of the car.
        is_of_kind = same_topic and likeness.has_word
        return likeness.nearness >= (MIN_NEAR if is_of_kind else MIN_VERY_NEAR)
    return False


def _is_other_value(likeness: Likeness) -> bool:
    """Return whether two statements give two values for what a person has one of."""
    is_topic = likeness.topic_share >= MIN_OTHER_VALUE_TOPIC
    return is_topic and likeness.nearness >= MIN_OTHER_VALUE_NEAR


def _is_same_favourite(text: str, fact: str) -> bool:
    """Return whether both name the favourite of the same kind of thing."""
    if not (_names_favourite(text) and _names_favourite(fact)):
        return False
    return shares_word(_FAVOURITE.sub(" ", text), _FAVOURITE.sub(" ", fact))


def _ends(clause: Clause, likeness: Likeness, *, same_topic: bool) -> bool:
    """Return whether what is no longer so is the known fact: it speaks of it by a word, or is near."""
    if likeness.has_word:
        return same_topic or likeness.nearness >= MIN_NAMED
    if likeness.is_single:
        return same_topic and likeness.nearness >= MIN_VERY_NEAR
    return same_topic and (likeness.nearness >= MIN_NEAR_END or TOPICS[likeness.topic] in SHARED)


def may_contradict(clause: Clause) -> bool:
    """Return whether any fact could contradict the clause, which has to be compared with all then."""
    if clause.past >= MAX_PAST or _adds(clause.text):
        return False
    return float(clause.topics[: len(SINGLE)].max()) >= MIN_SURE_TOPIC


def contradicts(clause: Clause, fact: Clause, center: Floats) -> bool:
    """Return whether both can't be so at once: they say something else about what a person has one of.

    Which of them holds can't be told from it, so that a person is asked.
    """
    if max(clause.past, fact.past) >= MAX_PAST or clause.attribute is not fact.attribute:
        return False
    if _adds(clause.text) or _adds(fact.text):
        return False
    likeness = compare(clause, fact, center)
    is_topic = likeness.is_single and likeness.topic_share >= MIN_SURE_TOPIC
    is_near = likeness.nearness >= MIN_POSSIBLE
    return is_topic and is_near and is_same_person(clause, fact, likeness)


# A turn compares each clause with dozens of facts, which are mostly the same from turn to turn.
@lru_cache(maxsize=4_096)
def _adds(text: str) -> bool:
    return _ALSO.search(text) is not None


@lru_cache(maxsize=4_096)
def _names_favourite(text: str) -> bool:
    return _FAVOURITE.search(text) is not None
