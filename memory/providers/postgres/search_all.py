"""A search over many namespaces at once that scores as if all their entries were in one namespace.

Each namespace numbers its entries from 0. Here each namespace gets its own range of slots, and the scores are
computed over all ranges together, so that the rarity of a word and the score of a hit mean the same in every
namespace. Only namespaces with a word of the question or an entry near in meaning are read, or all of them if they have
few entries in sum.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from pgvector import HalfVector

from config.sql import read_queries
from memory.core.folding import fold
from memory.core.recall.literal_match import MAX_TEXTS_READ, Question, parse_question
from memory.core.recall.scoring import ScoreParts
from memory.core.recall.selection import MAX_EXCERPT_LENGTH
from memory.core.recall.similarity import MAX_SIMILAR, compute_nearness
from memory.core.records import QueryEmbedding, get_cosine_range
from memory.models import Entry, Namespace
from memory.providers.postgres.fixed_queries import fetch_rows
from memory.providers.postgres.postings import BLOCK_SIZE, REGISTER
from memory.providers.postgres.scoring import (
    Block,
    Register,
    compute_ranks,
    read_register,
    score_slots,
)


QUERIES: Final = read_queries("memory/sql/queries/search_all.sql")

MAX_QUARANTINED: Final = 1_000
# In more entries, nothing is searched by meaning: every vector would be compared with the query's.
MAX_COMPARED: Final = 50_000
# Some of the nearest entries may be filtered out afterwards.
MAX_NEAREST: Final = 3 * MAX_SIMILAR

Cosines = Mapping[tuple[UUID, int], float]  # by namespace and number


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of the hits, best first: each row with its score and the parts of the score. ``total`` counts all hits."""

    hits: Sequence[tuple[Entry, float, ScoreParts]]
    total: int


EMPTY_PAGE: Final = RankedPage((), 0)


def rank_entries(
    namespaces: QuerySet[Namespace],
    words: str,
    now: datetime,
    *,
    category: str = "",
    tier: str = "",
    min_score: float = 0.0,
    limit: int,
    offset: int,
    meaning: QueryEmbedding | None = None,
    holding_at: datetime | None = None,
    for_prompt: bool = False,
) -> RankedPage:
    """Return a page of the entries that match the words or are near in meaning, best first: all, those that hold at a
    moment, or those that may enter a prompt. The caller has checked the access.
    """
    question = parse_question(words, "english")
    nearest = _find_nearest(namespaces, meaning)
    near_ids = {namespace_id for namespace_id, _ in nearest}
    index = _load_index(namespaces, question, now, near_ids, holding_at, for_prompt=for_prompt)
    if not index.first_slots:
        return EMPTY_PAGE
    matching = index.list_matching_slots(category, tier) if category or tier else None
    register = read_register(index.register, included=matching, excluded=index.excluded)
    cosines = index.select_visible(nearest, register)
    nearness = compute_nearness(cosines, *get_cosine_range(meaning))
    scores = score_slots(question, index.postings, register, nearness)
    literal = np.zeros(len(register.visible), dtype=bool)
    literal[_find_literal_matches(index, question, scores.readable)] = True
    slots = np.flatnonzero(register.visible & (scores.find_matches() | literal))
    if min_score:
        slots = slots[scores.compute_scores(slots, literal[slots]) >= min_score]
    ranks = compute_ranks(scores, slots, literal[slots], None)
    page = np.lexsort((-slots, -ranks)).tolist()[offset : offset + limit]
    entries = index.load_entries([int(slots[position]) for position in page])
    covered = scores.coverage.compute_by_slot(entries)
    hits = []
    for position in page:
        slot = int(slots[position])
        if slot in entries:  # otherwise the entry has just been forgotten
            rank, is_literal = float(ranks[position]), bool(literal[slot])
            score, parts = scores.explain(
                slot, rank, covered[slot], literal=is_literal, recency=None
            )
            hits.append((entries[slot], score, parts))
    return RankedPage(hits, len(slots))


def list_quarantined(
    namespaces: QuerySet[Namespace], words: str, now: datetime, *, category: str = ""
) -> list[UUID]:
    """Return the ids of the quarantined entries that contain every word, newest first. Only the newest
    ``MAX_QUARANTINED`` of each namespace, and of all of them, are searched.
    """
    try:
        sql, ids_params = namespaces.order_by().values("id").query.sql_with_params()
    except EmptyResultSet:
        return []
    limit = MAX_QUARANTINED
    params = (*ids_params, MAX_EXCERPT_LENGTH, now, category, category, limit, limit)
    folded_words = fold(words).split()
    rows = fetch_rows(QUERIES["quarantined"].format(namespaces=sql), params)
    folded_texts = ((entry_id, fold(text)) for entry_id, text in rows)
    return [id_ for id_, text in folded_texts if all(word in text for word in folded_words)]


def build_postings_query(
    namespaces: QuerySet[Namespace],
    question: Question,
    now: datetime,
    near_ids: Set[UUID] = frozenset(),
    holding_at: datetime | None = None,
    *,
    for_prompt: bool = False,
) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL of the query for postings and its parameters. Without a moment, entries need not hold."""
    sql, ids_params = namespaces.order_by().values("id", "entry_count").query.sql_with_params()
    near_params = [[*near_ids]] if near_ids else []
    params = (
        *(*ids_params, [*question.terms, *question.marks], MAX_TEXTS_READ, *near_params),
        *(REGISTER, now, holding_at, holding_at, for_prompt),
    )
    near = QUERIES["near"] if near_ids else ""
    return QUERIES["postings"].format(namespaces=sql, near=near), params


@dataclass(frozen=True, slots=True)
class _SearchIndex:
    """The index data of all searched namespaces. ``first_slots`` has the first slot of each, in the order of their ids.

    ``excluded`` are the slots of entries that have expired, don't hold, or may not enter the prompt.
    """

    first_slots: Mapping[UUID, int]
    register: Sequence[Block]
    postings: Mapping[str, Sequence[Block]]
    excluded: Sequence[int]

    def select_visible(self, nearest: Cosines, register: Register) -> dict[int, float]:
        """Return the cosines of the visible entries, by slot."""
        slots = {
            self.first_slots[namespace_id] + number: cosine
            for (namespace_id, number), cosine in nearest.items()
            if namespace_id in self.first_slots
        }
        return {
            slot: cosine
            for slot, cosine in slots.items()
            if slot < register.sentinel and register.visible[slot]
        }

    def list_matching_slots(self, category: str, tier: str) -> list[int]:
        rows = Entry.objects.unscoped().filter(
            namespace_id__in=[*self.first_slots], deleted_at=None
        )
        conditions = {"category": category, "tier": tier}
        rows = rows.filter(**{name: value for name, value in conditions.items() if value})
        numbered = rows.exclude(number=None).order_by().values_list("namespace_id", "number")
        return [self.first_slots[pk] + (number or 0) for pk, number in numbered]

    def build_slot_params(self, slots: Sequence[int]) -> tuple[str, str, str]:
        """Return the parameters of the query ``by_slots`` for these slots."""
        namespace_ids, first_slots = [*self.first_slots], [*self.first_slots.values()]
        owners = (np.searchsorted(first_slots, slots, side="right") - 1).tolist()
        numbers = [slot - first_slots[n] for n, slot in zip(owners, slots, strict=True)]
        return (
            ",".join(map(str, slots)),
            ",".join(str(namespace_ids[n]) for n in owners),
            ",".join(map(str, numbers)),
        )

    def load_entries(self, slots: Sequence[int]) -> dict[int, Entry]:
        if not slots:
            return {}
        sql = QUERIES["by_slots"].format(columns="memory_entry.*")
        params = self.build_slot_params(slots)
        entries: Any = Entry.objects.unscoped().raw(sql, params)  # Any: rows have a slot as well
        return {row.slot: row for row in entries}


def _find_nearest(namespaces: QuerySet[Namespace], meaning: QueryEmbedding | None) -> Cosines:
    """Return the cosines of the entries nearest to the query's meaning."""
    if meaning is None or not meaning.vector:
        return {}
    try:
        sql, ids_params = namespaces.order_by().values("id", "entry_count").query.sql_with_params()
    except EmptyResultSet:
        return {}
    vector, limit = HalfVector(list(meaning.vector)).to_text(), MAX_NEAREST
    model = (vector, meaning.embedder, len(meaning.vector))
    params = (*ids_params, *model, limit, MAX_COMPARED, limit)
    rows = fetch_rows(QUERIES["nearest"].format(namespaces=sql), params)
    return {(namespace_id, number): cosine for namespace_id, number, cosine in rows}


def _load_index(
    namespaces: QuerySet[Namespace],
    question: Question,
    now: datetime,
    near_ids: Set[UUID],
    holding_at: datetime | None,
    *,
    for_prompt: bool,
) -> _SearchIndex:
    """Load the postings and registers of the namespaces, and move each namespace to its range of slots."""
    try:
        sql, params = build_postings_query(
            namespaces, question, now, near_ids, holding_at, for_prompt=for_prompt
        )
    except EmptyResultSet:  # the caller sees no namespace
        return _SearchIndex({}, [], {}, [])
    rows = fetch_rows(sql, params)
    first_slots = _assign_slots(rows)
    register: list[Block] = []
    postings: dict[str, list[Block]] = defaultdict(list)
    excluded = []
    for namespace_id, term, block, block_bytes in rows:
        if namespace_id not in first_slots:
            continue
        first_slot = first_slots[namespace_id]
        if term is None:
            excluded.append(first_slot + block)  # of such an entry, ``block`` is the number
        elif term == REGISTER:
            shifted = _shift_register(block_bytes, first_slot)
            register.append((first_slot // BLOCK_SIZE + block, shifted))
        else:
            postings[term].append((first_slot // BLOCK_SIZE + block, block_bytes))
    return _SearchIndex(first_slots, register, dict(postings), excluded)


def _assign_slots(rows: Sequence[Any]) -> dict[UUID, int]:
    """Return the first slot of each namespace, in the order of their ids; each has whole blocks of slots."""
    block_counts: dict[UUID, int] = defaultdict(int)
    for namespace_id, term, block, _block_bytes in rows:
        if term == REGISTER:
            block_counts[namespace_id] = max(block_counts[namespace_id], block + 1)
    first_slots, next_block = {}, 0
    for namespace_id in sorted(block_counts):
        first_slots[namespace_id] = next_block * BLOCK_SIZE
        next_block += block_counts[namespace_id]
    return first_slots


def _shift_register(block_bytes: bytes, first_slot: int) -> bytes:
    """Return a block of the register whose references to preceding entries are slots instead of numbers."""
    pairs = np.frombuffer(block_bytes, dtype="<u4").reshape(-1, 2)
    if not first_slot or not pairs[:, 1].any():
        return block_bytes
    pairs = pairs.copy()
    pairs[:, 1] += np.where(pairs[:, 1] > 0, first_slot, 0).astype("<u4")
    return pairs.tobytes()


def _find_literal_matches(
    index: _SearchIndex, question: Question, readable: Sequence[int]
) -> list[int]:
    """Return the readable slots whose text contains the query literally."""
    if not readable or not question.folded_text:
        return []
    sql = QUERIES["by_slots"].format(columns="memory_entry.text")
    texts = fetch_rows(sql, index.build_slot_params(readable))
    return [slot for slot, text in texts if question.is_in(text)]
