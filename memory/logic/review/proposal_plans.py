"""Plans of proposals: the changes that applying a proposal would make now, with one function for each kind."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from memory.core.filters import is_same_json
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.origins import drop_approval
from memory.logic.entries.tiers import TierAction, build_transition
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.review.proposals import ChangeKind, Proposal, Target


# Returns the entry under a key in the proposal's namespace, or None if there is none that may be recalled.
FindEntry = Callable[[str], MemoryEntry | None]


class PlanProblem(StrEnum):
    """The reason why a proposal can no longer be applied."""

    GONE = "gone"
    CHANGED = "changed"
    EXISTS = "exists"
    NOTHING_TO_DO = "nothing_to_do"


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry before and after a change; without ``before`` it is new, and without ``after`` it is forgotten."""

    key: str
    before: MemoryEntry | None
    after: StoreParams | None


@dataclass(frozen=True, slots=True)
class ProposalDiff:
    """The changes of a proposal, or the problems that prevent them, each with the key or namespace that it concerns."""

    changes: tuple[EntryChange, ...] = ()
    problems: tuple[tuple[str, PlanProblem], ...] = ()

    @property
    def is_applicable(self) -> bool:
        return not self.problems


def plan_changes(proposal: Proposal, find_entry: FindEntry) -> ProposalDiff:
    """Compute the changes that applying the proposal would make now, without writing."""
    current_entries = {target.key: find_entry(target.key) for target in proposal.targets}
    problems = [
        (target.key, problem)
        for target in proposal.targets
        if (problem := _find_problem(target, current_entries[target.key]))
    ]
    addition = proposal.new if proposal.kind is ChangeKind.ADD else None
    if addition and find_entry(addition.key):
        problems.append((addition.key, PlanProblem.EXISTS))
    if problems:
        return ProposalDiff(problems=tuple(problems))
    entries = [entry for entry in current_entries.values() if entry is not None]
    changes = tuple(_PLANNERS[proposal.kind](proposal, entries))
    if not changes:
        return ProposalDiff(problems=((proposal.namespace, PlanProblem.NOTHING_TO_DO),))
    return ProposalDiff(changes)


def _find_problem(target: Target, present: MemoryEntry | None) -> PlanProblem | None:
    if present is None:
        return PlanProblem.GONE
    # New evidence makes a new revision, but the content of the entry stays the same.
    if present.revision != target.revision and present.value != target.value:
        return PlanProblem.CHANGED
    return None


def _plan_addition(proposal: Proposal, _entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    if proposal.new is not None:
        yield EntryChange(proposal.new.key, None, proposal.new)


def _plan_edit(proposal: Proposal, entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    """Replace value, category, importance and source, and merge the metadata; key, tier and expiry stay."""
    [entry] = entries
    if proposal.new is None:
        return
    after = replace(
        build_restore_params(entry),
        value=proposal.new.value,
        metadata=_merge_metadata([proposal.new, entry], proposal.new.value),
        category=proposal.new.category,
        importance=proposal.new.importance,
        source=proposal.new.source,
    )
    if replace(after, source=entry.source) != build_restore_params(entry):
        yield EntryChange(entry.key, entry, after)


def _plan_merge(proposal: Proposal, entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    """Keep the first entry under its key, with the evidence of the others and links to them."""
    if proposal.new is None:
        return
    if proposal.is_contradiction:
        yield from _plan_succession(proposal.new, *entries)
        return
    survivor, *merged = entries
    metadata = _merge_metadata([proposal.new, *entries], proposal.new.value)
    metadata |= {
        "proofs": sum(map(count_evidence, entries)),
        "merged_from": [{"key": other.key, "id": other.id} for other in merged],
    }
    is_long_term = any(other.tier is Tier.LONG_TERM for other in entries)
    after = replace(
        build_restore_params(survivor),
        value=proposal.new.value,
        metadata=metadata,
        tier=Tier.LONG_TERM if is_long_term else survivor.tier,
        importance=max(other.importance for other in entries),
        ttl_seconds=_get_longest_ttl(entries),
        source=proposal.new.source,
    )
    yield EntryChange(survivor.key, survivor, after)
    yield from (EntryChange(other.key, other, None) for other in merged)


def _merge_metadata(sources: Sequence[StoreParams | MemoryEntry], value: Json) -> dict[str, Json]:
    """Return the metadata of all, the first ones outweigh the others; an approval counts only for the same value."""
    merged: dict[str, Json] = {}
    for source in reversed(sources):
        is_same = is_same_json(source.value, value)
        merged |= source.metadata if is_same else drop_approval(source.metadata)
    return merged


def _plan_succession(
    new: StoreParams, successor: MemoryEntry, predecessor: MemoryEntry
) -> Iterable[EntryChange]:
    """Let the first entry take the place of the second, which stays with the time until which it held.

    It held until the later of both was said. There is nothing to do if one of them holds no longer anyway.
    """
    if successor.valid_until is not None or predecessor.valid_until is not None:
        return
    value = new.value if new.key == successor.key else successor.value
    after = replace(build_restore_params(successor), value=value, replaces=predecessor.id)
    yield EntryChange(successor.key, successor, after)
    ended = replace(
        build_restore_params(predecessor),
        valid_until=_find_end(successor, predecessor),
        replaced_by=successor.id,
    )
    yield EntryChange(predecessor.key, predecessor, ended)


def _find_end(successor: MemoryEntry, predecessor: MemoryEntry) -> datetime | None:
    starts = [entry.valid_from or entry.created_at for entry in (successor, predecessor)]
    latest = max((start for start in starts if start is not None), default=None)
    # What was said last and doesn't hold has held for an instant: a time must have a length.
    is_instant = latest is not None and latest == predecessor.valid_from
    return latest + timedelta(microseconds=1) if latest and is_instant else latest


def _get_longest_ttl(entries: list[MemoryEntry]) -> float | None:
    ttls = [build_restore_params(entry).ttl_seconds for entry in entries]
    finite = [ttl for ttl in ttls if ttl is not None]
    return max(finite) if len(finite) == len(ttls) else None


def _plan_forgetting(_proposal: Proposal, entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    return (EntryChange(entry.key, entry, None) for entry in entries)


def _plan_promotion(proposal: Proposal, entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    for entry in entries:
        if entry.tier is Tier.WORKING:
            tier, action = Tier.LONG_TERM, TierAction.PROMOTE
            promoted = build_transition(entry, action, tier, reason=proposal.reason)
            yield EntryChange(entry.key, entry, promoted)


def _plan_links(_proposal: Proposal, entries: list[MemoryEntry]) -> Iterable[EntryChange]:
    for entry in entries:
        related = [key for key in entry.metadata.get("related", ()) if isinstance(key, str)]
        new_keys = [other.key for other in entries if other.key not in (entry.key, *related)]
        if new_keys:
            metadata = {**entry.metadata, "related": [*related, *new_keys]}
            after = replace(build_restore_params(entry), metadata=metadata)
            yield EntryChange(entry.key, entry, after)


_PLANNERS: dict[ChangeKind, Callable[[Proposal, list[MemoryEntry]], Iterable[EntryChange]]] = {
    ChangeKind.ADD: _plan_addition,
    ChangeKind.EDIT: _plan_edit,
    ChangeKind.MERGE: _plan_merge,
    ChangeKind.FORGET: _plan_forgetting,
    ChangeKind.PROMOTE: _plan_promotion,
    ChangeKind.LINK: _plan_links,
}
