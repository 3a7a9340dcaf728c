"""Set the floors of a recall by what the person speaks of: who asks about their marriage doesn't ask for a phone number.

A person has one name, one home and one birthday, which each are asked for by hardly anything but their own questions. Other
facts may bear on a question about something else, so that they need less nearness in meaning, but more the surer it is
what is asked for. `python -m bench.relevance` prints what comes of it.
"""

from collections.abc import Callable
from typing import Final

from memory.core.records import TopicFloors
from memory.logic.judgement.clauses import names_speaker
from memory.logic.judgement.labels import SINGLE, TOPICS, Attribute, Kind
from memory.logic.judgement.likeness import list_words
from memory.logic.judgement.turns import Clause


# Probabilities, and shares of the nearness in meaning.
ON_TOPIC: Final = 0.2  # of the topic of a fact, which needs no more nearness then than any hit
MAX_FAR: Final = 0.1  # … of a topic that the question has little to do with
FAR_FLOOR: Final = 0.6  # of facts of which a person has one, on such a topic
OTHER_FLOOR: Final = 0.2  # of other facts
SURE_FLOOR: Final = 0.28  # … if it were certain what is asked for
MAX_OF_OTHER: Final = 0.25  # that a question about somebody else is about the speaker
STATEMENT_FLOOR: Final = 0.6
# What says something and asks for nothing. Only what is known about the same may bear on it.
STATING: Final = frozenset({Kind.FACT, Kind.INSTRUCTION, Kind.MOMENT})
# Hardly another question is answered by these. What people say about their work is manifold.
ONCE: Final = tuple(topic for topic in SINGLE if Attribute.WORK not in topic)
# A fact about one of these says something about the other: who was born when is so old.
AKIN: Final = (
    frozenset({Attribute.HOME, Attribute.ADDRESS, Attribute.ORIGIN}),
    frozenset({Attribute.AGE, Attribute.BIRTHDAY}),
)

FindFloor = Callable[[Clause, frozenset[Attribute], float], float]


def find_topic_floors(clause: Clause) -> TopicFloors | None:
    """Return the floors for what the text speaks of, or None if it is neither a question nor a statement."""
    find_floor: FindFloor
    if clause.kind in STATING:
        other_floor, find_floor = STATEMENT_FLOOR, _find_floor_of_statement
    elif clause.kind is Kind.QUESTION:
        other_floor, find_floor = _find_other_floor(clause), _find_floor_of_question
    else:
        return None
    by_attribute = {
        str(attribute): find_floor(clause, topic, _measure_share(clause, topic))
        for topic in TOPICS
        for attribute in topic
    }
    words = frozenset(word for word in list_words(clause.text) if not names_speaker(word))
    return TopicFloors(by_attribute, other_floor, words)


def _measure_share(clause: Clause, topic: frozenset[Attribute]) -> float:
    """Return the probability that the clause is about the topic, or about one that is akin to it."""
    akin = next((group for group in AKIN if topic <= group), topic)
    shares = zip(TOPICS, clause.topics, strict=True)
    return sum(float(share) for other, share in shares if other <= akin)


def _find_other_floor(clause: Clause) -> float:
    return max(OTHER_FLOOR, SURE_FLOOR * float(clause.topics.max()))


def _find_floor_of_question(clause: Clause, topic: frozenset[Attribute], share: float) -> float:
    if topic in ONCE and (share < MAX_FAR or clause.is_of_speaker < MAX_OF_OTHER):
        return FAR_FLOOR
    return 0.0 if share >= ON_TOPIC else _find_other_floor(clause)


def _find_floor_of_statement(clause: Clause, topic: frozenset[Attribute], share: float) -> float:
    return 0.0 if share >= ON_TOPIC else STATEMENT_FLOOR
