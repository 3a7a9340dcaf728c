"""Tell from a question which facts about a person it asks for: "Where do I live?" asks for the home, however it was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import SINGLE, TOPICS, About, Kind
from memory.logic.judgement.related_entries import ABOUT, ATTRIBUTE


MIN_TOPIC: Final = 0.6  # probability
MIN_SURE_TOPIC: Final = 0.8  # … for which a fact comes first
MIN_SPEAKER: Final = 0.5  # … that the question is about the speaker
MIN_CONCERN: Final = 0.5  # … that it concerns the speaker at all
MAX_FACTS: Final = 3  # that are added to the hits


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """The query for the newest facts about what a question asks for. They ``come_first`` if a person has one of the kind."""

    query: MemoryQuery
    come_first: bool


def find_asked_facts(judge: Judge, query: MemoryQuery) -> AskedFacts | None:
    """Return the query for the facts that the text asks for, or None if it asks for nothing of the kind."""
    text = (query.query_text or "").strip()
    if not text or query.key is not None:
        return None
    (clause,) = judge.judge_texts([text])
    topic = int(clause.topics.argmax())
    certainty = float(clause.topics[topic])
    if clause.kind is not Kind.QUESTION or certainty < MIN_TOPIC:
        return None
    if clause.is_of_speaker < MIN_SPEAKER or clause.concern < MIN_CONCERN:
        return None
    on_topic: Mapping[str, Json] = {
        ATTRIBUTE: {"$in": sorted(TOPICS[topic])}, ABOUT: {"$ne": str(About.OTHER)}
    }  # fmt: skip
    condition = {"$and": [query.filter, on_topic]} if query.filter else on_topic
    limit = MAX_FACTS if query.top_k is None else min(query.top_k, MAX_FACTS)
    fact_query = MemoryQuery(
        query.namespace, filter=condition, top_k=limit, valid_at=query.valid_at,
        include_former=query.include_former, for_prompt=query.for_prompt,
    )  # fmt: skip
    is_sure = topic < len(SINGLE) and certainty >= MIN_SURE_TOPIC
    return AskedFacts(fact_query, is_sure and not query.include_former)


def add_facts(
    hits: Sequence[MemoryEntry],
    facts: Sequence[MemoryEntry],
    top_k: int | None,
    *,
    come_first: bool = False,
) -> list[MemoryEntry]:
    """Return the hits and the facts, which come after them, as far as there is room, or else before them."""
    fact_ids, hit_ids = ({entry.id for entry in entries} for entries in (facts, hits))
    more = [fact for fact in facts if fact.id not in hit_ids]
    if not come_first:
        return [*hits, *more][:top_k]
    asked_hits = [hit for hit in hits if hit.id in fact_ids]
    other_hits = [hit for hit in hits if hit.id not in fact_ids]
    return [*asked_hits, *more, *other_hits][:top_k]
