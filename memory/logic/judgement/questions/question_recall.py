"""Recall for a question: what matches it, the fact that it asks for and, if it asks about the past, what no longer holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory.core.recall.floor import ATTRIBUTE, build_found
from memory.core.recall.selection import is_former
from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.judgement.asked_facts import (
    MIN_CONCERN,
    add_facts,
    asks_about_past,
    find_asked_facts,
)
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import TOPICS, Kind
from memory.logic.judgement.questions.concern import set_floors
from memory.logic.judgement.turns import Clause


# A fact keeps this share of its rank if the question asks for its topic with less than this probability: who asks which
# sport keeps them fit doesn't ask for their employer. `python -m bench.relevance` prints what comes of it.
OTHER_TOPIC_SHARE: Final = 0.7
MIN_TOPIC: Final = 0.03

Recall = Callable[[MemoryQuery], list[MemoryEntry]]


def recall_for_question(
    judge: Judge | None,
    query: MemoryQuery,
    scope: str,
    recall: Recall,
    now: Callable[[], datetime],
    *,
    finds_former: bool = True,
) -> list[MemoryEntry]:
    """Recall what matches the text above its floor and, if it asks for a fact about the person, that fact.

    With ``finds_former``, a question about the past finds former entries too, and they come first.
    """
    if judge is None or not query.is_search:
        return recall(query)
    query = set_floors(judge, query, scope)
    is_about_past = finds_former and asks_about_past(judge, query)
    if is_about_past:
        query = replace(query, include_former=True, topic_floors=None)
    result = recall(query)
    if getattr(result, "withheld", None):
        return result
    entries = hits = _lower_other_topics(judge, query, result)
    if asked := find_asked_facts(judge, query):
        come_first = asked.is_sure and (is_about_past or not query.include_former)
        entries = add_facts(hits, recall(asked.query), come_first=come_first)
    if is_about_past:
        moment = now()
        entries.sort(key=lambda entry: not is_former(entry, moment))  # stable
    return build_found(entries[: query.top_k], getattr(result, "left_out", ()))


def _lower_other_topics(
    judge: Judge, query: MemoryQuery, hits: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Return the hits in the order of their ranks, of which facts on other topics than the question's keep a share."""
    (clause,) = judge.judge_texts([(query.query_text or "").strip()])
    if clause.kind is not Kind.QUESTION or clause.concern < MIN_CONCERN:
        return [*hits]
    lowered = [_lower(hit) if _is_on_other_topic(clause, hit) else hit for hit in hits]
    return sorted(lowered, key=lambda hit: -hit.explain.get("rank", 0.0))  # stable


def _is_on_other_topic(clause: Clause, hit: MemoryEntry) -> bool:
    attribute = hit.metadata.get(ATTRIBUTE)
    if not isinstance(attribute, str):
        return False
    shares = zip(TOPICS, clause.topics.tolist(), strict=True)
    return any(attribute in topic and share < MIN_TOPIC for topic, share in shares)


def _lower(hit: MemoryEntry) -> MemoryEntry:
    parts = {
        name: part * (OTHER_TOPIC_SHARE if name.startswith("rank") else 1.0)
        for name, part in hit.explain.items()
    }
    return replace(hit, explain=parts)
