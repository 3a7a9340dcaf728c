"""The search in one namespace. It scores the postings of the query's terms and loads whole entries only for the results."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from config.sql import read_queries
from memory.core.filters import parse_filter
from memory.core.recall.floor import select_relevant
from memory.core.recall.literal_match import Question, parse_question
from memory.core.recall.scoring import compute_recency
from memory.core.recall.selection import (
    MAX_EXCERPT_LENGTH,
    MAX_TIES_COMPARED,
    RankedEntry,
    add_score,
    is_former,
    mark_missing_vector,
    sort_hits,
)
from memory.core.recall.similarity import compute_nearness
from memory.core.recall.tokens import DEFAULT_LANGUAGE, has_latin_words
from memory.core.records import MemoryEntry, MemoryQuery, get_cosine_range
from memory.models import Namespace
from memory.providers.postgres import rows, vectors
from memory.providers.postgres.filters import apply_filter
from memory.providers.postgres.fixed_queries import SelectEntries, fetch_prepared, fetch_rows
from memory.providers.postgres.postings import REGISTER
from memory.providers.postgres.scoring import (
    Block,
    Flags,
    Floats,
    Ints,
    Register,
    SlotScores,
    compute_ranks,
    read_register,
    score_slots,
)


QUERIES: Final = read_queries("memory/sql/queries/search.sql")

MAX_PREPARED_TERMS: Final = 200  # an index looks each of them up

_NUMBERED: Final = SelectEntries(
    "WHERE namespace_id = %s AND number = ANY(string_to_array(%s, ',')::int[])"
    " AND deleted_at IS NULL",
    *("number", "text"),
)


def has_postings_for(query: MemoryQuery) -> bool:
    """Return whether postings can answer the query: they have the stems of one language only."""
    return query.language == DEFAULT_LANGUAGE or not has_latin_words(query.query_text or "")


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """Return the living entries that match the query's text and hold, best first, each with its score."""
    question = parse_question(query.query_text or "", query.language)
    moment = query.find_moment(now)
    postings, excluded, has_former = _load_postings(namespace, question, now, moment, query)
    matching = _list_matching_numbers(namespace, query, now) if query.filter else None
    register = read_register(postings.pop(REGISTER, []), included=matching, excluded=excluded)
    cosines = vectors.compute_cosines(
        namespace, query.meaning, included=matching, excluded=excluded
    )
    nearness = compute_nearness(cosines, *get_cosine_range(query.meaning))
    scores = score_slots(question, postings, register, nearness)
    matches = _find_literal_matches(namespace, question, scores.readable)
    hits = _collect_hits(scores, register, matches, query.min_score)
    if query.recency_days is not None:
        hits.recency = _compute_recency(namespace, query.recency_days, hits.slots, now)
    former = _list_former(namespace, query, now, moment) if moment and has_former else ()
    return select_relevant(query, _build_answer(namespace, query, scores, hits), former)


def _list_former(
    namespace: Namespace, query: MemoryQuery, now: datetime, moment: datetime
) -> list[MemoryEntry]:
    """Return the matches that no longer hold at the moment, if the query is for a prompt, which says what it left out."""
    if query.concern is None:
        return []
    matches = search(namespace, replace(query, include_former=True, concern=None), now)
    return [entry for entry in matches if is_former(entry, moment)]


@dataclass(slots=True)
class _Hits:
    """The slots of the hits and, for each of them, whether it is a literal match and how recent it is."""

    slots: Ints
    literal: Flags
    recency: Floats | None = None


def _load_postings(
    namespace: Namespace,
    question: Question,
    now: datetime,
    moment: datetime | None,
    query: MemoryQuery,
) -> tuple[dict[str, list[Block]], list[int], bool]:
    """Return the blocks of the register and of each term of the question, and the numbers of the entries to leave out:
    expired ones, with a ``moment`` those that don't hold then, and those that may not enter the prompt of the query. Also
    return whether any of them holds no more.
    """
    terms = [REGISTER, *question.terms, *question.marks]
    postings: dict[str, list[Block]] = defaultdict(list)
    excluded: list[int] = []
    has_former = False
    params = build_postings_params(
        namespace,
        terms,
        now,
        moment,
        for_prompt=query.for_prompt,
        without_lessons=query.leaves_out_lessons,
    )
    for term, block, block_bytes in fetch_prepared(
        QUERIES["postings"], params, max_list_length=MAX_PREPARED_TERMS
    ):
        if term is None:
            excluded.append(block)  # of an entry to leave out, this is the number
            has_former = has_former or block_bytes is not None
        else:
            postings[term].append((block, block_bytes))
    return dict(postings), excluded, has_former


def build_postings_params(
    namespace: Namespace,
    terms: list[str],
    now: datetime,
    moment: datetime | None,
    *,
    for_prompt: bool = False,
    without_lessons: bool = False,
) -> tuple[Any, ...]:
    """Return the parameters of the query ``postings``. Without a ``moment``, no entry is left out for its validity."""
    pk = namespace.pk
    return (pk, terms, moment, pk, now, moment, moment, for_prompt, without_lessons)


def _list_matching_numbers(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[int]:
    matches = apply_filter(rows.find_visible(namespace, now), parse_filter(query.filter))
    numbers = matches.values_list("number", flat=True)
    return [number for number in numbers if number is not None]


def _find_literal_matches(
    namespace: Namespace, question: Question, readable: list[int]
) -> set[int]:
    if not readable or not question.folded_text:
        return set()
    texts = fetch_rows(QUERIES["texts"], (namespace.pk, _join_numbers(readable)))
    return {number for number, text in texts if question.is_in(text)}


def _collect_hits(
    scores: SlotScores, register: Register, matches: set[int], min_score: float | None
) -> _Hits:
    literal = np.zeros(len(register.visible), dtype=bool)
    literal[np.fromiter(matches, dtype=np.int64)] = True
    slots = np.flatnonzero(register.visible & (scores.find_matches() | literal))
    if min_score:
        slots = slots[scores.compute_scores(slots, literal[slots]) >= min_score]
    return _Hits(slots, literal[slots])


def _compute_recency(namespace: Namespace, half_life: float, slots: Ints, now: datetime) -> Floats:
    times = dict(fetch_rows(QUERIES["update_times"], [namespace.pk]))
    numbers = slots.tolist()
    values = [compute_recency(times[n], now, half_life) if n in times else 0.0 for n in numbers]
    return np.array(values, dtype=np.float64)


def _build_answer(
    namespace: Namespace, query: MemoryQuery, scores: SlotScores, hits: _Hits
) -> list[MemoryEntry]:
    if not len(hits.slots):
        return []
    ranks = compute_ranks(scores, hits.slots, hits.literal, hits.recency)
    slots, uncompared_rank = _select_slots(namespace, hits.slots, ranks, query.top_k)
    covered = scores.coverage.compute_by_slot(slots)
    entries, ranked = {}, []
    for entry, (slot, text) in _NUMBERED.fetch_all(
        namespace.text, namespace.pk, _join_numbers(slots)
    ):
        index = int(np.searchsorted(hits.slots, slot))
        recency = None if hits.recency is None else float(hits.recency[index])
        rank, literal = float(ranks[index]), bool(hits.literal[index])
        score, parts = scores.explain(slot, rank, covered[slot], literal=literal, recency=recency)
        marked_parts, excerpt = mark_missing_vector(query, parts), text[:MAX_EXCERPT_LENGTH]
        entries[entry.id] = entry
        ranked.append(RankedEntry(entry.id, rank, score, marked_parts, entry.updated_at, excerpt))
    sorted_hits = sort_hits(query, ranked, uncompared_rank=uncompared_rank)
    return [add_score(entries[hit.id], hit) for hit in sorted_hits]


def _select_slots(
    namespace: Namespace, slots: Ints, ranks: Floats, top_k: int | None
) -> tuple[set[int], float | None]:
    """Return the slots that may be in the answer, and the rank, if any, whose entries are too many to compare texts."""
    if top_k is None or len(slots) <= top_k:
        return set(slots.tolist()), None
    if not top_k:
        return set(), None
    lowest = float(np.partition(ranks, -top_k)[-top_k])
    above, equal = slots[ranks > lowest].tolist(), slots[ranks == lowest].tolist()
    if len(equal) <= MAX_TIES_COMPARED:
        return {*above, *equal}, None
    params = (namespace.pk, _join_numbers(equal), top_k - len(above))
    newest = fetch_rows(QUERIES["newest_of"], params)
    return {*above, *(number for (number,) in newest)}, lowest


def load_hits(namespace: Namespace, hits: Sequence[RankedEntry]) -> list[MemoryEntry]:
    """Return the entries of the hits with their scores, in the same order."""
    entries = rows.fetch_by_ids(namespace, [hit.id for hit in hits])
    # An entry that isn't there has been forgotten since.
    return [add_score(entries[hit.id], hit) for hit in hits if hit.id in entries]


def _join_numbers(numbers: Iterable[int]) -> str:
    """Join the numbers with commas, because one long parameter costs less than a thousand short ones."""
    return ",".join(map(str, numbers))
