"""From the entries a query may see to the answer: the last step every provider shares."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    if query.query_text and query.query_text.strip() and query.key is None:
        found = _ranked(query, sorted(candidates, key=_age))
    else:
        found = sorted(candidates, key=_age, reverse=True)
    return found if query.top_k is None else found[: query.top_k]


def category_of(metadata: Mapping[str, Json], default: str = "fact") -> str:
    """Authors write the category into the metadata, as the seeds do."""
    found = metadata.get("category")
    return found if isinstance(found, str) and _is_word(found) else default


def _ranked(query: MemoryQuery, oldest_first: list[MemoryEntry]) -> list[MemoryEntry]:
    texts = [search_text(entry.key, entry.value) for entry in oldest_first]
    hits = [
        replace(oldest_first[hit.position], score=hit.score, explain=dict(hit.parts))
        for hit in rank(query.query_text or "", texts, language=query.language)
    ]
    return sorted(hits, key=lambda hit: (hit.score, *_age(hit)), reverse=True)


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
