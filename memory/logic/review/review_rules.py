"""Which proposals wait for a person, and how often people agree with who proposed them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.logic.review.proposals import Kind, Proposal, State, fingerprint


class Mode(StrEnum):
    OFF = "off"  # what needs no decision is applied at once
    SAMPLE = "sample"  # a share of it waits, so that someone notices when it gets worse
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Precision:
    """Of the proposals people decided on, how many were right as they stood, or nearly."""

    accepted: int = 0
    edited: int = 0
    rejected: int = 0

    @property
    def decided(self) -> int:
        return self.accepted + self.edited + self.rejected

    @property
    def share(self) -> float | None:
        """0 to 1; nothing while nobody decided anything. An edited one was right half-way."""
        if not self.decided:
            return None
        return (self.accepted + self.edited / 2) / self.decided


def waits(proposal: Proposal, mode: Mode, *, sampled: float = 0.1) -> bool:
    """Additions, links and promotions may pass; what takes something away always waits.

    The sample is of meanings, not of moments: asked twice, the same proposal gets the same answer.
    """
    if not 0.0 <= sampled <= 1.0:
        raise InvalidInput("sampled: must be from 0 to 1.")
    if proposal.kind not in _HARMLESS or mode is Mode.ALL:
        return True
    return mode is Mode.SAMPLE and _place(proposal) < sampled


def precision(decided: Iterable[tuple[State, bool]]) -> Precision:
    """From each proposal's state and whether it was edited before it was accepted."""
    counts = {"accepted": 0, "edited": 0, "rejected": 0}
    for state, edited in decided:
        match state:
            case State.APPLIED:
                counts["edited" if edited else "accepted"] += 1
            case State.REJECTED | State.REJECTED_ALWAYS | State.UNDONE:
                counts["rejected"] += 1  # undone is a rejection that came late
    return Precision(**counts)


_HARMLESS = frozenset({Kind.ADD, Kind.LINK, Kind.PROMOTE})


def _place(proposal: Proposal) -> float:
    """Evenly from 0 to 1, by the meaning alone."""
    digest = hashlib.sha256(fingerprint(proposal).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
