"""Apply a proposal's changes, all or none."""

from dataclasses import dataclass
from functools import partial

from memory.core.errors import InvalidInput
from memory.core.provider import NamespaceStore
from memory.logic.entries.write_batch import EntryWrite, WriteBatch, find_entry
from memory.logic.review.proposal_plans import plan_changes
from memory.logic.review.proposals import Proposal, ReviewState, change_state


@dataclass(frozen=True, slots=True)
class AppliedProposal:
    """An applied proposal with its writes, in their order."""

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
