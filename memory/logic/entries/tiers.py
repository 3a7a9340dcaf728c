"""Transitions of an entry between quarantine, working and long-term memory.

They guarantee that no verified entry is lost by expiry: a long-term entry doesn't expire unless its author set an
expiry, a working write never demotes a long-term entry, and a verified entry is promoted before it expires.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.scopes import WORKING_LIFETIME
from memory.logic.entries.duplicates import count_evidence, get_ttl
from memory.logic.entries.origins import APPROVED, REVIEW, REVIEW_REASON


WORKING_TTL = timedelta(seconds=WORKING_LIFETIME)

_MIN_EVIDENCE = 2  # different steps that wrote it
_MIN_RUNS = 2  # different runs that recalled it
_MIN_IMPORTANCE = 0.7
_PROMOTED_CATEGORIES = frozenset({"fact", "learning", "result", "error"})


class TierAction(StrEnum):
    APPROVE = APPROVED  # out of quarantine
    REJECT = "reject"  # stays in quarantine, and isn't proposed again
    PROMOTE = "promote"  # to long-term
    QUARANTINE = "quarantine"  # out of use, by a member


# The allowed target tiers, by present tier and action.
TRANSITIONS: dict[tuple[Tier, TierAction], frozenset[Tier]] = {
    (Tier.QUARANTINE, TierAction.APPROVE): frozenset({Tier.WORKING, Tier.LONG_TERM}),
    (Tier.QUARANTINE, TierAction.REJECT): frozenset({Tier.QUARANTINE}),
    (Tier.WORKING, TierAction.PROMOTE): frozenset({Tier.LONG_TERM}),
    (Tier.WORKING, TierAction.QUARANTINE): frozenset({Tier.QUARANTINE}),
    (Tier.LONG_TERM, TierAction.QUARANTINE): frozenset({Tier.QUARANTINE}),
}


class PromotionReason(StrEnum):
    """The rule by which an entry is promoted."""

    BY_HAND = "by_hand"
    BY_EVIDENCE = "by_proof"
    BY_USE = "by_use"
    BY_RULE = "by_rule"


def build_transition(
    entry: MemoryEntry, action: TierAction, tier: Tier, *, reason: str = ""
) -> StoreParams:
    """Return the parameters that move the entry; raise InvalidInput if the transition isn't allowed."""
    if tier not in TRANSITIONS.get((entry.tier, action), frozenset()):
        raise InvalidInput(f"tier: {action} can't move an entry from {entry.tier} to {tier}.")
    review: dict[str, Json] = {REVIEW: str(action), REVIEW_REASON: reason}
    return StoreParams(
        namespace=entry.namespace,
        key=entry.key,
        **{**get_state(entry, CONTENT), "metadata": {**entry.metadata, **review}, "tier": tier},
        ttl_seconds=WORKING_TTL.total_seconds() if tier is Tier.WORKING else None,
        source=entry.source,
    )


def find_promotion_reason(entry: MemoryEntry, run_count: int = 0) -> PromotionReason | None:
    """Return the first rule that promotes this entry, or None; ``run_count`` runs recalled it."""
    if entry.tier is not Tier.WORKING or is_rejected(entry):
        return None
    rules = _PROMOTION_RULES.items()
    return next((reason for reason, applies in rules if applies(entry, run_count)), None)


def plan_promotions(
    entries: Iterable[MemoryEntry],
    now: datetime,
    *,
    count_runs: Callable[[MemoryEntry], int] = lambda _: 0,
    margin: timedelta = timedelta(hours=2),
) -> list[tuple[MemoryEntry, PromotionReason]]:
    """Return the entries that expire within the margin and are promoted, each with the reason.

    The margin has to be longer than the interval between two calls, so that no entry expires in between.
    """
    return [
        (entry, reason)
        for entry in entries
        if _expires_soon(entry, now, margin)
        and (reason := find_promotion_reason(entry, count_runs(entry)))
    ]


def protect_existing(params: StoreParams, present: MemoryEntry | None) -> StoreParams:
    """Return the parameters for a write under a key, which may have an entry already.

    A long-term or verified entry keeps its tier, its expiry and the higher importance when a working write replaces its
    value. Raise InvalidInput if a write would quarantine it, which requires a transition.
    """
    is_protected = present is not None and (present.tier is Tier.LONG_TERM or is_verified(present))
    if present is None or not is_protected or params.tier is Tier.LONG_TERM:
        return params
    if params.tier is Tier.QUARANTINE:
        raise InvalidInput(
            "tier: a verified entry can't be quarantined by a write, only by a move."
        )
    return replace(
        params,
        tier=Tier.LONG_TERM,
        ttl_seconds=None if is_verified(present) else get_ttl(present),
        importance=max(present.importance, params.importance),
    )


def set_default_ttl(params: StoreParams) -> StoreParams:
    """Let a working entry expire after a day unless its author set an expiry."""
    if params.tier is Tier.WORKING and params.ttl_seconds is None:
        return replace(params, ttl_seconds=WORKING_TTL.total_seconds())
    return params


def is_verified(entry: MemoryEntry) -> bool:
    """Return whether the entry is marked as verified, or long-term without an expiry."""
    is_permanent = entry.tier is Tier.LONG_TERM and entry.expires_at is None
    return is_permanent or entry.metadata.get("verified") is True


def is_rejected(entry: MemoryEntry) -> bool:
    return entry.metadata.get(REVIEW) == TierAction.REJECT


def _expires_soon(entry: MemoryEntry, now: datetime, margin: timedelta) -> bool:
    ends_at = entry.expires_at
    return entry.tier is Tier.WORKING and ends_at is not None and now < ends_at <= now + margin


# Whether a rule applies to an entry that this many runs recalled, in the order of the rules.
_PROMOTION_RULES: dict[PromotionReason, Callable[[MemoryEntry, int], bool]] = {
    PromotionReason.BY_HAND: lambda entry, _run_count: is_verified(entry),
    PromotionReason.BY_EVIDENCE: lambda entry, _run_count: count_evidence(entry) >= _MIN_EVIDENCE,
    PromotionReason.BY_USE: lambda _entry, run_count: run_count >= _MIN_RUNS,
    PromotionReason.BY_RULE: lambda entry, _run_count: (
        entry.category in _PROMOTED_CATEGORIES and entry.importance >= _MIN_IMPORTANCE
    ),
}
