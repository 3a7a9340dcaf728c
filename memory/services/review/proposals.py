"""Proposed changes of memory: kept, looked at, tried without a trace, applied as one, rejected.

Each goes through the door of its namespace; who may not write there decides nothing.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.provider import NamespaceStore
from memory.core.records import Json
from memory.logic.entries.write_batch import find_entry
from memory.logic.review import proposal_execution, review_rules
from memory.logic.review.proposal_execution import Outdated
from memory.logic.review.proposal_plans import Diff, Lookup, plan
from memory.logic.review.proposals import NEXT, State, joined
from memory.logic.review.proposals import Proposal as Proposed
from memory.logic.review.review_rules import Precision
from memory.models import Namespace, Proposal
from memory.permissions import is_allowed_by_name
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.history.revert import revert_change
from memory.services.review.proposal_rows import proposed, row_of
from memory.services.review.review_outcomes import judged


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
        raise NotFound(_("Proposal not found."))
    return found


@retry_on_conflict
def dry_run(caller: MemoryCaller, *, proposal_id: UUID) -> Diff:
    """What applying would do now. Nothing is written but that somebody looked."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with MemoryGateway(caller).open_namespace("view", "memory.listed", namespace=place) as access:
        row = Proposal.objects.unscoped().select_related("namespace").get(pk=proposal_id)
        diff = plan(proposed(row), _lookup(access.store(), place))
        access.detail.update(proposal=str(row.pk), keys=len(diff.changes))
        return diff


@retry_on_conflict
def apply_proposal(
    caller: MemoryCaller,
    *,
    proposal_id: UUID,
    value: Json | _AsProposed = AS_PROPOSED,
    reason: str = "",
) -> Proposal:
    """All of it or nothing. With ``value`` it is applied as changed, which the precision counts."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with MemoryGateway(caller).open_namespace(
        "write", "memory.proposal_applied", namespace=place
    ) as access:
        row = _locked(access, proposal_id)
        wanted = proposed(row)
        if not isinstance(value, _AsProposed):
            if wanted.new is None:
                raise InvalidInput("value: this proposal has none.")
            row.edited = value != wanted.new.value
            wanted = replace(wanted, new=replace(wanted.new, value=value))
            row.new = row_of(wanted)["new"]
        _apply(access, row, wanted, reason)
        _decide(row, access, State.APPLIED, reason)
        return row


@retry_on_conflict
def merge_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, into: str, value: Json, reason: str = ""
) -> Proposal:
    """What is proposed as new joins a memory that is there, which says ``value`` from now on.

    The proposal stays as it was made, so that it waits in its own words when this is taken back.
    """
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with MemoryGateway(caller).open_namespace(
        "write", "memory.proposal_applied", namespace=place
    ) as access:
        row = _locked(access, proposal_id)
        wanted = proposed(row)
        there = find_entry(access.store(), place, into)
        if there is None:
            raise NotFound(_("Memory not found. It may have been forgotten."))
        _apply(access, row, joined(wanted, there, value), reason)
        row.edited = True
        _decide(row, access, State.APPLIED, reason)
        return row


@retry_on_conflict
def reject_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, always: bool = False, reason: str = ""
) -> Proposal:
    """``always``: nothing that means the same is proposed there, or let in, again."""
    state = State.REJECTED_ALWAYS if always else State.REJECTED
    return _moved(caller, proposal_id, state, "memory.proposal_rejected", reason)


@retry_on_conflict
def reopen_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    return _moved(caller, proposal_id, State.OPEN, "memory.proposal_reopened", reason)


@retry_on_conflict
def undo_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    """Everything as it was before it was applied, unless somebody changed it since."""
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with MemoryGateway(caller).open_namespace("write", "memory.undone", namespace=place) as access:
        row = _locked(access, proposal_id)
        _check_move(row, State.UNDONE)
        if row.change_id is None:
            raise InvalidInput("proposal: there is no change to undo.")
        back = revert_change(access, row.change_id, reason or _("undone at"))
        _decide(row, access, State.UNDONE, reason)
        access.detail["keys"] = back
        return row


def keep_proposals(
    access: NamespaceAccess,
    found: Iterable[Proposed],
    *,
    run_id: str,
    mode: review_rules.Mode,
    sampled: float,
) -> int:
    """Those that aren't there yet nor rejected for good. What needs no person is applied at once."""
    namespace = access.claim()
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
        if not review_rules.waits(wanted, mode, sampled=sampled):
            _apply_unasked(access, row, wanted)
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
    return {by: review_rules.precision(rows) for by, rows in sorted(decided.items())}


def _lookup(store: NamespaceStore, namespace: str) -> Lookup:
    return partial(find_entry, store, namespace)


def _visible(caller: MemoryCaller) -> QuerySet[Proposal]:
    rows = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    return rows.select_related("namespace")


def _among(caller: MemoryCaller, namespace: str | None) -> QuerySet[Proposal]:
    if not namespace:
        return _visible(caller)
    rows = Namespace.objects.unscoped().filter(team_id=caller.team_id, text=namespace)
    there = rows.first()
    if there is not None and is_allowed_by_name(caller.principal, "view", there):
        return Proposal.objects.unscoped().select_related("namespace").filter(namespace=there)
    return _visible(caller).filter(namespace__text=namespace)


def _named(caller: MemoryCaller, proposal_id: UUID) -> Proposal | None:
    """By its id a programme names whose it is, as with a memory."""
    rows = Proposal.objects.unscoped().select_related("namespace")
    row = rows.filter(team_id=caller.team_id, pk=proposal_id).first()
    return row if row and is_allowed_by_name(caller.principal, "view", row.namespace) else None


def _locked(access: NamespaceAccess, proposal_id: UUID) -> Proposal:
    """After its namespace, as whoever proposes, curates or erases there does."""
    access.lock()
    rows = Proposal.objects.unscoped().select_related("namespace")
    return rows.select_for_update(of=("self",)).get(pk=proposal_id)


def _apply(access: NamespaceAccess, row: Proposal, wanted: Proposed, reason: str) -> None:
    """Whoever takes memories away needs the right to forget, too."""
    _check_move(row, State.APPLIED)
    batch = Batch(access, reason or row.reason)
    diff = plan(wanted, _lookup(batch.store, wanted.namespace))
    takes = any(one.after is None for one in diff.changes)
    forgets = MemoryGateway(access.caller).open_namespace(
        "forget", "memory.forgotten", namespace=access.text
    )
    with forgets if takes else nullcontext():
        applied = proposal_execution.apply(wanted, batch.store)
    row.change_id = batch.change_id
    access.detail.update(
        proposal=str(row.pk), change=str(batch.change_id), keys=len(applied.written)
    )


def _apply_unasked(access: NamespaceAccess, row: Proposal, wanted: Proposed) -> None:
    try:
        _apply(access, row, wanted, CURATION)
    except Outdated:
        return  # it waits for a person, who sees why
    row.by_itself = True
    _decide(row, access, State.APPLIED, "")


def _moved(
    caller: MemoryCaller, proposal_id: UUID, state: State, action: str, reason: str
) -> Proposal:
    place = proposal(caller, proposal_id=proposal_id).namespace.text
    with MemoryGateway(caller).open_namespace("write", action, namespace=place) as access:
        row = _locked(access, proposal_id)
        _check_move(row, state)
        if state is State.OPEN and _known(row.namespace, [row.fingerprint], {State.OPEN}):
            raise InvalidInput("state: the same change has been proposed again.")
        _decide(row, access, state, reason)
        return row


def _check_move(row: Proposal, state: State) -> None:
    if state not in NEXT[State(row.state)]:
        raise InvalidInput(f"state: can't change from {row.state} to {state}.")


def _decide(row: Proposal, access: NamespaceAccess, state: State, reason: str) -> None:
    row.state = state.value
    row.decided_at = None if state is State.OPEN else access.now
    row.decided_by = "" if state is State.OPEN else access.caller.principal.actor
    row.decision = reason[:500]
    row.save()
    access.detail.setdefault("proposal", str(row.pk))


def _known(
    namespace: Namespace,
    prints: Sequence[str],
    states: Iterable[State] = (State.OPEN, State.REJECTED_ALWAYS),
) -> set[str]:
    found = Proposal.objects.unscoped().filter(
        namespace=namespace, fingerprint__in=prints, state__in=[one.value for one in states]
    )
    return set(found.values_list("fingerprint", flat=True))
