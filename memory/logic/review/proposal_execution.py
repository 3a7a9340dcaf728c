"""Making a proposal's changes, all or none, and taking them back."""

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
from memory.logic.review.proposal_plans import Problem, plan
from memory.logic.review.proposals import Proposal, State, move


@dataclass(frozen=True, slots=True)
class Applied:
    """``written`` undoes it, newest first."""

    proposal: Proposal
    written: tuple[EntryWrite, ...]


class Outdated(InvalidInput):
    """What was to be changed is no longer as it was."""


def apply(proposal: Proposal, entries: NamespaceStore) -> Applied:
    """All of the plan or nothing; raises ``Outdated`` where the plan has problems."""
    moved_on = move(proposal, State.APPLIED)
    diff = plan(proposal, partial(find_entry, entries, proposal.namespace))
    if not diff.applicable:
        raise Outdated("; ".join(f"{key}: {problem}" for key, problem in diff.problems))
    writes = WriteBatch(entries)
    try:
        for change in diff.changes:
            if change.after is None:
                writes.delete(proposal.namespace, change.key)
            else:
                writes.store(change.after)
    except BaseException:  # cancelled, too
        writes.roll_back()
        raise
    return Applied(moved_on, tuple(writes.writes))


def undo(applied: Applied, entries: NamespaceStore, now: datetime) -> Proposal:
    """Everything as it was before, unless someone changed it since: then nothing, and ``Outdated``.

    What would have ended meanwhile stays away.
    """
    undone = move(applied.proposal, State.UNDONE)
    for one in applied.written:
        if not _untouched(one.after, find_entry(entries, one.namespace, one.key)):
            raise Outdated(f"{one.key}: {Problem.CHANGED}")
    writes = WriteBatch(entries)
    try:
        for one in reversed(applied.written):
            _put_back(one, writes, now)
    except BaseException:  # cancelled, too
        writes.roll_back()
        raise
    return undone


def _untouched(after: MemoryEntry | None, present: MemoryEntry | None) -> bool:
    if after is None or present is None:
        return after is None and present is None
    return (after.id, after.revision) == (present.id, present.revision)


def _put_back(one: EntryWrite, writes: WriteBatch, now: datetime) -> None:
    before = one.before
    if before is None or (before.expires_at is not None and before.expires_at <= now):
        writes.delete(one.namespace, one.key)
    else:
        writes.store(build_restore_params(before, now))
