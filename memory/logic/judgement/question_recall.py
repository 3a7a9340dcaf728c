"""Recall for a question: what matches it, the fact that it asks for and, if it asks about the past, what no longer holds."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from memory.core.recall.floor import build_found
from memory.core.recall.selection import is_former
from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.judgement.asked_facts import add_facts, asks_about_past, find_asked_facts
from memory.logic.judgement.concern import measure_concern
from memory.logic.judgement.judge import Judge


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
    query = replace(query, concern=measure_concern(judge, query, scope))
    is_about_past = finds_former and asks_about_past(judge, query)
    if is_about_past:
        query = replace(query, include_former=True)
    hits = recall(query)
    if getattr(hits, "withheld", None):
        return hits
    entries = [*hits]
    if asked := find_asked_facts(judge, query):
        come_first = asked.is_sure and (is_about_past or not query.include_former)
        entries = add_facts(hits, recall(asked.query), come_first=come_first)
    if is_about_past:
        moment = now()
        entries.sort(key=lambda entry: not is_former(entry, moment))  # stable
    return build_found(entries[: query.top_k], getattr(hits, "left_out", ()))
