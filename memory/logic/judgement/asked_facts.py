"""Tell from a question which facts about a person it asks for: "Where do I live?" asks for the home, however it was told."""

from collections.abc import Mapping, Sequence
from typing import Final

from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import TOPICS, Kind
from memory.logic.judgement.related_entries import ATTRIBUTE


MIN_TOPIC: Final = 0.6  # probability
MIN_SPEAKER: Final = 0.5  # … that the question is about the speaker
MAX_FACTS: Final = 3  # that are added to the hits


def build_fact_query(judge: Judge, query: MemoryQuery) -> MemoryQuery | None:
    """Return the query for the newest facts about what the text asks for, or None if it asks for nothing of the kind."""
    text = (query.query_text or "").strip()
    if not text or query.key is not None:
        return None
    (clause,) = judge.judge_texts([text])
    topic = int(clause.topics.argmax())
    if clause.kind is not Kind.QUESTION or clause.is_of_speaker < MIN_SPEAKER:
        return None
    if float(clause.topics[topic]) < MIN_TOPIC:
        return None
    on_topic: Mapping[str, Json] = {ATTRIBUTE: {"$in": sorted(TOPICS[topic])}}
    condition = {"$and": [query.filter, on_topic]} if query.filter else on_topic
    limit = MAX_FACTS if query.top_k is None else min(query.top_k, MAX_FACTS)
    return MemoryQuery(
        query.namespace, filter=condition, top_k=limit, valid_at=query.valid_at,
        include_former=query.include_former, for_prompt=query.for_prompt,
    )  # fmt: skip


def add_facts(
    hits: Sequence[MemoryEntry], facts: Sequence[MemoryEntry], top_k: int | None
) -> list[MemoryEntry]:
    """Return the hits and the facts, which take the last places if there is no room for more."""
    ids = {hit.id for hit in hits}
    more = [fact for fact in facts if fact.id not in ids]
    first_hits = [*hits] if top_k is None else [*hits][: max(top_k - len(more), 0)]
    return [*first_hits, *more]
