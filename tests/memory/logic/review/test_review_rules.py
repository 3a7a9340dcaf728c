"""The review queue's rules: off, sample, all; and the counter that says whether to trust it."""

from dataclasses import replace

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import MemoryEntry, StoreParams
from memory.logic.review.proposals import ChangeKind, Proposal, ReviewState, Target
from memory.logic.review.review_rules import Precision, ReviewMode, compute_precision, needs_review
from tests.memory.logic.support import NAMESPACE


def adding(text: str) -> Proposal:
    return Proposal("p", ChangeKind.ADD, NAMESPACE, new=StoreParams(NAMESPACE, "k", value=text))


FORGETTING = Proposal(
    "p",
    ChangeKind.FORGET,
    NAMESPACE,
    (Target.from_entry(MemoryEntry("e", NAMESPACE, "k", value="Alice likes tea")),),
)

WAITING = [
    (adding("Alice likes tea"), ReviewMode.OFF, False),
    (adding("Alice likes tea"), ReviewMode.ALL, True),
    (FORGETTING, ReviewMode.OFF, True),
    (FORGETTING, ReviewMode.SAMPLE, True),
]


@pytest.mark.parametrize(("proposal", "mode", "expected"), WAITING)
def test_proposal_waits(proposal: Proposal, mode: ReviewMode, expected: bool):
    assert needs_review(proposal, mode) is expected


def test_sample_takes_its_share_and_the_same_ones_again():
    made = [adding(f"fact number {n}") for n in range(1_000)]

    sampled = [one for one in made if needs_review(one, ReviewMode.SAMPLE, sample_share=0.2)]

    assert 150 < len(sampled) < 250
    again = [replace(one, id="other", score=0.9) for one in sampled]
    assert all(needs_review(one, ReviewMode.SAMPLE, sample_share=0.2) for one in again)
    assert not any(needs_review(one, ReviewMode.SAMPLE, sample_share=0) for one in made)
    assert all(needs_review(one, ReviewMode.SAMPLE, sample_share=1) for one in made)


def test_sample_of_more_than_all_is_refused():
    with pytest.raises(InvalidInput):
        needs_review(FORGETTING, ReviewMode.SAMPLE, sample_share=1.5)


def test_precision_counts_decisions_alone():
    decided = [
        (ReviewState.APPLIED, False),
        (ReviewState.APPLIED, False),
        (ReviewState.APPLIED, True),
        (ReviewState.REJECTED, False),
        (ReviewState.REJECTED_ALWAYS, False),
        (ReviewState.UNDONE, False),
        (ReviewState.OPEN, False),
    ]

    found = compute_precision(decided)

    assert found == Precision(accepted=2, edited=1, rejected=3)
    assert found.share == pytest.approx(2.5 / 6)
    assert compute_precision([(ReviewState.OPEN, False)]).share is None
