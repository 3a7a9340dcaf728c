"""Proposed changes of memory: list, preview, apply, merge, reject, reopen and undo them.

Each operation passes the gateway of the proposal's namespace, so only people who may write there decide.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
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
from memory.core.records import Json
from memory.logic.entries.write_batch import find_entry
from memory.logic.review import proposal_execution
from memory.logic.review.proposal_execution import OutdatedProposal
from memory.logic.review.proposal_plans import ProposalDiff, plan_changes
from memory.logic.review.proposals import (
    NEXT_STATES,
    Choice,
    ReviewState,
    choose_holder,
    merge_into_entry,
)
from memory.logic.review.proposals import Proposal as ProposedChange
from memory.logic.review.review_rules import Precision, compute_precision, needs_review
from memory.models import Namespace, Proposal
from memory.permissions import is_allowed_by_name
from memory.providers.postgres.rows import find_namespace
from memory.services.curation.learning_rules import LearningRule
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.marks import check_may_approve
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.history.revert import UNDONE, revert_change
from memory.services.review.proposal_rows import to_proposal, to_row_fields
from memory.services.review.review_outcomes import annotate_verdicts


class _AsProposed:
    pass


AS_PROPOSED: Final = _AsProposed()
CURATION: Final = "curation"  # the reason of changes that are applied automatically
MAX_PAGE_SIZE: Final = 200


@dataclass(frozen=True, slots=True)
class ProposalPage:
    proposals: Sequence[Proposal]
    total: int
    offset: int


def list_proposals(
    caller: MemoryCaller,
    *,
    state: str | None = ReviewState.OPEN,
    kind: str | None = None,
    namespace: str | None = None,
    run_id: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> ProposalPage:
    """Return a page of the proposals that the caller may read, those with the highest score first.

    A key that gives an external user's namespace also gets the proposals for it.
    """
    conditions: dict[str, str | None] = {"state": state, "kind": kind, "run_id": run_id}
    with tenant([caller.team_id]):
        matches = _select_proposals(caller, namespace).filter(
            **{name: condition for name, condition in conditions.items() if condition}
        )
        page = matches.order_by("-score", "-id")[offset : offset + min(limit, MAX_PAGE_SIZE)]
        return ProposalPage(list(page), matches.count(), offset)


def get_proposal(caller: MemoryCaller, *, proposal_id: UUID) -> Proposal:
    with tenant([caller.team_id]):
        row = _select_visible(caller).filter(pk=proposal_id).first()
        row = row or _find_in_named_namespace(caller, proposal_id)
    if row is None:
        raise NotFound(_("Proposal not found."))
    return row


@retry_on_conflict
def preview_proposal(caller: MemoryCaller, *, proposal_id: UUID) -> ProposalDiff:
    """Return what applying the proposal would change now. Only the read is audited."""
    text = get_proposal(caller, proposal_id=proposal_id).namespace.text
    with open_namespace(caller, "view", "memory.listed", namespace=text) as access:
        row = Proposal.objects.unscoped().select_related("namespace").get(pk=proposal_id)
        diff = plan_changes(to_proposal(row), partial(find_entry, access.open_store(), text))
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
    """Apply the whole proposal or nothing. With another ``value`` than the proposed one, it counts as edited."""
    with _open_proposal(caller, proposal_id, "memory.proposal_applied") as (access, row):
        check_may_approve(caller)
        change = to_proposal(row)
        if not isinstance(value, _AsProposed):
            if change.new is None:
                raise InvalidInput("value: this proposal has none.")
            row.edited = value != change.new.value
            change = replace(change, new=replace(change.new, value=value))
            row.new = to_row_fields(change)["new"]
        _apply_change(access, row, change, reason)
        return _save_decision(row, access, ReviewState.APPLIED, reason)


@retry_on_conflict
def decide_contradiction(
    caller: MemoryCaller, *, proposal_id: UUID, choice: Choice, reason: str = ""
) -> Proposal:
    """Let one of two entries that contradict each other hold, or keep both, which isn't proposed again."""
    is_kept = choice is Choice.BOTH
    action = "memory.proposal_rejected" if is_kept else "memory.proposal_applied"
    with _open_proposal(caller, proposal_id, action) as (access, row):
        check_may_approve(caller)
        change = to_proposal(row)
        if not change.is_contradiction:
            raise InvalidInput("choice: only for two memories that contradict each other.")
        if is_kept:
            _check_transition(row, ReviewState.REJECTED_ALWAYS)
            return _save_decision(row, access, ReviewState.REJECTED_ALWAYS, reason)
        _apply_change(access, row, choose_holder(change, choice), reason)
        row.edited = choice is Choice.OLDER
        return _save_decision(row, access, ReviewState.APPLIED, reason)


@retry_on_conflict
def merge_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, into: str, value: Json, reason: str = ""
) -> Proposal:
    """Merge a proposed entry into the entry with the key ``into``, which gets this value.

    The proposal keeps its proposed value, which is shown again if the merge is undone.
    """
    with _open_proposal(caller, proposal_id, "memory.proposal_applied") as (access, row):
        check_may_approve(caller)
        entry = find_entry(access.open_store(), access.text, into)
        if entry is None:
            raise NotFound(_("Memory not found. It may have been forgotten."))
        _apply_change(access, row, merge_into_entry(to_proposal(row), entry, value), reason)
        row.edited = True
        return _save_decision(row, access, ReviewState.APPLIED, reason)


@retry_on_conflict
def reject_proposal(
    caller: MemoryCaller, *, proposal_id: UUID, always: bool = False, reason: str = ""
) -> Proposal:
    """Reject the proposal. With ``always``, nothing with the same meaning is proposed or stored there again."""
    state = ReviewState.REJECTED_ALWAYS if always else ReviewState.REJECTED
    return _change_state(caller, proposal_id, state, "memory.proposal_rejected", reason)


@retry_on_conflict
def reopen_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    return _change_state(caller, proposal_id, ReviewState.OPEN, "memory.proposal_reopened", reason)


@retry_on_conflict
def undo_proposal(caller: MemoryCaller, *, proposal_id: UUID, reason: str = "") -> Proposal:
    """Revert the applied proposal. Raise OutdatedProposal if one of its entries has been changed since."""
    with _open_proposal(caller, proposal_id, "memory.undone") as (access, row):
        _check_transition(row, ReviewState.UNDONE)
        if row.change_id is None:
            raise InvalidInput("proposal: there is no change to undo.")
        count = revert_change(access, row.change_id, reason or UNDONE)
        access.detail["keys"] = count
        return _save_decision(row, access, ReviewState.UNDONE, reason)


def save_proposals(
    access: NamespaceAccess,
    proposals: Iterable[ProposedChange],
    *,
    run_id: str,
    learning: LearningRule,
) -> int:
    """Save the proposals that are neither open already nor permanently rejected, and return their number.

    Proposals that need no decision by a person are applied at once.
    """
    namespace = access.claim()
    new_rows = {row["fingerprint"]: row for row in map(to_row_fields, proposals)}
    for known_fingerprint in _find_fingerprints(namespace, [*new_rows]):
        del new_rows[known_fingerprint]
    for values in new_rows.values():
        row = Proposal.objects.unscoped().create(
            id=uuid7(), team_id=namespace.team_id, namespace=namespace, run_id=run_id, **values
        )
        change = to_proposal(row)
        if not needs_review(change, learning.review, sample_share=learning.sampled):
            _apply_automatically(access, row, change)
    return len(new_rows)


def list_rejected_values(namespace: Namespace | None) -> list[Json]:
    """Return the values that people rejected permanently in a namespace."""
    if namespace is None:
        return []
    rejections = Proposal.objects.unscoped().filter(
        namespace=namespace, state=ReviewState.REJECTED_ALWAYS, kind="add"
    )
    return [new["value"] for new in rejections.values_list("new", flat=True) if new]


def measure_precision(
    caller: MemoryCaller, *, namespace: str | None = None
) -> dict[str, Precision]:
    """Return how often people agreed, by proposer. An automatic change only counts if a person reverted it."""
    with tenant([caller.team_id]):
        outcomes = annotate_verdicts(_select_proposals(caller, namespace))
        decisions: dict[str, list[tuple[ReviewState, bool]]] = {}
        for proposer, verdict, edited in outcomes.values_list("by", "verdict", "edited"):
            decisions.setdefault(proposer, []).append((ReviewState(verdict), edited))
    return {proposer: compute_precision(pairs) for proposer, pairs in sorted(decisions.items())}


def _select_visible(caller: MemoryCaller) -> QuerySet[Proposal]:
    return select_visible(caller, Proposal).select_related("namespace")


def _select_proposals(caller: MemoryCaller, namespace: str | None) -> QuerySet[Proposal]:
    if not namespace:
        return _select_visible(caller)
    row = find_namespace(caller.team_id, namespace)
    if row is not None and is_allowed_by_name(caller.principal, "view", row):
        return Proposal.objects.unscoped().select_related("namespace").filter(namespace=row)
    return _select_visible(caller).filter(namespace__text=namespace)


def _find_in_named_namespace(caller: MemoryCaller, proposal_id: UUID) -> Proposal | None:
    """Return the proposal if the caller is a key that has access to its namespace by naming the external user."""
    rows = Proposal.objects.unscoped().select_related("namespace")
    row = rows.filter(team_id=caller.team_id, pk=proposal_id).first()
    return row if row and is_allowed_by_name(caller.principal, "view", row.namespace) else None


@contextmanager
def _open_proposal(
    caller: MemoryCaller, proposal_id: UUID, action: str
) -> Iterator[tuple[NamespaceAccess, Proposal]]:
    """Lock the namespace and then the proposal, in the order that proposing, curating and erasing use."""
    text = get_proposal(caller, proposal_id=proposal_id).namespace.text
    with open_namespace(caller, "write", action, namespace=text) as access:
        access.lock()
        rows = Proposal.objects.unscoped().select_related("namespace")
        yield access, rows.select_for_update(of=("self",)).get(pk=proposal_id)


def _apply_change(
    access: NamespaceAccess, row: Proposal, change: ProposedChange, reason: str
) -> None:
    """Apply the change as one batch. If it removes entries, the caller also needs the permission to forget."""
    _check_transition(row, ReviewState.APPLIED)
    batch = Batch(access, reason or row.reason)
    diff = plan_changes(change, partial(find_entry, batch.store, change.namespace))
    forgets = any(entry_change.after is None for entry_change in diff.changes)
    forgetting = open_namespace(access.caller, "forget", "memory.forgotten", namespace=access.text)
    with forgetting if forgets else nullcontext():
        applied = proposal_execution.apply_proposal(change, batch.store)
    row.change_id = batch.change_id
    changed = {"change": str(batch.change_id), "keys": len(applied.writes)}
    access.detail.update(proposal=str(row.pk), **changed)


def _apply_automatically(access: NamespaceAccess, row: Proposal, change: ProposedChange) -> None:
    try:
        _apply_change(access, row, change, CURATION)
    except OutdatedProposal:
        return  # the proposal stays open for a person, who sees the problem
    row.by_itself = True
    _save_decision(row, access, ReviewState.APPLIED, "")


def _change_state(
    caller: MemoryCaller, proposal_id: UUID, state: ReviewState, action: str, reason: str
) -> Proposal:
    with _open_proposal(caller, proposal_id, action) as (access, row):
        _check_transition(row, state)
        is_open = state is ReviewState.OPEN
        if is_open and _find_fingerprints(row.namespace, [row.fingerprint], [ReviewState.OPEN]):
            raise InvalidInput("state: the same change has been proposed again.")
        return _save_decision(row, access, state, reason)


def _check_transition(row: Proposal, state: ReviewState) -> None:
    if state not in NEXT_STATES[ReviewState(row.state)]:
        raise InvalidInput(f"state: can't change from {row.state} to {state}.")


def _save_decision(
    row: Proposal, access: NamespaceAccess, state: ReviewState, reason: str
) -> Proposal:
    row.state = state.value
    row.decided_at = None if state is ReviewState.OPEN else access.now
    row.decided_by = "" if state is ReviewState.OPEN else access.caller.principal.actor
    row.decision = reason[:500]
    row.save()
    access.detail.setdefault("proposal", str(row.pk))
    return row


def _find_fingerprints(
    namespace: Namespace,
    fingerprints: Sequence[str],
    states: Iterable[ReviewState] = (ReviewState.OPEN, ReviewState.REJECTED_ALWAYS),
) -> set[str]:
    matches = Proposal.objects.unscoped().filter(
        namespace=namespace,
        fingerprint__in=fingerprints,
        state__in=[state.value for state in states],
    )
    return set(matches.values_list("fingerprint", flat=True))
