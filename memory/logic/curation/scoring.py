"""Importance and lifetime of entries, by rules simple enough to explain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.logic.curation.sentence_rating import rate_sentence
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.texts import list_texts
from memory.logic.entries.tiers import Usage, is_verified
from memory.logic.entries.write_batch import build_restore_params


@dataclass(frozen=True, slots=True)
class Importance:
    """``parts`` add up to the score, which stays between 0 and 1."""

    score: float
    parts: Mapping[str, float]


def compute_importance(
    value: Json,
    category: str,
    *,
    evidence: int = 1,
    usage: Usage = Usage(),  # noqa: B008 - a frozen value
) -> Importance:
    points = max((rate_sentence(text).points for text in list_texts(value)), default=0)
    parts = {
        "category": _CATEGORY_WEIGHTS.get(category, _DEFAULT_WEIGHT),
        "content": min(points, _MAX_POINTS) * _POINT_WEIGHT,
        "proofs": min(evidence - 1, _MAX_EVIDENCE) * _EVIDENCE_WEIGHT,
        "use": min(usage.runs, _MAX_RUNS) * _RUN_WEIGHT,
    }
    return Importance(min(1.0, round(sum(parts.values()), 4)), parts)


def compute_entry_importance(entry: MemoryEntry, usage: Usage = Usage()) -> Importance:  # noqa: B008 - frozen
    return compute_importance(
        entry.value, entry.category, evidence=count_evidence(entry), usage=usage
    )


def compute_lifetime(category: str, importance: float) -> timedelta | None:
    """Return the time to live from now, or None for ever; important entries don't expire."""
    if importance >= _PERMANENT_IMPORTANCE:
        return None
    days = _LIFETIME_DAYS.get(category)
    return timedelta(days=days * (1 + round(importance * 2))) if days else None


def choose_ttl(params: StoreParams) -> float | None:
    """Return the seconds to live of a draft. An author's own choice is kept."""
    if params.ttl_seconds is not None or params.tier is Tier.QUARANTINE:
        return params.ttl_seconds
    lifetime = compute_lifetime(params.category, params.importance)
    return lifetime.total_seconds() if lifetime else None


def may_expire(entry: MemoryEntry) -> bool:
    """Return whether maintenance may set an expiry: never for verified or well-supported entries."""
    return not is_verified(entry) and count_evidence(entry) < _PERMANENT_EVIDENCE


def update_importance(entry: MemoryEntry, usage: Usage) -> StoreParams | None:
    """Return what to store after new evidence or use, or None if nothing changes.

    The entry only gains: importance rises, and an expiry moves away or is removed; none is set.
    """
    importance = max(entry.importance, compute_entry_importance(entry, usage).score)
    present = build_restore_params(entry)
    lifetime = compute_lifetime(entry.category, importance)
    before = present.ttl_seconds
    has_expiry = before is not None and lifetime is not None
    later = max(before or 0.0, lifetime.total_seconds()) if has_expiry and lifetime else None
    if importance == entry.importance and later == before:
        return None
    return replace(present, importance=importance, ttl_seconds=later)


_CATEGORY_WEIGHTS = {
    "learning": 0.35,
    "result": 0.35,
    "fact": 0.35,
    "error": 0.3,
    "execution": 0.1,
    "note": 0.1,
    "message": 0.05,
}
_DEFAULT_WEIGHT = 0.25
_POINT_WEIGHT, _MAX_POINTS = 0.06, 6
_EVIDENCE_WEIGHT, _MAX_EVIDENCE = 0.1, 3
_RUN_WEIGHT, _MAX_RUNS = 0.05, 4

_PERMANENT_IMPORTANCE = 0.7
_PERMANENT_EVIDENCE = 3
# Everyday events expire soon; what was learned stays unless someone forgets it.
_LIFETIME_DAYS = {"execution": 30, "message": 30, "note": 1, "error": 90}
