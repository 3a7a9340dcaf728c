"""Importance and lifetime of entries, by rules simple enough to explain."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from memory.core.records import Json, StoreParams, Tier
from memory.logic.curation.sentence_rating import rate_sentence
from memory.logic.entries.texts import list_texts
from memory.logic.entries.tiers import Usage


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
# Everyday events expire soon; what was learned stays unless someone forgets it.
_LIFETIME_DAYS = {"execution": 30, "message": 30, "note": 1, "error": 90}
