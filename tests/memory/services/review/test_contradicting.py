"""What contradicts a known fact is proposed once when it is stored, and a person decides which of both holds."""

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.core.errors import InvalidInput, NotFound
from memory.core.records import MemoryEntry
from memory.logic.judgement.operations import Action, LearnRequest, Operation
from memory.logic.judgement.related_entries import MAX_COMPARED
from memory.logic.review.contradictions import Contradiction
from memory.logic.review.proposals import Choice
from memory.models import Proposal
from memory.services.entries.get_entry import get_entry
from memory.services.entries.learn import learn
from memory.services.entries.remember import remember
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.recall.recall import recall
from memory.services.review import contradicting, proposals
from memory.services.review.contradicting import propose_contradictions
from memory.services.review.proposals import decide_contradiction
from memory.services.review.review_decisions import revert_decisions
from tests.memory.services.conftest import at_door, in_run, trail
from tests.memory.services.exchanging import SHARED, brought, entry, file_of, space
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


def file_of_facts(*texts: str, namespace: str = SHARED) -> io.BytesIO:
    """Return a file with these facts, each a minute newer than the one before."""
    at = datetime(2026, 5, 1, 10, tzinfo=UTC)
    facts = [
        entry(
            f"k{number}",
            number,
            value=text,
            namespace=namespace,
            updated_at=(at + timedelta(minutes=number)).isoformat(),
        )
        for number, text in enumerate(texts, start=1)
    ]
    scope = namespace.partition(":")[0]
    return file_of(space(namespace) | {"scope": scope}, *facts)


def pairs(caller: MemoryCaller) -> list[list[str]]:
    return sorted([str(t["value"]) for t in row.targets] for row in proposed(caller))


def test_what_an_import_brings_is_proposed_against_what_is_known(cast: Cast):
    alice = at_door(cast.alice)
    remember(alice, namespace=SHARED, key="known", value="The shop opens at nine.")
    file = file_of_facts("The shop opens at ten.", "The shop sells bread.", "Ana doesn't like tea.")

    preview = brought(cast.alice, file, dry_run=True)
    assert (preview.contradiction_count, proposed(alice)) == (0, [])
    report = brought(cast.alice, file)

    assert (report.new_count, report.contradiction_count) == (3, 1)
    assert pairs(alice) == [["The shop opens at nine.", "The shop opens at ten."]]
    assert brought(cast.alice, file).contradiction_count == 0
    assert len(proposed(alice)) == 1


def test_facts_of_one_file_that_cannot_all_be_true_are_one_proposal_each(cast: Cast):
    values = [f"The shop opens at {hour}." for hour in ("six", "seven", "eight", "nine")]
    denied = ["Ana likes green tea.", "Ana does not like green tea."]

    report = brought(cast.alice, file_of_facts(*values, *denied))

    assert report.contradiction_count == 4
    assert pairs(at_door(cast.alice)) == sorted(
        [*([values[-1], value] for value in values[:-1]), [denied[1], denied[0]]]
    )


def test_import_into_ones_own_memory_is_compared_with_what_a_chat_learned(
    cast: Cast, mia: MemoryCaller
):
    say(mia, LYON)
    own = f"user:{cast.alice.user.pk}"

    brought(cast.alice, file_of_facts(OSLO, namespace=own))

    assert pairs(mia) == [[LYON, OSLO]]
    assert proposed(MemoryCaller(cast.bob.principal, cast.team_a.pk)) == []


def test_comparisons_of_an_import_grow_with_its_facts_and_not_with_their_square(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
):
    compared: list[int] = []
    real = contradicting.find_contradictions

    def count(fact: MemoryEntry, candidates: Sequence[MemoryEntry]) -> list[Contradiction]:
        compared.append(len(candidates))
        return real(fact, candidates)

    monkeypatch.setattr(contradicting, "find_contradictions", count)
    texts = [f"The price of article {number} is {number} euros." for number in range(120)]

    brought(cast.alice, file_of_facts(*texts))

    assert (len(compared), max(compared)) == (120, MAX_COMPARED)


def test_only_the_newest_facts_of_a_long_file_are_compared(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(contradicting, "MAX_IMPORTED", 2)
    texts = ["Ana lives in Zug.", "Ana lives in Bern.", "Ben lives in Rom.", "Ben lives in Köln."]

    brought(cast.alice, file_of_facts(*texts))

    assert pairs(at_door(cast.alice)) == [["Ben lives in Köln.", "Ben lives in Rom."]]
