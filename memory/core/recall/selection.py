"""The shared last step of every provider: select, rank and sort the entries that a query may see."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import add, attrgetter
from typing import Any

from memory.core.recall.groups import GroupPosition, group_of
from memory.core.recall.ranking import Text, rank
from memory.core.recall.scoring import ScoreParts, compute_recency
from memory.core.recall.similarity import scale_cosines
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.values import search_text


# Equal scores are sorted by the texts' likeness to the question, unless there are more.
MAX_TIES_COMPARED = 100
MAX_EXCERPT_LENGTH = 2_000  # characters of each

NO_COSINES: Mapping[str, float] = {}

# The part that marks a search whose question could not be embedded; it adds nothing to the score.
NO_VECTOR = "no_vector"


def is_visible(entry: MemoryEntry, now: datetime) -> bool:
    """Return whether the entry can be recalled: it is not in quarantine, and gone at the instant it expires."""
    return entry.tier is not Tier.QUARANTINE and (
        entry.expires_at is None or entry.expires_at > now
    )


def answer(
    query: MemoryQuery,
    candidates: Sequence[MemoryEntry],
    now: datetime,
    cosines: Mapping[str, float] = NO_COSINES,
) -> list[MemoryEntry]:
    """Return the entries that answer the query, best or newest first, at most ``top_k``.

    ``candidates`` are visible and match the filter, in any order; ``cosines`` has the similarity of those with a
    vector, by id.
    """
    if is_search(query):
        entries = {entry.id: entry for entry in candidates}
        pool = [build_candidate(entry, cosines.get(entry.id)) for entry in candidates]
        hits = rank_candidates(query, pool, now)
        return [add_score(entries[hit.id], hit) for hit in hits]
    newest = sorted(candidates, key=_sort_key, reverse=True)
    return newest if query.top_k is None else newest[: query.top_k]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The part of an entry that ranking reads."""

    updated_at: Any  # a datetime; every stored entry has one
    id: str
    text: str
    group_position: GroupPosition | None = None
    cosine: float | None = None  # with the question; none where it has no vector


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """A ranked entry. ``excerpt`` is the beginning of its text, which breaks ties between equal scores."""

    id: str
    score: float
    explain: Mapping[str, float]
    updated_at: Any  # a datetime
    excerpt: str = ""


def build_candidate(entry: MemoryEntry, cosine: float | None = None) -> Candidate:
    text = search_text(entry.key, entry.value)
    return Candidate(entry.updated_at, entry.id, text, get_group_position(entry), cosine)


def get_group_position(entry: MemoryEntry) -> GroupPosition | None:
    group = group_of(entry.metadata)
    return (group, entry.position) if group else None


def is_search(query: MemoryQuery) -> bool:
    return query.key is None and bool(query.query_text and query.query_text.strip())


def rank_candidates(
    query: MemoryQuery, candidates: Iterable[Candidate], now: datetime
) -> list[RankedEntry]:
    """Return the best hits first, at most ``top_k``."""
    pool = list(candidates)
    half_life = query.recency_days
    cosines = {candidate.id: candidate.cosine for candidate in pool}
    similarities = scale_cosines(
        {id_: cosine for id_, cosine in cosines.items() if cosine is not None}
    )
    texts = [
        Text(
            candidate.text,
            candidate.group_position,
            half_life and compute_recency(candidate.updated_at, now, half_life),
            similarities.get(candidate.id, 0.0) if similarities else None,
        )
        for candidate in pool
    ]
    hits = rank(query.query_text or "", texts, language=query.language)
    ranked = [
        RankedEntry(
            pool[hit.position].id,
            hit.score,
            explain_hit(query, hit.parts),
            pool[hit.position].updated_at,
            pool[hit.position].text[:MAX_EXCERPT_LENGTH],
        )
        for hit in hits
    ]
    return sort_hits(query, ranked)


def explain_hit(query: MemoryQuery, parts: ScoreParts) -> ScoreParts:
    """Return the parts, with a marker if the query has a meaning but the embedder did not answer."""
    if query.meaning is None or query.meaning.vector:
        return parts
    return {**parts, NO_VECTOR: 0.0}


def sort_hits(
    query: MemoryQuery, hits: Iterable[RankedEntry], *, crowd: float | None = None
) -> list[RankedEntry]:
    """Return the hits by score, at most ``top_k``; of equal scores the most similar text comes first, then the newest.

    ``crowd`` is a score that too many entries share to compare their texts.
    """
    by_age = sorted(hits, key=lambda hit: (hit.score, hit.updated_at, hit.id), reverse=True)
    compute_likeness = build_likeness(query.query_text or "")

    def likeness(hit: RankedEntry) -> float:
        return compute_likeness(hit.excerpt)

    ordered: list[RankedEntry] = []
    for score, equals in groupby(by_age, key=attrgetter("score")):
        if query.top_k is not None and len(ordered) >= query.top_k:
            break
        group = list(equals)
        if 1 < len(group) <= MAX_TIES_COMPARED and score != crowd:
            group.sort(key=likeness, reverse=True)
        ordered += group
    return ordered if query.top_k is None else ordered[: query.top_k]


def add_score(entry: MemoryEntry, hit: RankedEntry) -> MemoryEntry:
    return replace(entry, score=hit.score, explain=hit.explain)


def category_of(metadata: Mapping[str, Json], default: str = "fact") -> str:
    """Return the category that the author wrote into the metadata, or the default."""
    category = metadata.get("category")
    return category if isinstance(category, str) and _is_word(category) else default


def _sort_key(entry: MemoryEntry) -> tuple[Any, str]:  # a datetime; every stored entry has one
    return (entry.updated_at, entry.id)


def _is_word(text: str) -> bool:
    return (
        0 < len(text) <= 40
        and text.isascii()
        and text.replace("-", "").replace("_", "").isalnum()
        and text.islower()
        and text[0].isalnum()
    )


def build_likeness(text: str) -> Callable[[str], float]:
    """Return the function that computes how similar another text is to this one, from 0.0 to 1.0.

    It is the Dice coefficient, 2 × common / total, over pairs of characters. The pieces of this text are computed
    once. A word of one character is its own and only piece.
    """
    pieces = _count_pieces(text)
    size = pieces.total()

    def likeness(other: str) -> float:
        other_pieces = _count_pieces(other)
        total = size + other_pieces.total()
        fewer, more = sorted((pieces, other_pieces), key=len)
        common = sum(min(count, more[piece]) for piece, count in fewer.items() if piece in more)
        return 2 * common / total if total else 0.0

    return likeness


_WORD = re.compile(r"[^\W_]+")


def _count_pieces(text: str) -> Counter[str]:
    normalized = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    pieces: list[str] = []
    for word in _WORD.findall(normalized):
        pieces += [word] if len(word) == 1 else map(add, word, word[1:])
    return Counter(pieces)
