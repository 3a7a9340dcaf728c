"""Tell from a question which facts about a person it asks for: "Where do I live?" asks for the home, however it was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.core.recall.floor import ABOUT, ATTRIBUTE
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import ASKING, SINGLE, TOPICS, About, Kind
from memory.logic.judgement.likeness import compute_cosine
from memory.logic.judgement.turns import Clause


MIN_TOPIC: Final = 0.6  # probability
MIN_SURE_TOPIC: Final = 0.8  # … for which a fact comes first
MIN_SPEAKER: Final = 0.5  # … that the question is about the speaker
MIN_CONCERN: Final = 0.5  # … that it concerns the speaker at all
MIN_FORMER: Final = 0.55  # … that a question asks for what stopped holding; `python -m bench.judgement` prints the shares
MAX_FACTS: Final = 3  # that are added to the hits
# Who asks one of these asks for whatever is known about them, and so does who asks something that near, in any language.
ABOUT_EVERYTHING: Final = (
    "What do you know about me?",
    "Tell me everything that you remember about me.",
)
MIN_ABOUT_EVERYTHING: Final = 0.6  # cosine; "What do you know about Peru?" has 0.42
MIN_SPEAKER_OF_EVERYTHING: Final = 0.8
MAX_TOPIC_OF_EVERYTHING: Final = 0.4  # "What do you think of me?" has a topic
MAX_ALL_FACTS: Final = 10  # without a limit of the query
# The part, instead of a score, of an entry that was recalled because the question asks for what it is about.
TOPIC_PART: Final = "topic"


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """The query for the newest facts about what a question asks for; it ``is_sure`` if a person has one of the kind."""

    query: MemoryQuery
    is_sure: bool


def find_asked_facts(judge: Judge, query: MemoryQuery) -> AskedFacts | None:
    """Return the query for the facts that the text asks for, or None if it asks for nothing of the kind."""
    text = (query.query_text or "").strip()
    if not text or query.key is not None:
        return None
    (clause,) = judge.judge_texts([text])
    if _asks_for_everything(judge, clause):
        return AskedFacts(_build_query(query, {ATTRIBUTE: {"$exists": True}}, MAX_ALL_FACTS), True)
    topic = int(clause.topics.argmax())
    certainty = float(clause.topics[topic])
    if clause.kind is not Kind.QUESTION or certainty < MIN_TOPIC:
        return None
    if clause.is_of_speaker < MIN_SPEAKER or clause.concern < MIN_CONCERN:
        return None
    on_topic: Mapping[str, Json] = {
        ATTRIBUTE: {"$in": sorted(TOPICS[topic])}, ABOUT: {"$ne": str(About.OTHER)}
    }  # fmt: skip
    fact_query = _build_query(query, on_topic, MAX_FACTS)
    return AskedFacts(fact_query, topic < len(SINGLE) and certainty >= MIN_SURE_TOPIC)


def _asks_for_everything(judge: Judge, clause: Clause) -> bool:
    """Return whether the clause asks for whatever is known about the person: "What do you remember about me?"."""
    if clause.kind not in ASKING or clause.concern < MIN_CONCERN:
        return False
    is_of_speaker = clause.is_of_speaker >= MIN_SPEAKER_OF_EVERYTHING
    if not is_of_speaker or clause.topics.max() > MAX_TOPIC_OF_EVERYTHING:
        return False
    examples = judge.judge_texts(ABOUT_EVERYTHING)
    nearest = max(compute_cosine(clause.vector, example.vector) for example in examples)
    return nearest >= MIN_ABOUT_EVERYTHING


def _build_query(query: MemoryQuery, condition: Mapping[str, Json], most: int) -> MemoryQuery:
    """Return the query for the newest facts that meet the condition, at most so many."""
    return MemoryQuery(
        query.namespace,
        filter={"$and": [query.filter, condition]} if query.filter else condition,
        top_k=most if query.top_k is None else min(query.top_k, most),
        valid_at=query.valid_at,
        include_former=query.include_former,
        for_prompt=query.for_prompt,
        by_topic=True,
    )


def asks_about_past(judge: Judge, query: MemoryQuery) -> bool:
    """Return whether the text asks for what stopped holding: "Where did I live before?", but not "Where was I born?".

    A query that names the moment itself asks about no other one. ``concern`` is known already.
    """
    if query.valid_at is not None or query.as_of is not None:
        return False
    (clause,) = judge.judge_texts([(query.query_text or "").strip()])
    concerns_person = query.concern is None or query.concern >= MIN_CONCERN
    return clause.kind in ASKING and concerns_person and clause.former >= MIN_FORMER


def name_reason(query: MemoryQuery, entries: list[MemoryEntry]) -> list[MemoryEntry]:
    """Return the entries, with the reason for which they were found if that is their topic."""
    return [*map(_add_reason, entries)] if query.by_topic else entries


def add_facts(
    hits: Sequence[MemoryEntry],
    facts: Sequence[MemoryEntry],
    *,
    come_first: bool = False,
) -> list[MemoryEntry]:
    """Return the hits and the facts, which come after them or else before them."""
    fact_ids, hit_ids = ({entry.id for entry in entries} for entries in (facts, hits))
    more = [fact for fact in facts if fact.id not in hit_ids]
    hits = [_add_reason(hit) if hit.id in fact_ids else hit for hit in hits]
    if not come_first:
        return [*hits, *more]
    asked_hits = [hit for hit in hits if hit.id in fact_ids]
    other_hits = [hit for hit in hits if hit.id not in fact_ids]
    return [*asked_hits, *more, *other_hits]


def _add_reason(entry: MemoryEntry) -> MemoryEntry:
    return replace(entry, explain={**entry.explain, TOPIC_PART: 1.0})
