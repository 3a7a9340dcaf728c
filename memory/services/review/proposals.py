"""Proposed changes of memory: kept, looked at, tried without a trace, applied as one, rejected.

Each goes through the door of its namespace; who may not write there decides nothing.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.again import tried_again
from config.ids import uuid7
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams
from memory.logic import applying, reviewing
from memory.logic.applying import Outdated
from memory.logic.planning import Diff, plan
from memory.logic.proposals import NEXT, State, joined
from memory.logic.proposals import Proposal as Proposed
from memory.logic.reviewing import Precision
from memory.models import Namespace, Proposal
from memory.permissions import names_it
from memory.providers.postgres.provider import search
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.judged import judged
from memory.services.one_act import OneAct
from memory.services.proposal_rows import proposed, row_of
from memory.services.taking_back import take_back
from memory.services.within import at_once


class _AsProposed:
    pass


AS_PROPOSED: Final = _AsProposed()
CURATION: Final = "curation"  # who decides where no person has to
MOST_A_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class ProposalPage:
    proposals: Sequence[Proposal]
    total: int
    offset: int


def proposals(
    caller: MemoryCaller,
    *,
    state: str | None = State.OPEN,
    kind: str | None = None,
    namespace: str | None = None,
    run_id: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> ProposalPage:
    """Those of namespaces the asker may look into, and of the one a programme names; the surest first."""
    wanted: dict[str, str | None] = {"state": state, "kind": kind, "run_id": run_id}
    with tenant([caller.team_id]):
        found = _among(caller, namespace).filter(
            **{name: one for name, one in wanted.items() if one}
        )
        page = found.order_by("-score", "-id")[offset : offset + min(limit, MOST_A_PAGE)]
        return ProposalPage(list(page), found.count(), offset)


def proposal(caller: MemoryCaller, *, proposal_id: UUID) -> Proposal:
    with tenant([caller.team_id]):
        found = _visible(caller).filter(pk=proposal_id).first() or _named(caller, proposal_id)
    if found is None:
        raise NotFound(_("There is no such proposal."))
    return found


@tried_again
def dry_run(caller: MemoryCaller, *, proposal_id: UUID) -> Diff:
    """What applying would do now. Nothing is written but that somebody looked."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with opened(caller, "view", "memory.listed", namespace=place) as door:
        row = Proposal.objects.unscoped().select_related("namespace").get(pk=proposal_id)
        diff = at_once(plan(proposed(row), _Looking(door)))
        door.detail.update(proposal=str(row.pk), keys=len(diff.changes))
        return diff


@tried_again
def apply_proposal(
    caller: MemoryCaller,
    *,
    proposal_id: UUID,
    value: Json | _AsProposed = AS_PROPOSED,
    reason: str = "",
) -> Proposal:
    """All of it or nothing. With ``value`` it is applied as changed, which the precision counts."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with opened(caller, "write", "memory.proposal_applied", namespace=place) as door:
        row = _locked(door, proposal_id)
        wanted = proposed(row)
        if not isinstance(value, _AsProposed):
            if wanted.new is None:
                raise InvalidInput("value: this proposal brings none.")
            row.edited = value != wanted.new.value
            wanted = replace(wanted, new=replace(wanted.new, value=value))
            row.new = row_of(wanted)["new"]
        _apply(door, row, wanted, reason)
        _decide(row, door, State.APPLIED, reason)
        return row


@tried_again
def merge_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, into: str, value: Json, reason: str = ""
) -> Proposal:
    """What is proposed as new joins a memory that is there, which says ``value`` from now on.

    The proposal stays as it was made, so that it waits in its own words when this is taken back.
    """
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with opened(caller, "write", "memory.proposal_applied", namespace=place) as door:
        row = _locked(door, proposal_id)
        wanted = proposed(row)
        there = next(iter(at_once(_Looking(door).recall(MemoryQuery(place, key=into)))), None)
        if there is None:
            raise NotFound(_("There is no such memory; it may be forgotten."))
        _apply(door, row, joined(wanted, there, value), reason)
        row.edited = True
        _decide(row, door, State.APPLIED, reason)
        return row


@tried_again
def reject_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, always: bool = False, reason: str = ""
) -> Proposal:
    """``always``: nothing that means the same is proposed there, or let in, again."""
    state = State.REJECTED_ALWAYS if always else State.REJECTED
    return _moved(caller, proposal_id, state, "memory.proposal_rejected", reason)


@tried_again
def reopen_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    return _moved(caller, proposal_id, State.OPEN, "memory.proposal_reopened", reason)


@tried_again
def undo_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    """Everything as it was before it was applied, unless somebody changed it since."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with opened(caller, "write", "memory.undone", namespace=place) as door:
        row = _locked(door, proposal_id)
        _check_move(row, State.UNDONE)
        if row.change_id is None:
            raise InvalidInput("proposal: there is no change to take back.")
        back = take_back(door, row.change_id, reason or _("undone"))
        _decide(row, door, State.UNDONE, reason)
        door.detail["keys"] = back
        return row


def keep_proposals(
    door: Door, found: Iterable[Proposed], *, run_id: str, mode: reviewing.Mode, sampled: float
) -> int:
    """Those that aren't there yet nor rejected for good. What needs no person is applied at once."""
    namespace = door.claim()
    new = [row_of(one) for one in found]
    known = _known(namespace, [str(one["fingerprint"]) for one in new])
    kept = 0
    for values in {one["fingerprint"]: one for one in new}.values():
        if values["fingerprint"] in known:
            continue
        row = Proposal.objects.unscoped().create(
            id=uuid7(), team_id=namespace.team_id, namespace=namespace, run_id=run_id, **values
        )
        kept += 1
        wanted = proposed(row)
        if not reviewing.waits(wanted, mode, sampled=sampled):
            _apply_unasked(door, row, wanted)
    return kept


def rejected_values(namespace: Namespace | None) -> list[Json]:
    """What people refused for good in a namespace."""
    if namespace is None:
        return []
    never = Proposal.objects.unscoped().filter(
        namespace=namespace, state=State.REJECTED_ALWAYS, kind="add"
    )
    return [new["value"] for new in never.values_list("new", flat=True) if new]


def precision_of(caller: MemoryCaller, *, namespace: str | None = None) -> dict[str, Precision]:
    """By who proposed: how often people agreed. What was applied without one counts once it was taken back."""
    with tenant([caller.team_id]):
        found = judged(_among(caller, namespace))
        decided: dict[str, list[tuple[State, bool]]] = {}
        for by, verdict, edited in found.values_list("by", "verdict", "edited"):
            decided.setdefault(by, []).append((State(verdict), edited))
    return {by: reviewing.precision(rows) for by, rows in sorted(decided.items())}


class _Looking:
    """The entries of a door's namespace for who changes nothing."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        row = self._door.place.row
        if row is None:
            return []
        if self._door.elsewhere is not None:
            return self._door.elsewhere.recall(query)
        return search(row, query, self._door.now)

    async def store(self, params: StoreParams) -> MemoryEntry:
        raise InvalidInput(f"{params.key}: a dry run writes nothing.")

    async def delete(self, namespace: str, key: str) -> bool:
        raise InvalidInput(f"{key}: a dry run writes nothing.")


def _visible(caller: MemoryCaller) -> QuerySet[Proposal]:
    rows = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    return rows.select_related("namespace")


def _among(caller: MemoryCaller, namespace: str | None) -> QuerySet[Proposal]:
    if not namespace:
        return _visible(caller)
    rows = Namespace.objects.unscoped().filter(team_id=caller.team_id, text=namespace)
    there = rows.first()
    if there is not None and names_it(caller.principal, "view", there):
        return Proposal.objects.unscoped().select_related("namespace").filter(namespace=there)
    return _visible(caller).filter(namespace__text=namespace)


def _named(caller: MemoryCaller, proposal_id: UUID) -> Proposal | None:
    """By its id a programme names whose it is, as with a memory."""
    rows = Proposal.objects.unscoped().select_related("namespace")
    row = rows.filter(team_id=caller.team_id, pk=proposal_id).first()
    return row if row and names_it(caller.principal, "view", row.namespace) else None


def _locked(door: Door, proposal_id: UUID) -> Proposal:
    """After its namespace, as whoever proposes, curates or erases there does."""
    door.lock()
    rows = Proposal.objects.unscoped().select_related("namespace")
    return rows.select_for_update(of=("self",)).get(pk=proposal_id)


def _apply(door: Door, row: Proposal, wanted: Proposed, reason: str) -> None:
    """Whoever takes memories away needs the right to forget, too."""
    _check_move(row, State.APPLIED)
    entries = OneAct(door, reason=reason or row.reason)
    takes = any(one.after is None for one in at_once(plan(wanted, entries)).changes)
    forgets = opened(door.caller, "forget", "memory.forgotten", namespace=door.text)
    with forgets if takes else nullcontext():
        applied = at_once(applying.apply(wanted, entries))
    row.change_id = entries.change_id
    door.detail.update(
        proposal=str(row.pk), change=str(entries.change_id), keys=len(applied.written)
    )


def _apply_unasked(door: Door, row: Proposal, wanted: Proposed) -> None:
    try:
        _apply(door, row, wanted, CURATION)
    except Outdated:
        return  # it waits for a person, who sees why
    row.by_itself = True
    _decide(row, door, State.APPLIED, "")


def _moved(
    caller: MemoryCaller, proposal_id: UUID, state: State, action: str, reason: str
) -> Proposal:
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with opened(caller, "write", action, namespace=place) as door:
        row = _locked(door, proposal_id)
        _check_move(row, state)
        if state is State.OPEN and _known(row.namespace, [row.fingerprint], {State.OPEN}):
            raise InvalidInput("state: the same is proposed again already.")
        _decide(row, door, state, reason)
        return row


def _check_move(row: Proposal, state: State) -> None:
    if state not in NEXT[State(row.state)]:
        raise InvalidInput(f"state: {row.state} is not followed by {state}.")


def _decide(row: Proposal, door: Door, state: State, reason: str) -> None:
    row.state = state.value
    row.decided_at = None if state is State.OPEN else door.now
    row.decided_by = "" if state is State.OPEN else door.caller.principal.actor
    row.decision = reason[:500]
    row.save()
    door.detail.setdefault("proposal", str(row.pk))


def _known(
    namespace: Namespace,
    prints: Sequence[str],
    states: Iterable[State] = (State.OPEN, State.REJECTED_ALWAYS),
) -> set[str]:
    found = Proposal.objects.unscoped().filter(
        namespace=namespace, fingerprint__in=prints, state__in=[one.value for one in states]
    )
    return set(found.values_list("fingerprint", flat=True))
