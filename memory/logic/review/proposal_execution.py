"""Applying a proposal's changes, all or none, and undoing them."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memory.core.errors import InvalidInput
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry
from memory.logic.entries.write_batch import (
    EntryWrite,
    WriteBatch,
    build_restore_params,
    find_entry,
)
from memory.logic.review.proposal_plans import PlanProblem, plan_changes
from memory.logic.review.proposals import Proposal, ReviewState, change_state


@dataclass(frozen=True, slots=True)
class AppliedProposal:
    """An applied proposal with its writes, which undoing reverts from the last to the first."""

    proposal: Proposal
    writes: tuple[EntryWrite, ...]


class OutdatedProposal(InvalidInput):
    """The entries have changed since the proposal was made or applied."""


def apply_proposal(proposal: Proposal, entries: NamespaceStore) -> AppliedProposal:
    """Apply the whole plan or none of it; raise ``OutdatedProposal`` if the plan has problems."""
    applied = change_state(proposal, ReviewState.APPLIED)
    plan = plan_changes(proposal, partial(find_entry, entries, proposal.namespace))
    if not plan.is_applicable:
        raise OutdatedProposal("; ".join(f"{key}: {problem}" for key, problem in plan.problems))
    with WriteBatch(entries) as batch:
        for change in plan.changes:
            if change.after is None:
                batch.delete(proposal.namespace, change.key)
            else:
                batch.store(change.after)
    return AppliedProposal(applied, tuple(batch.writes))


def undo_proposal(applied: AppliedProposal, entries: NamespaceStore, now: datetime) -> Proposal:
    """Restore the entries that would not have expired by ``now``; raise ``OutdatedProposal`` if one has changed."""
    undone = change_state(applied.proposal, ReviewState.UNDONE)
    for write in applied.writes:
        if not _is_unchanged(write.after, find_entry(entries, write.namespace, write.key)):
            raise OutdatedProposal(f"{write.key}: {PlanProblem.CHANGED}")
    with WriteBatch(entries) as batch:
        for write in reversed(applied.writes):
            _restore_entry(write, batch, now)
    return undone


def _is_unchanged(after: MemoryEntry | None, present: MemoryEntry | None) -> bool:
    if after is None or present is None:
        return after is None and present is None
    return (after.id, after.revision) == (present.id, present.revision)


def _restore_entry(write: EntryWrite, batch: WriteBatch, now: datetime) -> None:
    before = write.before
    if before is None or (before.expires_at is not None and before.expires_at <= now):
        batch.delete(write.namespace, write.key)
    else:
        batch.store(build_restore_params(before, now))
