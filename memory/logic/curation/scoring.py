"""Importance and lifetime of entries, by rules simple enough to explain."""

from datetime import timedelta

from memory.core.records import Json, StoreParams, Tier
from memory.logic.entries.texts import list_texts
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.statements import rate_statements


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
_STATEMENT_WEIGHT = 0.4

_PERMANENT_IMPORTANCE = 0.7
# Everyday events expire soon; learned facts stay until a member forgets them.
_LIFETIME_DAYS = {"execution": 30, "message": 30, "note": 1, "error": 90}


def compute_importance(value: Json, category: str, judge: Judge | None) -> float:
    """Return the importance by category and by how sure a text in the value is a statement, between 0 and 1."""
    rating = max(rate_statements(list_texts(value), judge), default=0.0)
    weight = _CATEGORY_WEIGHTS.get(category, _DEFAULT_WEIGHT)
    return round(weight + rating * _STATEMENT_WEIGHT, 4)


def compute_lifetime(category: str, importance: float) -> timedelta | None:
    """Return the time to live from now, or None for a permanent entry; important entries don't expire."""
    if importance >= _PERMANENT_IMPORTANCE:
        return None
    days = _LIFETIME_DAYS.get(category)
    return timedelta(days=days * (1 + round(importance * 2))) if days else None


def choose_ttl(params: StoreParams) -> float | None:
    """Return the time to live of a draft in seconds, or None for no expiry; a value that its author set stays."""
    if params.ttl_seconds is not None or params.tier is Tier.QUARANTINE:
        return params.ttl_seconds
    lifetime = compute_lifetime(params.category, params.importance)
    return lifetime.total_seconds() if lifetime else None
