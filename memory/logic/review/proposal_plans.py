"""What applying a proposal would do now: a diff to look at, one small function a kind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.tiers import TierAction, build_transition
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.review.proposals import Kind, Proposal, Target


# Finds the entry under a key in the proposal's namespace, if it may be recalled.
Lookup = Callable[[str], MemoryEntry | None]


class Problem(StrEnum):
    """Why a proposal can't be applied any more."""

    GONE = "gone"
    CHANGED = "changed"
    EXISTS = "exists"
    NOTHING_TO_DO = "nothing_to_do"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry before and after; nothing before is new, nothing after is forgotten."""

    key: str
    before: MemoryEntry | None
    after: StoreParams | None


@dataclass(frozen=True, slots=True)
class Diff:
    changes: tuple[Change, ...] = ()
    problems: tuple[tuple[str, Problem], ...] = ()

    @property
    def applicable(self) -> bool:
        return not self.problems


def plan(proposal: Proposal, lookup: Lookup) -> Diff:
    """What applying would do now. Nothing is written."""
    present = {one.key: lookup(one.key) for one in proposal.targets}
    problems = [
        (one.key, problem)
        for one in proposal.targets
        if (problem := _problem_with(one, present[one.key]))
    ]
    adds = proposal.new if proposal.kind is Kind.ADD else None
    if adds and lookup(adds.key):
        problems.append((adds.key, Problem.EXISTS))
    if problems:
        return Diff(problems=tuple(problems))
    found = [entry for entry in present.values() if entry is not None]
    changes = tuple(_CHANGES[proposal.kind](proposal, found))
    if not changes:
        return Diff(problems=((proposal.namespace, Problem.NOTHING_TO_DO),))
    return Diff(changes)


def _problem_with(target: Target, present: MemoryEntry | None) -> Problem | None:
    if present is None:
        return Problem.GONE
    # A proof more is a revision more, but the same entry to everybody who looks at it.
    if present.revision != target.revision and present.value != target.value:
        return Problem.CHANGED
    return None


def _add(proposal: Proposal, _found: list[MemoryEntry]) -> Iterable[Change]:
    if proposal.new is not None:
        yield Change(proposal.new.key, None, proposal.new)


def _edit(proposal: Proposal, found: list[MemoryEntry]) -> Iterable[Change]:
    """Where it stands, its tier and its end stay; value, category, importance and metadata are new."""
    [entry] = found
    if proposal.new is None:
        return
    after = replace(
        build_restore_params(entry),
        value=proposal.new.value,
        metadata={**entry.metadata, **proposal.new.metadata},
        category=proposal.new.category,
        importance=proposal.new.importance,
        source=proposal.new.source,
    )
    if replace(after, source=entry.source) != build_restore_params(entry):
        yield Change(entry.key, entry, after)


def _merge(proposal: Proposal, found: list[MemoryEntry]) -> Iterable[Change]:
    """The first stays under its key with everything the others prove; the link to them is kept."""
    if proposal.new is None:
        return
    survivor, *others = found
    metadata: dict[str, Json] = {}
    for entry in reversed(found):
        metadata |= entry.metadata
    metadata |= proposal.new.metadata
    metadata |= {
        "proofs": sum(map(count_evidence, found)),
        "merged_from": [{"key": one.key, "id": one.id} for one in others],
    }
    long_term = any(one.tier is Tier.LONG_TERM for one in found)
    after = replace(
        build_restore_params(survivor),
        value=proposal.new.value,
        metadata=metadata,
        tier=Tier.LONG_TERM if long_term else survivor.tier,
        importance=max(one.importance for one in found),
        ttl_seconds=_longest_life(found),
        source=proposal.new.source,
    )
    yield Change(survivor.key, survivor, after)
    yield from (Change(one.key, one, None) for one in others)


def _longest_life(found: list[MemoryEntry]) -> float | None:
    lives = [build_restore_params(one).ttl_seconds for one in found]
    ended = [life for life in lives if life is not None]
    return max(ended) if len(ended) == len(lives) else None


def _forget(_proposal: Proposal, found: list[MemoryEntry]) -> Iterable[Change]:
    return (Change(entry.key, entry, None) for entry in found)


def _promote(proposal: Proposal, found: list[MemoryEntry]) -> Iterable[Change]:
    for entry in found:
        if entry.tier is Tier.WORKING:
            kept = build_transition(
                entry, TierAction.PROMOTE, Tier.LONG_TERM, reason=proposal.reason
            )
            yield Change(entry.key, entry, kept)


def _link(_proposal: Proposal, found: list[MemoryEntry]) -> Iterable[Change]:
    for entry in found:
        known = [one for one in entry.metadata.get("related", ()) if isinstance(one, str)]
        new = [one.key for one in found if one.key != entry.key and one.key not in known]
        if new:
            metadata = {**entry.metadata, "related": [*known, *new]}
            yield Change(entry.key, entry, replace(build_restore_params(entry), metadata=metadata))


_CHANGES: dict[Kind, Callable[[Proposal, list[MemoryEntry]], Iterable[Change]]] = {
    Kind.ADD: _add,
    Kind.EDIT: _edit,
    Kind.MERGE: _merge,
    Kind.FORGET: _forget,
    Kind.PROMOTE: _promote,
    Kind.LINK: _link,
}
