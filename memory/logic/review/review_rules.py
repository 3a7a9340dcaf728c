"""The rules that decide whether a proposal needs a review, and the precision of proposals so far."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.logic.review.proposals import ChangeKind, Proposal, ReviewState, compute_fingerprint


_HARMLESS = frozenset({ChangeKind.ADD, ChangeKind.LINK, ChangeKind.PROMOTE})


class ReviewMode(StrEnum):
    OFF = "off"  # harmless changes are applied at once
    SAMPLE = "sample"  # a share of them waits, to measure the precision
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Precision:
    """The numbers of decided proposals: accepted as they were, edited, rejected."""

    accepted: int = 0
    edited: int = 0
    rejected: int = 0

    @property
    def decision_count(self) -> int:
        return self.accepted + self.edited + self.rejected

    @property
    def share(self) -> float | None:
        """The share of right proposals from 0 to 1, or None without decisions; an edited one counts half."""
        if not self.decision_count:
            return None
        return (self.accepted + self.edited / 2) / self.decision_count


def needs_review(proposal: Proposal, mode: ReviewMode, *, sample_share: float = 0.1) -> bool:
    """Return whether the proposal waits for a member.

    Additions, links and promotions may pass; a change that removes an entry always waits. The sample depends on the
    meaning only, so that the same proposal always gets the same result.
    """
    if not 0.0 <= sample_share <= 1.0:
        raise InvalidInput("sampled: must be from 0 to 1.")
    if proposal.kind not in _HARMLESS or mode is ReviewMode.ALL:
        return True
    return mode is ReviewMode.SAMPLE and _compute_sample_position(proposal) < sample_share


def compute_precision(outcomes: Iterable[tuple[ReviewState, bool]]) -> Precision:
    """Count the outcomes, each the state of a proposal and whether a member edited it first."""
    counts = {"accepted": 0, "edited": 0, "rejected": 0}
    for state, is_edited in outcomes:
        match state:
            case ReviewState.APPLIED:
                counts["edited" if is_edited else "accepted"] += 1
            case ReviewState.REJECTED | ReviewState.REJECTED_ALWAYS | ReviewState.UNDONE:
                counts["rejected"] += 1  # undoing is a late rejection
    return Precision(**counts)


def _compute_sample_position(proposal: Proposal) -> float:
    """Return an evenly distributed number from 0 to 1 that depends on the meaning only."""
    digest = hashlib.sha256(compute_fingerprint(proposal).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
