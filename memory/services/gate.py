"""The gate before working memory, with what the store knows: what is new there, what people refused, what is in the way.

``memory.logic.ingress`` decides; here its decision meets the namespace. A refusal is an error, so that
the door writes it down; what the gate did with what it let in stands in the audit row of the write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.core.errors import NotAdmitted
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.apart import MEANT_FOR as MEANT_FOR
from memory.logic.apart import held_for
from memory.logic.ingress import (
    Decision,
    Incoming,
    Judged,
    Limits,
    Outcome,
    decide,
    judge,
    origin_named,
)
from memory.logic.tiers import Move, guarded, is_verified, promotion
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.door import Door


LIMITS: Final = Limits()
MOST_REJECTED: Final = 200  # of the newest; what was refused years ago may be said again

Lookup = Callable[[str], MemoryEntry | None]


@dataclass(frozen=True, slots=True)
class Known:
    """What the gate asks of a namespace. ``can_hold``: there is a quarantine that people look into."""

    present: Lookup
    recent: Sequence[MemoryEntry] = ()
    rejected: Sequence[Json] = ()
    can_hold: bool = True


@dataclass(frozen=True, slots=True)
class Passed:
    """What to store, and what the audit row says of it."""

    params: StoreParams
    detail: Mapping[str, Json]


def passed(params: StoreParams, ask: Callable[[], Known], *, by_run: bool = False) -> Passed:
    """Raises NotAdmitted with the reasons. ``ask`` is called where the namespace has to be looked at.

    What a person keeps for good, or holds back, is as they said it; what a run does never has a secret
    in it, and gives no orders of strangers.
    """
    if params.tier is not Tier.WORKING and not by_run:
        return Passed(_apart(params, ask()) if params.tier is Tier.QUARANTINE else params, {})
    if params.tier is not Tier.WORKING:
        return _judged(params, ask)
    known = ask()
    decision = decide(
        Incoming(params, origin_named(params), known.recent, known.rejected, limits=LIMITS)
    )
    kept = decision.params
    if kept is None or (decision.outcome is Outcome.QUARANTINE and not known.can_hold):
        raise _refusal(decision)
    if decision.outcome is Outcome.QUARANTINE:
        return Passed(_apart(kept, known), _detail(decision))
    return Passed(_for_good(guarded(kept, known.present(kept.key)), known), _detail(decision))


def at_door(door: Door, namespace: Namespace | None) -> Known:
    """``namespace`` is locked, so that nothing comes between the decision and the write."""
    if door.elsewhere is not None:
        return _elsewhere(door)
    if namespace is None:
        return Known(lambda key: None)
    visible = rows.visible(namespace, door.now).order_by("-updated_at", "-id")
    refused = rows.living(namespace).filter(tier=Tier.QUARANTINE, metadata__review=str(Move.REJECT))
    refused = refused.order_by("-updated_at", "-id")

    def present(key: str) -> MemoryEntry | None:
        fresh = rows.living(namespace).exclude(expires_at__lte=door.now)
        found = fresh.filter(key=key).first()
        return rows.entry_of(found, namespace.text) if found else None

    return Known(
        present,
        [rows.entry_of(one, namespace.text) for one in visible[: LIMITS.recent]],
        list(refused.values_list("value", flat=True)[:MOST_REJECTED]),
    )


def _judged(params: StoreParams, ask: Callable[[], Known]) -> Passed:
    decision = judge(params, origin_named(params))
    kept = decision.params
    detail = _detail(decision) if decision.findings else {}
    if kept.tier is not Tier.QUARANTINE:
        return Passed(kept, detail)
    known = ask()
    if params.tier is not Tier.QUARANTINE and not known.can_hold:
        raise _refusal(decision)
    return Passed(_apart(kept, known), detail)


def _elsewhere(door: Door) -> Known:
    there = door.elsewhere
    if there is None:
        raise AssertionError("asked of a namespace that is kept here")
    return Known(
        lambda key: next(iter(there.recall(MemoryQuery(door.text, key=key))), None),
        there.recall(MemoryQuery(door.text, top_k=LIMITS.recent)),
        can_hold=False,
    )


def _apart(params: StoreParams, known: Known) -> StoreParams:
    """What waits for a person takes nothing that is in use out of use."""
    there = known.present(params.key)
    if there is None or there.tier is Tier.QUARANTINE:
        return params
    return held_for(params.key, params)


def _for_good(params: StoreParams, known: Known) -> StoreParams:
    """What somebody verified has no end from the start; so has, where no sweep of ours comes by,
    whatever a sweep would keep."""
    if params.tier is not Tier.WORKING:
        return params
    written = MemoryEntry(
        "",
        params.namespace,
        params.key,
        params.value,
        params.metadata,
        category=params.category,
        tier=params.tier,
        importance=params.importance,
    )
    if is_verified(written) or (not known.can_hold and promotion(written)):
        return replace(params, tier=Tier.LONG_TERM, ttl_seconds=None)
    return params


def _detail(decision: Decision | Judged) -> dict[str, Json]:
    return {"ingress": str(decision.outcome), "reasons": _reasons(decision)}


def _refusal(decision: Decision | Judged) -> NotAdmitted:
    said = "; ".join(
        f"{one.reason} ({one.detail})" if one.detail else str(one.reason)
        for one in decision.findings
    )
    return NotAdmitted(f"Not let into working memory: {said}", tuple(_reasons(decision)))


def _reasons(decision: Decision | Judged) -> list[str]:
    return [str(one.reason) for one in decision.findings]
