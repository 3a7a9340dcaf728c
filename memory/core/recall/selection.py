"""From the entries a query may see to the answer: the last step every provider shares."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import add, attrgetter
from typing import Any

from memory.core.recall.groups import Place, group_of
from memory.core.recall.ranking import Text, rank
from memory.core.recall.scoring import Parts, recency_of
from memory.core.recall.similarity import nearness
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.values import search_text


# Equals are told apart by how alike they look to the question, unless they are a crowd.
MOST_COMPARED = 100
MOST_LOOKED_AT = 2_000  # characters of each

NO_COSINES: Mapping[str, float] = {}

# The part that says that the question's meaning was asked for, and not to be had; it gives nothing.
NO_VECTOR = "no_vector"


def is_visible(entry: MemoryEntry, now: datetime) -> bool:
    """Quarantine is never recalled; an entry is gone at the instant it expires."""
    return entry.tier is not Tier.QUARANTINE and (
        entry.expires_at is None or entry.expires_at > now
    )


def answer(
    query: MemoryQuery,
    candidates: Sequence[MemoryEntry],
    now: datetime,
    cosines: Mapping[str, float] = NO_COSINES,
) -> list[MemoryEntry]:
    """``candidates`` are visible and pass the filter, in any order; ``cosines`` of those with a vector, by id."""
    if is_search(query):
        entries = {entry.id: entry for entry in candidates}
        known = [candidate_of(entry, cosines.get(entry.id)) for entry in candidates]
        found = best(query, known, now)
        return [scored(entries[hit.id], hit) for hit in found]
    newest = sorted(candidates, key=_age, reverse=True)
    return newest if query.top_k is None else newest[: query.top_k]


@dataclass(frozen=True, slots=True)
class Candidate:
    """As much of an entry as ranking reads."""

    updated_at: Any  # a datetime; every stored entry has one
    id: str
    text: str
    place: Place | None = None
    cosine: float | None = None  # with the question; none where it has no vector


@dataclass(frozen=True, slots=True)
class Found:
    """``look`` is the beginning of its text, for when another has the same score."""

    id: str
    score: float
    explain: Mapping[str, float]
    updated_at: Any  # a datetime
    look: str = ""


def candidate_of(entry: MemoryEntry, cosine: float | None = None) -> Candidate:
    text = search_text(entry.key, entry.value)
    return Candidate(entry.updated_at, entry.id, text, place_of(entry), cosine)


def place_of(entry: MemoryEntry) -> Place | None:
    group = group_of(entry.metadata)
    return (group, entry.position) if group else None


def is_search(query: MemoryQuery) -> bool:
    return query.key is None and bool(query.query_text and query.query_text.strip())


def best(query: MemoryQuery, candidates: Iterable[Candidate], now: datetime) -> list[Found]:
    """Best first, cut to ``top_k``."""
    known = list(candidates)
    half_life = query.recency_days
    near = nearness({one.id: one.cosine for one in known if one.cosine is not None})
    texts = [
        Text(
            one.text,
            one.place,
            half_life and recency_of(one.updated_at, now, half_life),
            near.get(one.id, 0.0) if near else None,
        )
        for one in known
    ]
    hits = rank(query.query_text or "", texts, language=query.language)
    found = [
        Found(
            known[hit.position].id,
            hit.score,
            told(query, hit.parts),
            known[hit.position].updated_at,
            known[hit.position].text[:MOST_LOOKED_AT],
        )
        for hit in hits
    ]
    return in_order(query, found)


def told(query: MemoryQuery, parts: Parts) -> Parts:
    """With a word on a meaning that could not be had."""
    if query.meaning is None or query.meaning.vector:
        return parts
    return {**parts, NO_VECTOR: 0.0}


def in_order(
    query: MemoryQuery, found: Iterable[Found], *, crowd: float | None = None
) -> list[Found]:
    """Equal scores: the likest first, then the newest. ``crowd`` is a score too many have to be compared."""
    by_age = sorted(found, key=lambda one: (one.score, one.updated_at, one.id), reverse=True)
    like = likeness_to(query.query_text or "")

    def likeness(one: Found) -> float:
        return like(one.look)

    ordered: list[Found] = []
    for score, equals in groupby(by_age, key=attrgetter("score")):
        if query.top_k is not None and len(ordered) >= query.top_k:
            break
        group = list(equals)
        if 1 < len(group) <= MOST_COMPARED and score != crowd:
            group.sort(key=likeness, reverse=True)
        ordered += group
    return ordered if query.top_k is None else ordered[: query.top_k]


def scored(entry: MemoryEntry, hit: Found) -> MemoryEntry:
    return replace(entry, score=hit.score, explain=hit.explain)


def category_of(metadata: Mapping[str, Json], default: str = "fact") -> str:
    """Authors write the category into the metadata, as the seeds do."""
    found = metadata.get("category")
    return found if isinstance(found, str) and _is_word(found) else default


def _age(entry: MemoryEntry) -> tuple[Any, str]:  # a datetime; every stored entry has one
    return (entry.updated_at, entry.id)


def _is_word(text: str) -> bool:
    return (
        0 < len(text) <= 40
        and text.isascii()
        and text.replace("-", "").replace("_", "").isalnum()
        and text.islower()
        and text[0].isalnum()
    )


def likeness_to(one: str) -> Callable[[str], float]:
    """Return the function that says how alike another text is to this one, from 0.0 to 1.0.

    It is Dice's 2 × common / all over pairs of characters. This one is cut up once. A single
    character is its own and only piece.
    """
    mine = _pieces(one)
    own = mine.total()

    def likeness(other: str) -> float:
        theirs = _pieces(other)
        total = own + theirs.total()
        few, many = (mine, theirs) if len(mine) < len(theirs) else (theirs, mine)
        common = sum(min(count, many[piece]) for piece, count in few.items() if piece in many)
        return 2 * common / total if total else 0.0

    return likeness


_WORD = re.compile(r"[^\W_]+")


def _pieces(text: str) -> Counter[str]:
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    found: list[str] = []
    for word in _WORD.findall(plain):
        found += [word] if len(word) == 1 else map(add, word, word[1:])
    return Counter(found)
