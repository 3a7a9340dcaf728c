"""How important a memory is, and how long it should live: both plain enough to be argued with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.logic.curation.sentence_rating import judge
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.texts import list_texts
from memory.logic.entries.tiers import Usage, is_verified
from memory.logic.entries.write_batch import build_restore_params


@dataclass(frozen=True, slots=True)
class Importance:
    """``parts`` add up to the score, which stays between 0 and 1."""

    score: float
    parts: Mapping[str, float]


def importance_of(
    value: Json,
    category: str,
    *,
    said: int = 1,
    use: Usage = Usage(),  # noqa: B008 - a frozen value
) -> Importance:
    """``said``: how often it was said."""
    points = max((judge(text).points for text in list_texts(value)), default=0)
    parts = {
        "category": _OF_CATEGORY.get(category, _OF_OTHERS),
        "content": min(points, _MOST_POINTS) * _A_POINT,
        "proofs": min(said - 1, _MOST_PROOFS) * _A_PROOF,
        "use": min(use.runs, _MOST_RUNS) * _A_RUN,
    }
    return Importance(min(1.0, round(sum(parts.values()), 4)), parts)


def importance_of_entry(entry: MemoryEntry, use: Usage = Usage()) -> Importance:  # noqa: B008 - frozen
    return importance_of(entry.value, entry.category, said=count_evidence(entry), use=use)


def life_of(category: str, importance: float) -> timedelta | None:
    """How long from now; nothing means for good. What is important is kept, whatever it is."""
    if importance >= _FOR_GOOD:
        return None
    days = _DAYS.get(category)
    return timedelta(days=days * (1 + round(importance * 2))) if days else None


def chosen_life(params: StoreParams) -> float | None:
    """Seconds for a draft of curation. An author's own choice stands."""
    if params.ttl_seconds is not None or params.tier is Tier.QUARANTINE:
        return params.ttl_seconds
    life = life_of(params.category, params.importance)
    return life.total_seconds() if life else None


def may_expire(entry: MemoryEntry) -> bool:
    """Whether an upkeep may give it an end: never what is verified or carried by proofs."""
    return not is_verified(entry) and count_evidence(entry) < _CARRIED


def revalued(entry: MemoryEntry, use: Usage) -> StoreParams | None:
    """What to store because an entry was proved or used since; nothing where nothing changed.

    It only ever gains: importance rises, an end moves away or falls, and no end is given.
    """
    importance = max(entry.importance, importance_of_entry(entry, use).score)
    present = build_restore_params(entry)
    life = life_of(entry.category, importance)
    before = present.ttl_seconds
    ends = before is not None and life is not None
    later = max(before or 0.0, life.total_seconds()) if ends and life else None
    if importance == entry.importance and later == before:
        return None
    return replace(present, importance=importance, ttl_seconds=later)


_OF_CATEGORY = {
    "learning": 0.35,
    "result": 0.35,
    "fact": 0.35,
    "error": 0.3,
    "execution": 0.1,
    "note": 0.1,
    "message": 0.05,
}
_OF_OTHERS = 0.25
_A_POINT, _MOST_POINTS = 0.06, 6
_A_PROOF, _MOST_PROOFS = 0.1, 3
_A_RUN, _MOST_RUNS = 0.05, 4

_FOR_GOOD = 0.7
_CARRIED = 3
# Of what happens every day little stays; what was learnt stays unless someone forgets it.
_DAYS = {"execution": 30, "message": 30, "note": 1, "error": 90}
