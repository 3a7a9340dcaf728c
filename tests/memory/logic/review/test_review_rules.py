"""The review queue's rules: off, sample, all; and the counter that says whether to trust it."""

from dataclasses import replace

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import MemoryEntry, StoreParams
from memory.logic.review.proposals import Kind, Proposal, State, Target
from memory.logic.review.review_rules import Mode, Precision, precision, waits
from tests.memory.logic.support import NAMESPACE


def adding(text: str) -> Proposal:
    return Proposal("p", Kind.ADD, NAMESPACE, new=StoreParams(NAMESPACE, "k", value=text))


FORGETTING = Proposal(
    "p",
    Kind.FORGET,
    NAMESPACE,
    (Target.of(MemoryEntry("e", NAMESPACE, "k", value="Alice likes tea")),),
)

WAITING = [
    (adding("Alice likes tea"), Mode.OFF, False),
    (adding("Alice likes tea"), Mode.ALL, True),
    (FORGETTING, Mode.OFF, True),
    (FORGETTING, Mode.SAMPLE, True),
]


@pytest.mark.parametrize(("proposal", "mode", "expected"), WAITING)
def test_proposal_waits(proposal: Proposal, mode: Mode, expected: bool):
    assert waits(proposal, mode) is expected


def test_sample_takes_its_share_and_the_same_ones_again():
    made = [adding(f"fact number {n}") for n in range(1_000)]

    sampled = [one for one in made if waits(one, Mode.SAMPLE, sampled=0.2)]

    assert 150 < len(sampled) < 250
    again = [replace(one, id="other", score=0.9) for one in sampled]
    assert all(waits(one, Mode.SAMPLE, sampled=0.2) for one in again)
    assert not any(waits(one, Mode.SAMPLE, sampled=0) for one in made)
    assert all(waits(one, Mode.SAMPLE, sampled=1) for one in made)


def test_sample_of_more_than_all_is_refused():
    with pytest.raises(InvalidInput):
        waits(FORGETTING, Mode.SAMPLE, sampled=1.5)


def test_precision_counts_decisions_alone():
    decided = [
        (State.APPLIED, False),
        (State.APPLIED, False),
        (State.APPLIED, True),
        (State.REJECTED, False),
        (State.REJECTED_ALWAYS, False),
        (State.UNDONE, False),
        (State.OPEN, False),
    ]

    found = precision(decided)

    assert found == Precision(accepted=2, edited=1, rejected=3)
    assert found.share == pytest.approx(2.5 / 6)
    assert precision([(State.OPEN, False)]).share is None
