"""How an entry moves between quarantine, working and long-term memory, and what keeps it alive.

One promise runs through all of it: nothing verified is lost by expiry. What is long-term has no
end unless its author set one, a working write never takes a long-term entry down with it, and
what was verified is promoted before its day is over.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.scopes import WORKING_LIVES
from memory.logic.entries.duplicates import life_of, proofs


WORKING_TTL = timedelta(seconds=WORKING_LIVES)


class Move(StrEnum):
    APPROVE = "approve"  # out of quarantine, by a person or the curator
    REJECT = "reject"  # stays in quarantine, and isn't proposed again
    PROMOTE = "promote"  # for good
    QUARANTINE = "quarantine"  # taken out of use by hand


# Which moves there are: from where, by which, to which of the tiers.
MOVES: dict[tuple[Tier, Move], frozenset[Tier]] = {
    (Tier.QUARANTINE, Move.APPROVE): frozenset({Tier.WORKING, Tier.LONG_TERM}),
    (Tier.QUARANTINE, Move.REJECT): frozenset({Tier.QUARANTINE}),
    (Tier.WORKING, Move.PROMOTE): frozenset({Tier.LONG_TERM}),
    (Tier.WORKING, Move.QUARANTINE): frozenset({Tier.QUARANTINE}),
    (Tier.LONG_TERM, Move.QUARANTINE): frozenset({Tier.QUARANTINE}),
}


class Why(StrEnum):
    """Why an entry is kept for good; each is a rule of ``promotion``."""

    BY_HAND = "by_hand"
    BY_PROOF = "by_proof"
    BY_USE = "by_use"
    BY_RULE = "by_rule"


@dataclass(frozen=True, slots=True)
class Use:
    """How an entry was read so far; the provenance knows."""

    recalls: int = 0
    runs: int = 0
    injections: int = 0


@dataclass(frozen=True, slots=True)
class PromotionRules:
    proofs: int = 2  # said by so many different steps
    runs: int = 2  # recalled in so many different runs
    importance: float = 0.7
    categories: frozenset[str] = frozenset({"fact", "learning", "result", "error"})


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of working entries whose day is nearly over."""

    promoted: tuple[tuple[MemoryEntry, Why], ...]
    left: tuple[MemoryEntry, ...]  # they expire, and may


def moved(entry: MemoryEntry, move: Move, to: Tier, *, why: str = "") -> StoreParams:
    """What to store to make that move; a move that isn't in the table is refused."""
    if to not in MOVES.get((entry.tier, move), frozenset()):
        raise InvalidInput(f"tier: {move} can't move an entry from {entry.tier} to {to}.")
    review: dict[str, Json] = {"review": str(move), "review_reason": why}
    return StoreParams(
        namespace=entry.namespace,
        key=entry.key,
        **{**get_state(entry, CONTENT), "metadata": {**entry.metadata, **review}, "tier": to},
        ttl_seconds=WORKING_TTL.total_seconds() if to is Tier.WORKING else None,
        source=entry.source,
    )


def promotion(
    entry: MemoryEntry, use: Use = Use(), rules: PromotionRules = PromotionRules()
) -> Why | None:
    """The first rule that keeps this entry for good, or none."""
    if entry.tier is not Tier.WORKING or is_rejected(entry):
        return None
    return next((why for why, holds in _RULES if holds(entry, use, rules)), None)


def settle(
    entries: Iterable[MemoryEntry],
    now: datetime,
    *,
    use_of: Callable[[MemoryEntry], Use] = lambda _: Use(),
    rules: PromotionRules = PromotionRules(),
    margin: timedelta = timedelta(hours=2),
) -> Settled:
    """Asked every so often with a margin above that, so that no entry slips through between."""
    ending = [one for one in entries if _ends_soon(one, now, margin)]
    decided = [(one, promotion(one, use_of(one), rules)) for one in ending]
    return Settled(
        promoted=tuple((one, why) for one, why in decided if why),
        left=tuple(one for one, why in decided if not why),
    )


def guarded(params: StoreParams, present: MemoryEntry | None) -> StoreParams:
    """What to store over an entry that is there already, if there is one.

    Storing says tier and end anew. Where the present entry is long-term or verified, a working
    write brings its value only, and neither tier nor end; the old value stays a revision. Into quarantine it doesn't go by accident
    either: that takes a move.
    """
    kept = present is not None and (present.tier is Tier.LONG_TERM or is_verified(present))
    if present is None or not kept or params.tier is Tier.LONG_TERM:
        return params
    if params.tier is Tier.QUARANTINE:
        raise InvalidInput(
            "tier: a verified entry can't be quarantined by a write, only by a move."
        )
    return replace(
        params,
        tier=Tier.LONG_TERM,
        ttl_seconds=None if is_verified(present) else life_of(present),
        importance=max(present.importance, params.importance),
    )


def fresh(params: StoreParams) -> StoreParams:
    """A working entry lives a day unless its author says otherwise; an id in quarantine has no end."""
    if params.tier is Tier.WORKING and params.ttl_seconds is None:
        return replace(params, ttl_seconds=WORKING_TTL.total_seconds())
    return params


def is_verified(entry: MemoryEntry) -> bool:
    """Kept for good, or marked by somebody. A long-term entry with an end was given it on purpose."""
    endless = entry.tier is Tier.LONG_TERM and entry.expires_at is None
    return endless or entry.metadata.get("verified") is True


def is_rejected(entry: MemoryEntry) -> bool:
    return entry.metadata.get("review") == Move.REJECT


def _ends_soon(entry: MemoryEntry, now: datetime, margin: timedelta) -> bool:
    if entry.tier is not Tier.WORKING or entry.expires_at is None:
        return False
    return now < entry.expires_at <= now + margin


_Rule = Callable[[MemoryEntry, Use, PromotionRules], bool]

_RULES: tuple[tuple[Why, _Rule], ...] = (
    (Why.BY_HAND, lambda entry, _use, _rules: is_verified(entry)),
    (Why.BY_PROOF, lambda entry, _use, rules: proofs(entry) >= rules.proofs),
    (Why.BY_USE, lambda _entry, use, rules: use.runs >= rules.runs),
    (
        Why.BY_RULE,
        lambda entry, _use, rules: (
            entry.category in rules.categories and entry.importance >= rules.importance
        ),
    ),
)
