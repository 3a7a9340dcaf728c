"""Changes of memory to look at before they are made: what would be, and why.

A proposal names what it saw. ``planning`` touches nothing and says what would change, or why it no
longer can. ``applying`` makes exactly those changes, all or none, and gives what undoes them. What
a person rejects for good has a fingerprint of its meaning, so that it isn't proposed in other words.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry, StoreParams
from memory.logic.entries.duplicates import count_evidence, stem_words
from memory.logic.entries.texts import list_texts


class Kind(StrEnum):
    ADD = "add"
    EDIT = "edit"
    MERGE = "merge"  # into the first target; the others go
    FORGET = "forget"
    PROMOTE = "promote"
    LINK = "link"  # each target names the others


class State(StrEnum):
    OPEN = "open"
    APPLIED = "applied"
    REJECTED = "rejected"
    REJECTED_ALWAYS = "rejected_always"
    UNDONE = "undone"


# What a person may do next with a proposal.
NEXT: dict[State, frozenset[State]] = {
    State.OPEN: frozenset({State.APPLIED, State.REJECTED, State.REJECTED_ALWAYS}),
    State.APPLIED: frozenset({State.UNDONE}),
    State.REJECTED: frozenset({State.OPEN}),
    State.REJECTED_ALWAYS: frozenset({State.OPEN}),
    State.UNDONE: frozenset({State.OPEN}),  # it waits again
}


@dataclass(frozen=True, slots=True)
class Target:
    """An entry as the proposal saw it."""

    key: str
    revision: int
    value: Json

    @classmethod
    def of(cls, entry: MemoryEntry) -> "Target":
        return cls(entry.key, entry.revision, entry.value)


@dataclass(frozen=True, slots=True)
class Proposal:
    """``new`` is what an add, an edit or a merge would store. ``score``: how sure whoever proposes is."""

    id: str
    kind: Kind
    namespace: str
    targets: tuple[Target, ...] = ()
    new: StoreParams | None = None
    reason: str = ""
    by: str = ""
    score: float = 0.5
    state: State = State.OPEN

    def __post_init__(self) -> None:
        least, most, needs_new = _SHAPE[self.kind]
        if not least <= len(self.targets) <= most:
            raise InvalidInput(f"targets: {self.kind} takes from {least} to {most}.")
        if (self.new is not None) != needs_new:
            raise InvalidInput(f"new: {self.kind} {'needs' if needs_new else 'takes no'} value.")
        if len({one.key for one in self.targets}) < len(self.targets):
            raise InvalidInput("targets: must be unique.")
        if self.new is not None and self.new.namespace != self.namespace:
            raise InvalidInput("new: must be in the namespace of the proposal.")


_MANY = 1_000
# How many targets a kind takes, and whether it brings a value.
_SHAPE: dict[Kind, tuple[int, int, bool]] = {
    Kind.ADD: (0, 0, True),
    Kind.EDIT: (1, 1, True),
    Kind.MERGE: (2, 50, True),
    Kind.FORGET: (1, _MANY, False),
    Kind.PROMOTE: (1, _MANY, False),
    Kind.LINK: (2, 50, False),
}


def joined(proposal: Proposal, there: MemoryEntry, value: Json) -> Proposal:
    """In place of one more memory, a change of one that is there and says both from then on."""
    if proposal.kind is not Kind.ADD or proposal.new is None:
        raise InvalidInput(f"kind: {proposal.kind} has nothing to merge.")
    metadata: dict[str, Json] = {
        **proposal.new.metadata,
        **there.metadata,
        "proofs": count_evidence(there) + 1,
    }
    new = replace(
        proposal.new,
        key=there.key,
        value=value,
        metadata=metadata,
        category=there.category,
        importance=max(there.importance, proposal.new.importance),
    )
    return replace(proposal, kind=Kind.EDIT, targets=(Target.of(there),), new=new)


def move(proposal: Proposal, state: State) -> Proposal:
    if state not in NEXT[proposal.state]:
        raise InvalidInput(f"state: can't change from {proposal.state} to {state}.")
    return replace(proposal, state=state)


def fingerprint(proposal: Proposal) -> str:
    """Of what it means: the kind, the targets and what they say, and the words of what is new.

    Case, punctuation, articles and the key of a new entry don't matter; order, numbers, a no do.
    """
    said: list[Json] = [str(proposal.kind), proposal.namespace]
    said.append(sorted([one.key, _meaning(one.value)] for one in proposal.targets))
    if proposal.new is not None and proposal.kind is not Kind.MERGE:
        said.append([proposal.new.category, _meaning(proposal.new.value)])
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def admitted(proposals: Iterable[Proposal], rejected_always: Collection[str]) -> list[Proposal]:
    """Those worth a look: not rejected for good, each meaning once, the surest first."""
    ordered = sorted(proposals, key=lambda one: (-one.score, one.id))
    first = {fingerprint(one): one for one in reversed(ordered)}
    return [
        one
        for one in ordered
        if (print_ := fingerprint(one)) not in rejected_always and first[print_] is one
    ]


def _meaning(value: Json) -> Json:
    words = [" ".join(stem_words(text)) for text in list_texts(value)]
    return words if any(words) else value
