"""A search in one namespace: it reads the rows of the query's terms, sums their scores, and loads whole entries only
for the results.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np

from config.sql import read_queries
from memory.core.filters import parse_filter
from memory.core.recall.literal_match import Question, parse_question
from memory.core.recall.scoring import compute_recency
from memory.core.recall.selection import (
    MAX_EXCERPT_LENGTH,
    MAX_TIES_COMPARED,
    RankedEntry,
    add_score,
    explain_hit,
    sort_hits,
)
from memory.core.recall.tokens import DEFAULT_LANGUAGE, has_latin_words
from memory.core.records import MemoryEntry, MemoryQuery
from memory.models import Namespace
from memory.providers.postgres import rows, vectors
from memory.providers.postgres.filters import apply_filter
from memory.providers.postgres.fixed_queries import fetch_rows
from memory.providers.postgres.postings import REGISTER
from memory.providers.postgres.scoring import (
    Block,
    Flags,
    Floats,
    Ints,
    Register,
    SlotScores,
    compute_final_scores,
    read_register,
    score_slots,
)


QUERIES: Final = read_queries("memory/sql/queries/search.sql")


def has_postings_for(query: MemoryQuery) -> bool:
    """Return whether postings can answer the query: they are in one language, others are ranked over the texts."""
    return query.language == DEFAULT_LANGUAGE or not has_latin_words(query.query_text or "")


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """Return the living entries that match the query's text, best first, each with its score."""
    text_query = parse_question(query.query_text or "", query.language)
    postings, expired = _load_postings(namespace, text_query, now)
    only = _list_matching_numbers(namespace, query, now) if query.filter else None
    register = read_register(postings.pop(REGISTER, []), only=only, without=expired)
    similarity = vectors.compute_similarity(namespace, query.meaning, only=only, without=expired)
    sums = score_slots(text_query, postings, register, similarity)
    literal = _find_literal_matches(namespace, text_query, sums.readable)
    hits = _collect_hits(sums, register, literal)
    if query.recency_days is not None:
        hits.recency = _compute_recency(namespace, query.recency_days, hits.slots, now)
    return _build_answer(namespace, query, sums, hits)


@dataclass(slots=True)
class _Hits:
    slots: Ints
    literal: Flags
    recency: Floats | None = None


def _load_postings(
    namespace: Namespace, text_query: Question, now: datetime
) -> tuple[dict[str, list[Block]], list[int]]:
    terms = [REGISTER, *text_query.terms]
    postings: dict[str, list[Block]] = defaultdict(list)
    expired = []
    params = (namespace.pk, terms, namespace.pk, now)
    for term, block, block_bytes in fetch_rows(QUERIES["postings"], params):
        if term is None:
            expired.append(block)
        else:
            postings[term].append((block, block_bytes))
    return dict(postings), expired


def _list_matching_numbers(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[int]:
    matches = apply_filter(rows.find_visible(namespace, now), parse_filter(query.filter))
    numbers = matches.values_list("number", flat=True)
    return [number for number in numbers if number is not None]


def _find_literal_matches(
    namespace: Namespace, text_query: Question, readable: list[int]
) -> set[int]:
    if not readable or not text_query.needle:
        return set()
    texts = fetch_rows(QUERIES["texts"], (namespace.pk, _join_numbers(readable)))
    return {number for number, text in texts if text_query.is_in(text)}


def _collect_hits(sums: SlotScores, register: Register, literal: set[int]) -> _Hits:
    flags = np.zeros(len(register.visible), dtype=bool)
    flags[np.fromiter(literal, dtype=np.int64)] = True
    slots = np.flatnonzero(register.visible & ((sums.total > 0) | flags))
    return _Hits(slots, flags[slots])


def _compute_recency(namespace: Namespace, half_life: float, slots: Ints, now: datetime) -> Floats:
    times = dict(fetch_rows(QUERIES["update_times"], [namespace.pk]))
    numbers = slots.tolist()
    values = [compute_recency(times[n], now, half_life) if n in times else 0.0 for n in numbers]
    return np.array(values, dtype=np.float64)


def _build_answer(
    namespace: Namespace, query: MemoryQuery, sums: SlotScores, hits: _Hits
) -> list[MemoryEntry]:
    scores = compute_final_scores(sums, hits.slots, hits.literal, hits.recency)
    numbers, crowd = _select_slots(namespace, hits.slots, scores, query.top_k)
    entries, results = {}, []
    for row in rows.find_by_numbers(namespace, numbers):
        number = row.number or 0
        index = int(np.searchsorted(hits.slots, number))
        recency = None if hits.recency is None else float(hits.recency[index])
        literal, score = bool(hits.literal[index]), float(scores[index])
        parts = sums.explain(number, literal=literal, recency=recency)
        entry = rows.build_entry(row, namespace.text)
        entries[entry.id] = entry
        reasons, excerpt = explain_hit(query, parts), row.text[:MAX_EXCERPT_LENGTH]
        results.append(RankedEntry(entry.id, score, reasons, row.updated_at, excerpt))
    return [add_score(entries[hit.id], hit) for hit in sort_hits(query, results, crowd=crowd)]


def _select_slots(
    namespace: Namespace, slots: Ints, scores: Floats, top_k: int | None
) -> tuple[set[int], float | None]:
    """Return the slots that contain the answer, and the score, if any, that too many of them share to be compared."""
    if top_k is None or len(slots) <= top_k:
        return set(slots.tolist()), None
    if not top_k:
        return set(), None
    last = float(np.partition(scores, -top_k)[-top_k])
    above, equal = slots[scores > last].tolist(), slots[scores == last].tolist()
    if len(equal) <= MAX_TIES_COMPARED:
        return {*above, *equal}, None
    params = (namespace.pk, _join_numbers(equal), top_k - len(above))
    newest = fetch_rows(QUERIES["newest_of"], params)
    return {*above, *(number for (number,) in newest)}, last


def load_hits(namespace: Namespace, hits: Sequence[RankedEntry]) -> list[MemoryEntry]:
    """Load the entries of an answer, with their scores."""
    entries = rows.find_living(namespace).in_bulk([UUID(hit.id) for hit in hits])
    return [
        add_score(rows.build_entry(entries[UUID(hit.id)], namespace.text), hit)
        for hit in hits
        if UUID(hit.id) in entries  # otherwise the entry has been forgotten since
    ]


def _join_numbers(numbers: Sequence[int]) -> str:
    """Join numbers to one text with commas: a thousand of them then cost as much as one parameter."""
    return ",".join(map(str, numbers))
