"""The gate before working memory, with what the store knows: what is new there, what people refused, what is in the way.

``memory.logic.ingress`` decides; here its decision meets the namespace. A refusal is an error, so that
the door writes it down; what the gate did with what it let in stands in the audit row of the write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from django.utils import timezone

from memory.core.errors import NotAdmitted
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.apart import MEANT_FOR as MEANT_FOR
from memory.logic.apart import held_for
from memory.logic.ingress import (
    Decision,
    Incoming,
    Judged,
    Limits,
    Origin,
    Outcome,
    Reason,
    decide,
    judge,
    origin_of,
)
from memory.logic.repeated import is_made, is_saying, said_again
from memory.logic.texts import texts_in
from memory.logic.tiers import Move, guarded, is_verified, promotion
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.provider import search
from memory.services.caller import MemoryCaller
from memory.services.door import Door


LIMITS: Final = Limits()
MOST_REJECTED: Final = 200  # of the newest; what was refused years ago may be said again

MOST_ALIKE: Final = 10
LONGEST_ASKED: Final = 2_000  # characters of a text that is searched for

Lookup = Callable[[str], MemoryEntry | None]
Alike = Callable[[StoreParams], Sequence[MemoryEntry]]


def _nothing_alike(_params: StoreParams) -> Sequence[MemoryEntry]:
    return ()


@dataclass(frozen=True, slots=True)
class Known:
    """What the gate asks of a namespace. ``can_hold``: there is a quarantine that people look into.

    ``alike``: what a search finds for what is to be stored, however old.
    """

    present: Lookup
    recent: Sequence[MemoryEntry] = ()
    rejected: Sequence[Json] = ()
    can_hold: bool = True
    alike: Alike = _nothing_alike


class Who(StrEnum):
    """At whose word it is written; a run's at its author's."""

    RUN = "run"
    KEY = "key"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Passed:
    """What to store, and what the audit row says of it."""

    params: StoreParams
    detail: Mapping[str, Json]


def passed(params: StoreParams, ask: Callable[[], Known], who: Who) -> Passed:
    """Raises NotAdmitted with the reasons. ``ask`` is called where the namespace has to be looked at.

    Whoever writes it, there is no secret in it; what a stranger says gives no orders; and what a run
    says is there once, however often it is said.
    """
    if params.tier is not Tier.WORKING:
        return _judged(params, ask, said_by(params, who))
    known, origin = ask(), origin_of(params.metadata.get("origin"), _OTHERWISE[who])
    decision = decide(Incoming(params, origin, known.recent, known.rejected, limits=LIMITS))
    kept = decision.params
    if kept is None or (decision.outcome is Outcome.QUARANTINE and not known.can_hold):
        raise _refusal(decision)
    if decision.outcome is Outcome.QUARANTINE:
        return Passed(_apart(kept, known), _detail(decision))
    return Passed(_for_good(guarded(kept, known.present(kept.key)), known), _detail(decision))


def amended(params: StoreParams, ask: Callable[[], Known], who: Who) -> Passed:
    """What takes the place of an entry, wherever it is; what has to wait is kept beside it."""
    if params.tier is Tier.QUARANTINE:
        return Passed(judge(params, said_by(params, who)).params, {})
    return _judged(params, ask, said_by(params, who))


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
        alike=lambda params: search(namespace, like(params), door.now),
    )


def who_writes(caller: MemoryCaller) -> Who:
    if caller.reach is not None:
        return Who.RUN
    return Who.KEY if caller.principal.kind == "key" else Who.PERSON


def origin_otherwise(who: Who) -> Origin:
    """Whose words they are where nobody says: a programme's come from outside."""
    return _OTHERWISE[who]


def said_by(params: StoreParams, who: Who) -> Origin:
    """A person's own typing is theirs, wherever they had it from."""
    return (
        _OTHERWISE[who]
        if who is Who.PERSON
        else origin_of(params.metadata.get("origin"), _OTHERWISE[who])
    )


_OTHERWISE: Final = {Who.RUN: Origin.MODEL, Who.KEY: Origin.TOOL, Who.PERSON: Origin.PERSON}


def _judged(params: StoreParams, ask: Callable[[], Known], origin: Origin) -> Passed:
    decision = judge(params, origin)
    kept = decision.params
    detail = _detail(decision) if decision.findings else {}
    if kept.tier is not Tier.QUARANTINE:
        return _again(kept, ask, decision) or Passed(kept, detail)
    known = ask()
    if params.tier is not Tier.QUARANTINE and not known.can_hold:
        raise _refusal(decision)
    return Passed(_apart(kept, known), detail)


def _again(params: StoreParams, ask: Callable[[], Known], judged: Judged) -> Passed | None:
    """What is there already, if it is: one proof more for it. Nothing where a key was chosen."""
    if not is_made(params.key, params.source.run_id) or not is_saying(params.value):
        return None
    known = ask()
    if known.present(params.key) is not None:
        return None
    again = said_again(params, [*known.recent, *known.alike(params)], timezone.now())
    if again is None:
        return None
    return Passed(
        again,
        {"ingress": str(Outcome.MERGE), "reasons": [*_reasons(judged), str(Reason.DUPLICATE)]},
    )


def like(params: StoreParams) -> MemoryQuery:
    """The question that finds what may say the same."""
    text = " ".join(texts_in(params.value))[:LONGEST_ASKED]
    same = {"category": params.category}
    return MemoryQuery(params.namespace, query_text=text, filter=same, top_k=MOST_ALIKE)


def _elsewhere(door: Door) -> Known:
    there = door.elsewhere
    if there is None:
        raise AssertionError("asked of a namespace that is kept here")
    return Known(
        lambda key: next(iter(there.recall(MemoryQuery(door.text, key=key))), None),
        there.recall(MemoryQuery(door.text, top_k=LIMITS.recent)),
        can_hold=False,
        alike=lambda params: there.recall(like(params)),
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
