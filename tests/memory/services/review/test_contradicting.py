"""What contradicts a known fact is proposed once when it is stored, and a person decides which of both holds."""

from dataclasses import replace

import pytest

from memory.core.errors import InvalidInput, NotFound
from memory.core.records import MemoryEntry
from memory.logic.judgement.operations import Action, LearnRequest, Operation
from memory.logic.review.proposals import Choice
from memory.models import Proposal
from memory.services.entries.get_entry import get_entry
from memory.services.entries.learn import learn
from memory.services.entries.remember import remember
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.recall.recall import recall
from memory.services.review import proposals
from memory.services.review.contradicting import propose_contradictions
from memory.services.review.proposals import decide_contradiction
from memory.services.review.review_decisions import revert_decisions
from tests.memory.services.conftest import in_run, trail
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

LYON, OSLO = "I live in Lyon.", "I live in Oslo."


@pytest.fixture
def mia(cast: Cast) -> MemoryCaller:
    return in_run(cast.alice, user_id=str(cast.alice.user.pk), conversation_id="c1")


def say(caller: MemoryCaller, text: str) -> MemoryEntry:
    """Learn it as a model would that was not shown what is known."""
    step = replace(caller, origin=CallOrigin("r1", "store", f"r1:{text}"))
    request = LearnRequest([Operation(Action.ADD, text, key=f"k-{text}")], {}, "long_term", None)
    (change,) = learn(step, scope="user", request=request)
    assert change.entry is not None
    return change.entry


def proposed(caller: MemoryCaller) -> list[Proposal]:
    return [*proposals.list_proposals(caller).proposals]


def holding(caller: MemoryCaller) -> list[str]:
    return sorted(str(entry.value) for entry in recall(caller, scope="user"))


def test_two_statements_that_cannot_both_be_true_are_proposed_once(mia: MemoryCaller):
    lyon = say(mia, LYON)
    say(mia, "I like tea.")
    assert proposed(mia) == []

    oslo = say(mia, OSLO)

    (found,) = proposed(mia)
    assert [target["key"] for target in found.targets] == [oslo.key, lyon.key]
    assert holding(mia) == ["I like tea.", LYON, OSLO]
    assert propose_contradictions(mia, [oslo, lyon]) == 0
    assert proposed(mia) == [found]


def test_what_a_program_stored_is_compared_too(mia: MemoryCaller):
    for key, text in (("first", LYON), ("second", OSLO)):
        entry = remember(mia, scope="user", key=key, value=text)
        propose_contradictions(mia, [entry])

    (found,) = proposed(mia)
    assert [target["value"] for target in found.targets] == [OSLO, LYON]


@pytest.mark.parametrize(
    ("choice", "holds", "former"), [(Choice.NEWER, OSLO, LYON), (Choice.OLDER, LYON, OSLO)]
)
def test_loser_stays_as_a_former_memory_and_this_is_undone(
    cast: Cast, mia: MemoryCaller, choice: Choice, holds: str, former: str
):
    said = {text: say(mia, text) for text in (LYON, OSLO)}
    (found,) = proposed(mia)

    decided = decide_contradiction(mia, proposal_id=found.pk, choice=choice, reason="she moved")

    assert (decided.state, decided.decision) == ("applied", "she moved")
    assert holding(mia) == [holds]
    ended = get_entry(mia, entry_id=said[former].id)
    assert (ended.replaced_by, ended.valid_until is None) == (said[holds].id, False)
    assert get_entry(mia, entry_id=said[holds].id).replaces == said[former].id
    assert "memory.proposal_applied" in [action for action, *_rest in trail(cast.team_a.pk)]
    assert proposed(mia) == []

    revert_decisions(mia, item_ids=[found.pk])

    assert holding(mia) == [LYON, OSLO]
    assert [row.pk for row in proposed(mia)] == [found.pk]


def test_both_that_were_kept_are_not_proposed_again(mia: MemoryCaller):
    lyon, oslo = say(mia, LYON), say(mia, OSLO)
    (found,) = proposed(mia)

    decide_contradiction(mia, proposal_id=found.pk, choice=Choice.BOTH)

    assert propose_contradictions(mia, [lyon, oslo]) == 0
    assert (proposed(mia), holding(mia)) == ([], [LYON, OSLO])


def test_nobody_decides_about_the_memory_of_another_person(cast: Cast, mia: MemoryCaller):
    say(mia, LYON)
    say(mia, OSLO)
    (found,) = proposed(mia)
    bob = MemoryCaller(cast.bob.principal, cast.team_a.pk)

    with pytest.raises(NotFound):
        decide_contradiction(bob, proposal_id=found.pk, choice=Choice.NEWER)

    assert proposed(bob) == []


def test_what_was_decided_is_not_decided_again(mia: MemoryCaller):
    say(mia, LYON)
    say(mia, OSLO)
    (found,) = proposed(mia)
    decide_contradiction(mia, proposal_id=found.pk, choice=Choice.NEWER)

    with pytest.raises(InvalidInput, match="state: "):
        decide_contradiction(mia, proposal_id=found.pk, choice=Choice.OLDER)
