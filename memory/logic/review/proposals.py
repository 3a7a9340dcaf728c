"""Proposed changes of memory, to be reviewed before they are applied.

A proposal records the state of its entries. ``proposal_plans`` computes the changes or the problem that prevents
them, without writing. ``proposal_execution`` applies exactly those changes, all or none. A
permanently rejected proposal leaves a fingerprint of its meaning, so that it isn't proposed again in other words.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry, StoreParams
from memory.logic.entries.duplicates import count_evidence, stem_words
from memory.logic.entries.texts import list_texts


_MAX_TARGETS = 1_000
SUPERSEDES = "supersedes"  # in the metadata of the new value: the key of the older of two that contradict each other
CONTRADICTING = 2


class ChangeKind(StrEnum):
    ADD = "add"
    EDIT = "edit"
    MERGE = "merge"  # into the first target; the others are forgotten
    FORGET = "forget"
    PROMOTE = "promote"
    LINK = "link"  # each target names the others


class ReviewState(StrEnum):
    OPEN = "open"
    APPLIED = "applied"
    REJECTED = "rejected"
    REJECTED_ALWAYS = "rejected_always"
    UNDONE = "undone"


# The allowed next states.
NEXT_STATES: dict[ReviewState, frozenset[ReviewState]] = {
    ReviewState.OPEN: frozenset(
        {ReviewState.APPLIED, ReviewState.REJECTED, ReviewState.REJECTED_ALWAYS}
    ),
    ReviewState.APPLIED: frozenset({ReviewState.UNDONE}),
    ReviewState.REJECTED: frozenset({ReviewState.OPEN}),
    ReviewState.REJECTED_ALWAYS: frozenset({ReviewState.OPEN}),
    ReviewState.UNDONE: frozenset({ReviewState.OPEN}),
}


@dataclass(frozen=True, slots=True)
class Target:
    """An entry as it was when the proposal was made."""

    key: str
    revision: int
    value: Json

    @classmethod
    def from_entry(cls, entry: MemoryEntry) -> "Target":
        return cls(entry.key, entry.revision, entry.value)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed change. ``new`` is what an addition, an edit or a merge stores; ``score`` is the author's certainty."""

    id: str
    kind: ChangeKind
    namespace: str
    targets: tuple[Target, ...] = ()
    new: StoreParams | None = None
    reason: str = ""
    author: str = ""
    score: float = 0.5
    state: ReviewState = ReviewState.OPEN

    @property
    def is_contradiction(self) -> bool:
        """Return whether the first target would take the place of the second: both can't be true."""
        is_merge = self.kind is ChangeKind.MERGE and len(self.targets) == CONTRADICTING
        return is_merge and self.new is not None and SUPERSEDES in self.new.metadata

    def __post_init__(self) -> None:
        minimum, maximum, needs_new = _REQUIREMENTS[self.kind]
        if not minimum <= len(self.targets) <= maximum:
            raise InvalidInput(f"targets: {self.kind} takes from {minimum} to {maximum}.")
        if (self.new is not None) != needs_new:
            raise InvalidInput(f"new: {self.kind} {'needs' if needs_new else 'takes no'} value.")
        if len({target.key for target in self.targets}) < len(self.targets):
            raise InvalidInput("targets: must be unique.")
        if self.new is not None and self.new.namespace != self.namespace:
            raise InvalidInput("new: must be in the namespace of the proposal.")


# The least and most targets of each kind, and whether it needs a new value.
_REQUIREMENTS: dict[ChangeKind, tuple[int, int, bool]] = {
    ChangeKind.ADD: (0, 0, True),
    ChangeKind.EDIT: (1, 1, True),
    ChangeKind.MERGE: (2, 50, True),
    ChangeKind.FORGET: (1, _MAX_TARGETS, False),
    ChangeKind.PROMOTE: (1, _MAX_TARGETS, False),
    ChangeKind.LINK: (2, 50, False),
}


def merge_into_entry(proposal: Proposal, present: MemoryEntry, value: Json) -> Proposal:
    """Turn an addition into an edit of an existing entry, whose new value contains both."""
    if proposal.kind is not ChangeKind.ADD or proposal.new is None:
        raise InvalidInput(f"kind: {proposal.kind} has nothing to merge.")
    evidence: dict[str, Json] = {"proofs": count_evidence(present) + 1}
    new = replace(
        proposal.new,
        key=present.key,
        value=value,
        metadata={**proposal.new.metadata, **present.metadata, **evidence},
        category=present.category,
        importance=max(present.importance, proposal.new.importance),
    )
    return replace(proposal, kind=ChangeKind.EDIT, targets=(Target.from_entry(present),), new=new)


class Choice(StrEnum):
    """A decision of a person about two memories that contradict each other."""

    NEWER = "newer"  # holds, and the older one is former
    OLDER = "older"
    BOTH = "both"  # are kept, and not proposed again


def choose_holder(proposal: Proposal, choice: Choice) -> Proposal:
    """Return the proposal of a contradiction with the entry that holds as its first target."""
    targets = proposal.targets if choice is Choice.NEWER else proposal.targets[::-1]
    return replace(proposal, targets=targets)


def change_state(proposal: Proposal, state: ReviewState) -> Proposal:
    """Return the proposal in another state; raise InvalidInput if that state can't follow."""
    if state not in NEXT_STATES[proposal.state]:
        raise InvalidInput(f"state: can't change from {proposal.state} to {state}.")
    return replace(proposal, state=state)


def compute_fingerprint(proposal: Proposal) -> str:
    """Hash the meaning: the kind, the targets and their values, and the words of the new value.

    Case, punctuation, articles and the key of a new entry don't matter; order, numbers and negations do.
    """
    targets = sorted([target.key, _normalize_value(target.value)] for target in proposal.targets)
    meaning: list[Json] = [str(proposal.kind), proposal.namespace, targets]
    if proposal.new is not None and proposal.kind is not ChangeKind.MERGE:
        meaning.append([proposal.new.category, _normalize_value(proposal.new.value)])
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _normalize_value(value: Json) -> Json:
    words = [" ".join(stem_words(text)) for text in list_texts(value)]
    return words if any(words) else value
