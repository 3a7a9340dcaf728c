"""From the entries a query may see to the answer: the last step every provider shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory.core.ranking import rank
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.values import search_text


def is_visible(entry: MemoryEntry, now: datetime) -> bool:
    """Quarantine is never recalled; an entry is gone at the instant it expires."""
    return entry.tier is not Tier.QUARANTINE and (
        entry.expires_at is None or entry.expires_at > now
    )


def answer(query: MemoryQuery, candidates: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """``candidates`` are visible and pass the filter, in any order."""
    if is_search(query):
        entries = {entry.id: entry for entry in candidates}
        asked = [
            Candidate(entry.updated_at, entry.id, search_text(entry.key, entry.value))
            for entry in candidates
        ]
        return [scored(entries[hit.id], hit) for hit in best(query, asked)]
    found = sorted(candidates, key=_age, reverse=True)
    return found if query.top_k is None else found[: query.top_k]


@dataclass(frozen=True, slots=True)
class Candidate:
    """As much of an entry as ranking reads."""

    updated_at: Any  # a datetime; every stored entry has one
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    id: str
    score: float
    explain: Mapping[str, float]


def is_search(query: MemoryQuery) -> bool:
    return query.key is None and bool(query.query_text and query.query_text.strip())


def best(query: MemoryQuery, candidates: Iterable[Candidate]) -> list[Found]:
    """Best first, ties by age and id, cut to ``top_k``; a provider fetches whole entries for these alone."""
    oldest_first = sorted(candidates, key=lambda one: (one.updated_at, one.id))
    texts = [one.text for one in oldest_first]
    hits = rank(query.query_text or "", texts, language=query.language)
    # Positions grow with age, so they break ties as age and id would.
    hits.sort(key=lambda hit: (hit.score, hit.position), reverse=True)
    chosen = hits if query.top_k is None else hits[: query.top_k]
    return [Found(oldest_first[hit.position].id, hit.score, dict(hit.parts)) for hit in chosen]


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
