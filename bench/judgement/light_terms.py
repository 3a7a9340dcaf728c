"""Finds the terms that say little about what a statement is about: those of statements about many different things."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.judgement.sentences import Sentence
from memory.core.recall.tokens import parse_query
from memory.logic.judgement.labels import TOPICS, About, Attribute, Kind
from memory.logic.judgement.trained.light_terms import PATH


MIN_COUNT: Final = 6  # sentences of a language with the term
MIN_FACTS: Final = 3
MIN_TOPICS: Final = 4
MAX_SHARE: Final = 0.45  # of the topic that most of its facts have
MAX_OF_OTHERS: Final = (
    0.5  # of its facts, those about somebody else: "daughter" has content, "my" hasn't
)
# Possessives are mostly in facts about others, too, but in many of them.
MANY: Final = 12
MANY_TOPICS: Final = 6
# Who belongs to somebody is what a statement is about, whatever it says of them.
KIN: Final = (Attribute.PARTNER, Attribute.FAMILY, Attribute.PETS)
TOO_MANY_FOR_KIN: Final = 20


@dataclass
class Uses:
    """How often a language's sentences use a term, and in facts about what."""

    count: int = 0
    topics: Counter[str] = field(default_factory=Counter)
    of_others: int = 0

    @property
    def is_light(self) -> bool:
        facts = self.topics.total()
        if self.count < MIN_COUNT:
            return False
        if facts < MIN_FACTS:
            return self.count >= MANY  # a word of questions and requests
        topic, most = self.topics.most_common(1)[0]
        if topic in KIN and self.count < TOO_MANY_FOR_KIN:
            return False
        if len(self.topics) < MIN_TOPICS or most > MAX_SHARE * facts:
            return False
        is_frequent = self.count >= MANY and len(self.topics) >= MANY_TOPICS
        return is_frequent or self.of_others <= MAX_OF_OTHERS * facts


def list_light_terms(sentences: Sequence[Sentence]) -> list[str]:
    """Return the light terms of all languages, sorted."""
    uses: dict[tuple[str, str], Uses] = defaultdict(Uses)
    for sentence in sentences:
        for term in _list_terms(sentence.text):
            use = uses[sentence.language, term]
            use.count += 1
            if sentence.kind is Kind.FACT:
                use.topics[_name_topic(sentence.attribute)] += 1
                use.of_others += sentence.about is About.OTHER
    return sorted({term for (_language, term), use in uses.items() if use.is_light})


def write_light_terms(terms: Iterable[str]) -> None:
    PATH.write_text("".join(f"{term}\n" for term in terms), encoding="utf-8")


def _list_terms(text: str) -> list[str]:
    """Return the terms that count as words: of scripts without spaces, pairs of characters."""
    return [term for term, weight in parse_query(text).content_weights.items() if weight >= 1]


def _name_topic(attribute: Attribute | None) -> str:
    """Return one name for all attributes of a topic."""
    return next((min(topic) for topic in TOPICS if attribute in topic), str(attribute))
