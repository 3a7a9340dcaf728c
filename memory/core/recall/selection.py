"""The shared last step of every provider: select, rank and sort the entries that a query may see."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import add, attrgetter
from typing import Any, Protocol

from memory.core.recall.floor import select_relevant
from memory.core.recall.groups import GroupPosition, get_group
from memory.core.recall.ranking import Text, rank_texts
from memory.core.recall.scoring import ScoreParts, compute_recency
from memory.core.recall.similarity import Nearness, compute_nearness
from memory.core.records import (
    LESSON_CATEGORIES,
    EntryContent,
    Json,
    MemoryEntry,
    MemoryQuery,
    PromptUse,
    Tier,
    get_cosine_range,
)
from memory.core.values import build_search_text


_WORD = re.compile(r"[^\W_]+")
_CATEGORY = re.compile(r"(?=[^a-z]*[a-z])[a-z0-9][a-z0-9_-]{0,39}")  # with a letter, at least
# Equal ranks are sorted by how similar their texts are to the question, unless there are more of them.
MAX_TIES_COMPARED = 100
MAX_EXCERPT_LENGTH = 2_000  # characters of a text that this compares

_FAR = Nearness(0.0, 0.0)
NO_COSINES: Mapping[str, float] = {}

# The name of a score's part that is always 0 and marks a search whose question could not be embedded.
NO_VECTOR = "no_vector"


class Expiring(Protocol):
    """An entry, a revision, or the row of either."""

    @property
    def expires_at(self) -> datetime | None: ...


def is_expired(entry: Expiring, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def is_visible(entry: MemoryEntry, now: datetime) -> bool:
    """Return whether the entry can be recalled: it is not in quarantine, and ``now`` is before its expiry."""
    return entry.tier is not Tier.QUARANTINE and not is_expired(entry, now)


def holds(entry: EntryContent, moment: datetime) -> bool:
    """Return whether what the entry says holds at the moment."""
    has_begun = entry.valid_from is None or entry.valid_from <= moment
    return has_begun and not is_former(entry, moment)


def is_former(entry: EntryContent, moment: datetime) -> bool:
    """Return whether what the entry says has stopped holding by the moment."""
    return entry.valid_until is not None and entry.valid_until <= moment


def answer(
    query: MemoryQuery,
    candidates: Sequence[MemoryEntry],
    now: datetime,
    cosines: Mapping[str, float] = NO_COSINES,
) -> list[MemoryEntry]:
    """Return the entries that answer the query, best or newest first, at most ``top_k``.

    ``candidates`` are visible and match the filter, in any order; those that don't hold, or may not enter the prompt,
    are left out here. ``cosines`` compares each entry that has a vector with the question, by the entry's id.
    """
    if query.for_prompt:
        candidates = [each for each in candidates if each.prompt_use is not PromptUse.NEVER]
    if query.leaves_out_lessons:
        candidates = [each for each in candidates if each.category not in LESSON_CATEGORIES]
    moment = query.find_moment(now)
    holding = [entry for entry in candidates if moment is None or holds(entry, moment)]
    if query.is_search:
        hits = _search(query, holding, now, cosines)
        former: list[MemoryEntry] = []
        if query.concern is not None and moment is not None and len(holding) < len(candidates):
            matches = _search(query, candidates, now, cosines)
            former = [entry for entry in matches if is_former(entry, moment)]
        return select_relevant(query, hits, former)
    return sorted(holding, key=attrgetter("updated_at", "id"), reverse=True)[: query.top_k]


def _search(
    query: MemoryQuery,
    candidates: Sequence[MemoryEntry],
    now: datetime,
    cosines: Mapping[str, float],
) -> list[MemoryEntry]:
    entries = {entry.id: entry for entry in candidates}
    to_rank = [build_candidate(entry, cosines.get(entry.id)) for entry in candidates]
    return [add_score(entries[hit.id], hit) for hit in rank_candidates(query, to_rank, now)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The part of an entry that ranking reads."""

    updated_at: Any  # a datetime; every stored entry has one
    id: str
    text: str
    group_position: GroupPosition | None = None
    cosine: float | None = None  # with the question; None without a vector


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry with its score and its rank. ``excerpt`` is the beginning of its text, which orders equal ranks."""

    id: str
    rank: float
    score: float
    explain: Mapping[str, float]
    updated_at: Any  # a datetime
    excerpt: str = ""


def build_candidate(entry: MemoryEntry, cosine: float | None = None) -> Candidate:
    text = build_search_text(entry.key, entry.value)
    return Candidate(entry.updated_at, entry.id, text, get_group_position(entry), cosine)


def get_group_position(entry: MemoryEntry) -> GroupPosition | None:
    group = get_group(entry.metadata)
    return (group, entry.position) if group else None


def rank_candidates(
    query: MemoryQuery, candidates: Sequence[Candidate], now: datetime
) -> list[RankedEntry]:
    """Return the candidates that match the query, best first, at most ``top_k``."""
    half_life = query.recency_days
    cosines = {c.id: c.cosine for c in candidates if c.cosine is not None}
    nearness = compute_nearness(cosines, *get_cosine_range(query.meaning))
    texts = [
        Text(
            candidate.text,
            candidate.group_position,
            half_life and compute_recency(candidate.updated_at, now, half_life),
            nearness.get(candidate.id, _FAR) if nearness else None,
        )
        for candidate in candidates
    ]
    ranked = []
    for hit in rank_texts(query.query_text or "", texts, language=query.language):
        if hit.score < (query.min_score or 0.0):
            continue
        entry, parts = candidates[hit.position], mark_missing_vector(query, hit.parts)
        excerpt = entry.text[:MAX_EXCERPT_LENGTH]
        ranked.append(RankedEntry(entry.id, hit.rank, hit.score, parts, entry.updated_at, excerpt))
    return sort_hits(query, ranked)


def mark_missing_vector(query: MemoryQuery, parts: ScoreParts) -> ScoreParts:
    """Return the parts of a score, with ``NO_VECTOR`` added if the embedder did not answer."""
    has_failed = query.meaning is not None and not query.meaning.vector
    return {**parts, NO_VECTOR: 0.0} if has_failed else parts


def sort_hits(
    query: MemoryQuery, hits: Iterable[RankedEntry], *, uncompared_rank: float | None = None
) -> list[RankedEntry]:
    """Return the hits by rank, at most ``top_k``; of equal ranks the most similar text comes first, then the newest.

    Texts with ``uncompared_rank`` are not compared, because too many entries have this rank.
    """
    by_age = sorted(hits, key=lambda hit: (hit.rank, hit.updated_at, hit.id), reverse=True)
    compute_similarity = build_text_similarity(query.query_text or "")
    ordered: list[RankedEntry] = []
    for rank, hits_of_rank in groupby(by_age, key=attrgetter("rank")):
        if query.top_k is not None and len(ordered) >= query.top_k:
            break
        tied_hits = list(hits_of_rank)
        if 1 < len(tied_hits) <= MAX_TIES_COMPARED and rank != uncompared_rank:
            tied_hits.sort(key=lambda hit: compute_similarity(hit.excerpt), reverse=True)
        ordered += tied_hits
    return ordered[: query.top_k]


def add_score(entry: MemoryEntry, hit: RankedEntry) -> MemoryEntry:
    return replace(entry, score=hit.score, explain=hit.explain)


def get_category(metadata: Mapping[str, Json]) -> str:
    """Return the category that the author wrote into the metadata, or that of facts."""
    category = metadata.get("category")
    return category if isinstance(category, str) and _CATEGORY.fullmatch(category) else "fact"


def build_text_similarity(text: str) -> Callable[[str], float]:
    """Return the function that computes how similar another text is to this one, from 0.0 to 1.0.

    It is the Dice coefficient, 2 × common / total, over pairs of characters (bigrams).
    """
    bigrams = _count_bigrams(text)
    size = bigrams.total()

    def compute_similarity(other: str) -> float:
        other_bigrams = _count_bigrams(other)
        total = size + other_bigrams.total()
        smaller, larger = sorted((bigrams, other_bigrams), key=len)
        common = sum(min(count, larger[pair]) for pair, count in smaller.items() if pair in larger)
        return 2 * common / total if total else 0.0

    return compute_similarity


def _count_bigrams(text: str) -> Counter[str]:
    """Count the pairs of neighbouring characters in each word; a word of one character counts as a pair."""
    normalized = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    bigrams: list[str] = []
    for word in _WORD.findall(normalized):
        bigrams += [word] if len(word) == 1 else map(add, word, word[1:])
    return Counter(bigrams)
