"""From a question to entries: the rows of its terms, the sums, and whole entries for the answer alone."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection

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
from memory.providers.postgres.filters import narrowed
from memory.providers.postgres.postings import REGISTER
from memory.providers.postgres.scoring import (
    Block,
    Flags,
    Floats,
    Ints,
    Register,
    Scored,
    final,
    read_register,
    score,
)


QUERIES: Final = read_queries("memory/sql/queries/search.sql")


def has_postings_for(query: MemoryQuery) -> bool:
    """Postings are in one language; what is asked in another is ranked over the texts."""
    return query.language == DEFAULT_LANGUAGE or not has_latin_words(query.query_text or "")


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    asked = parse_question(query.query_text or "", query.language)
    postings, over = _postings(namespace, asked, now)
    only = _passing(namespace, query, now) if query.filter else None
    register = read_register(postings.pop(REGISTER, []), only=only, without=over)
    meaning = query.meaning
    near = vectors.near(namespace, meaning, only=only, without=over) if meaning else None
    sums = score(asked, postings, register, near)
    literal = _literal(namespace, asked, sums.readable)
    hits = _hits(sums, register, literal)
    if query.recency_days is not None:
        hits.recency = _recency(namespace, query.recency_days, hits.slots, now)
    return _answered(namespace, query, sums, hits)


@dataclass(slots=True)
class _Hits:
    slots: Ints
    literal: Flags
    recency: Floats | None = None


def _postings(
    namespace: Namespace, asked: Question, now: datetime
) -> tuple[dict[str, list[Block]], list[int]]:
    terms = [REGISTER, *asked.terms]
    postings: dict[str, list[Block]] = defaultdict(list)
    over = []
    for term, block, packed in _rows(QUERIES["postings"], namespace.pk, terms, namespace.pk, now):
        if term is None:
            over.append(block)
        else:
            postings[term].append((block, packed))
    return dict(postings), over


def _passing(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[int]:
    passing = narrowed(rows.find_visible(namespace, now), parse_filter(query.filter))
    numbers = passing.values_list("number", flat=True)
    return [number for number in numbers if number is not None]


def _literal(namespace: Namespace, asked: Question, readable: list[int]) -> set[int]:
    if not readable or not asked.needle:
        return set()
    texts = _rows(QUERIES["texts"], namespace.pk, _list(readable))
    return {number for number, text in texts if asked.is_in(text)}


def _hits(sums: Scored, register: Register, literal: set[int]) -> _Hits:
    flags = np.zeros(len(register.visible), dtype=bool)
    flags[np.fromiter(literal, dtype=np.int64)] = True
    slots = np.flatnonzero(register.visible & ((sums.total > 0) | flags))
    return _Hits(slots, flags[slots])


def _recency(namespace: Namespace, half_life: float, slots: Ints, now: datetime) -> Floats:
    times = dict(_rows(QUERIES["update_times"], namespace.pk))
    found = [
        compute_recency(times[slot], now, half_life) if slot in times else 0.0
        for slot in slots.tolist()
    ]
    return np.array(found, dtype=np.float64)


def _answered(
    namespace: Namespace, query: MemoryQuery, sums: Scored, hits: _Hits
) -> list[MemoryEntry]:
    scores = final(sums, hits.slots, hits.literal, hits.recency)
    chosen, crowd = _chosen(namespace, hits.slots, scores, query.top_k)
    entries, found = {}, []
    for row in rows.find_by_numbers(namespace, chosen):
        number = row.number or 0
        n = int(np.searchsorted(hits.slots, number))
        recency = None if hits.recency is None else float(hits.recency[n])
        parts = sums.of(number, literal=bool(hits.literal[n]), recency=recency).explain(sums.by)
        entry = rows.build_entry(row, namespace.text)
        entries[entry.id] = entry
        look = row.text[:MAX_EXCERPT_LENGTH]
        found.append(
            RankedEntry(entry.id, float(scores[n]), explain_hit(query, parts), row.updated_at, look)
        )
    return [add_score(entries[hit.id], hit) for hit in sort_hits(query, found, crowd=crowd)]


def _chosen(
    namespace: Namespace, slots: Ints, scores: Floats, top_k: int | None
) -> tuple[set[int], float | None]:
    """The slots among which the answer is, and the score of those too many to be compared."""
    if top_k is None or len(slots) <= top_k:
        return set(slots.tolist()), None
    if not top_k:
        return set(), None
    last = float(np.partition(scores, -top_k)[-top_k])
    above, equal = slots[scores > last].tolist(), slots[scores == last].tolist()
    if len(equal) <= MAX_TIES_COMPARED:
        return {*above, *equal}, None
    newest = _rows(QUERIES["newest_of"], namespace.pk, _list(equal), top_k - len(above))
    return {*above, *(number for (number,) in newest)}, last


def whole(namespace: Namespace, found: Sequence[RankedEntry]) -> list[MemoryEntry]:
    """The entries of an answer, with their scores."""
    entries = rows.find_living(namespace).in_bulk([UUID(hit.id) for hit in found])
    return [
        add_score(rows.build_entry(entries[UUID(hit.id)], namespace.text), hit)
        for hit in found
        if UUID(hit.id) in entries  # forgotten by somebody in between
    ]


def _list(numbers: Sequence[int]) -> str:
    """Numbers travel as one text: a thousand cost as much as one."""
    return ",".join(map(str, numbers))


def _rows(sql: str, *params: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[Any] = cursor.fetchall()
    return found
