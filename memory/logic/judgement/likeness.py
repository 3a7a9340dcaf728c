"""What a clause and a known fact have in common: their topic, their person, words, and how near they are."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory.core.recall.tokens import LIGHT_WORDS, parse_query
from memory.logic.judgement.labels import SHARED, SINGLE, TOPICS
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.trained.light_terms import LIGHT_TERMS
from memory.logic.judgement.turns import Clause


# Probabilities; `python -m bench.judgement` prints what they decide.
MIN_TOPIC: Final = 0.15  # that two statements have the same topic
MIN_SPEAKER: Final = 0.6  # that a statement is about the speaker
MAX_DIFFERENCE: Final = 0.3  # of that probability, between statements about the same person
_LIGHT: Final = LIGHT_WORDS | LIGHT_TERMS


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


def compare(clause: Clause, fact: Clause, center: Floats) -> Likeness:
    products = clause.topics * fact.topics
    topic = int(products.argmax())
    nearness = compute_cosine(clause.vector - center, fact.vector - center)
    return Likeness(topic, float(products[topic]), nearness, shares_word(clause.text, fact.text))


def compute_cosine(first: Floats, second: Floats) -> float:
    """Return the cosine of two vectors, or 0 if one of them has no direction."""
    lengths = float((first @ first) * (second @ second)) ** 0.5
    return float(first @ second) / lengths if lengths else 0.0


def shares_word(text: str, other: str) -> bool:
    """Return whether both texts have a word with content in common."""
    return not list_words(text).isdisjoint(list_words(other))


@lru_cache(maxsize=4_096)
def list_words(text: str) -> frozenset[str]:
    terms = parse_query(text).content_weights.items()
    return frozenset(term for term, weight in terms if weight >= 1 and term not in _LIGHT)


def is_same_person(
    clause: Clause, fact: Clause, likeness: Likeness, min_speaker: float = MIN_SPEAKER
) -> bool:
    """Return whether both are about the speaker, or about the same other person or thing, by its word."""
    if min(clause.is_of_speaker, fact.is_of_speaker) >= min_speaker:
        return True
    if TOPICS[likeness.topic] in SHARED and likeness.topic_share >= MIN_TOPIC:
        return True
    difference = abs(clause.is_of_speaker - fact.is_of_speaker)
    return likeness.has_word and difference <= MAX_DIFFERENCE
