"""What runs for a person wrote into memory that others share: erased with the person, or named for somebody to decide."""

from dataclasses import replace
from typing import Any

import pytest

from accounts.tenancy import tenant
from config.ids import uuid7
from memory import services
from memory.core.errors import NotFound
from memory.core.records import Json, StoreParams, Tier
from memory.logic.review.proposal_rules import propose_addition
from memory.logic.review.review_rules import ReviewMode
from memory.models import Curation, Entry, Namespace, Proposal, Revision, RunPerson
from memory.services.curation.learning_rules import LearningRule
from memory.services.erasure.erase import RUN_PEOPLE_TABLE
from memory.services.erasure.erase_run_writes import RUN_WRITES, TO_DECIDE
from memory.services.erasure.erasure_decisions import list_decisions
from memory.services.erasure.erasure_jobs import order_erasure
from memory.services.erasure.memory_counts import SHOWN_TO_OTHERS
from memory.services.gateway.caller import CallOrigin
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.run_people import note_writer
from memory.services.review.contradicting import propose_contradictions
from memory.services.review.proposals import apply_proposal, merge_proposal, save_proposals
from memory.upkeep.erasure import run_erasure
from memory.upkeep.run_people import note_team
from tests.factories.workflows import make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.workflows.history.made import make_old, settle
from workflows.execution.history.upkeep import tidy_history
from workflows.models import Run
from workflows.services.runs.deletion import delete_run


JSON = "application/json"
OLD = 50  # days
pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(cast: Cast) -> dict[str, Run]:
    """A finished run for each of two people, of one workflow, longer ago than runs are stored."""
    workflow = make_workflow(cast.alice)
    return {name: make_old(cast.people[name], workflow, OLD) for name in ("alice", "bob")}


def write(
    person: Person, run: Run, key: str, value: Json, scope: str = "global", category: str = "fact"
) -> None:
    origin = CallOrigin(str(run.pk), "node", f"{key} {value}"[:200])
    caller = replace(in_run(person, run_id=str(run.pk)), origin=origin)
    services.remember(caller, scope=scope, key=key, value=value, category=category)


def write_all(cast: Cast, runs: dict[str, Run]) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    write(alice, runs["alice"], "own", "Alice drinks tea")
    write(alice, runs["alice"], "own", "Alice drinks green tea")
    write(alice, runs["alice"], "gone", "Alice drinks coffee")
    services.forget(in_run(alice), scope="global", key="gone")
    write(bob, runs["bob"], "both", "Bob drinks tea")
    write(alice, runs["alice"], "both", "Alice and Bob drink tea")
    write(bob, runs["bob"], "theirs", "Bob drinks coffee")


def list_keys(cast: Cast) -> set[str]:
    with tenant([cast.team_a.pk]):
        rows = Entry.objects.unscoped().filter(namespace__text="global:app")
        return set(rows.values_list("key", flat=True))


def test_what_runs_wrote_for_a_person_is_erased_unless_others_have_words_in_it(
    cast: Cast, runs: dict[str, Run]
) -> None:
    write_all(cast, runs)
    caller, subject = at_door(cast.alice), str(cast.alice.user.pk)
    planned = services.erase(caller, subject=subject, dry_run=True)

    receipt = services.erase(caller, subject=subject)

    assert list_keys(cast) == {"both", "theirs"}
    with tenant([cast.team_a.pk]):
        [both] = Entry.objects.unscoped().filter(key="both")
        values = Revision.objects.unscoped().values_list("value", flat=True)
        assert not [value for value in values if value == "Alice drinks green tea"]
    assert (receipt.tables[RUN_WRITES], receipt.left[RUN_WRITES]) == (2, 0)
    assert (receipt.kept[TO_DECIDE], receipt.to_decide) == (1, (str(both.pk),))
    assert (planned.tables[RUN_WRITES], planned.to_decide) == (2, receipt.to_decide)


def test_value_that_somebody_else_wrote_first_or_too_is_to_be_decided(
    cast: Cast, runs: dict[str, Run]
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    write(bob, runs["bob"], "first", "The office is in Rome")
    write(alice, runs["alice"], "first", "The office is in Rome")
    write(alice, runs["alice"], "second", "The office closes at six")
    write(bob, runs["bob"], "second", "The office closes at six")
    write(alice, runs["alice"], "third", "The office has a garden")
    services.remember(
        at_door(bob), namespace="global:app", key="third", value="The office has a garden"
    )

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert list_keys(cast) == {"first", "second", "third"}
    assert (receipt.tables[RUN_WRITES], len(receipt.to_decide)) == (0, 3)


def test_value_that_somebody_approved_for_another_key_is_erased_or_to_be_decided(
    cast: Cast, runs: dict[str, Run]
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    write(bob, runs["bob"], "theirs", "Bob drinks tea")
    for key in ("theirs", "own"):
        run = replace(in_run(alice), origin=CallOrigin(str(runs["alice"].pk), "node", key))
        services.remember(
            run, scope="global", key=key, value="Alice drinks tea", tier=Tier.QUARANTINE
        )
    held_ids = [row.pk for row in list_entries(cast) if row.tier == Tier.QUARANTINE]
    for held_id in held_ids:
        services.move(at_door(bob), move="approve", entry_ids=[held_id])

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert list_keys(cast) == {"theirs"}
    assert len(receipt.to_decide) == 1
    assert set(receipt.left.values()) == {0}


@pytest.mark.parametrize(("edited", "keys"), [(False, set()), (True, {"learned"})])
def test_value_that_somebody_accepted_from_a_run_is_erased_or_to_be_decided(
    cast: Cast, runs: dict[str, Run], edited: bool, keys: set[str]
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    proposal = propose_entry(alice, runs["alice"], "learned", "Alice drinks tea")
    value = {"value": "Alice drinks black tea"} if edited else {}
    apply_proposal(at_door(bob), proposal_id=proposal.pk, **value)

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert list_keys(cast) == keys
    assert (receipt.tables[RUN_WRITES], len(receipt.to_decide)) == (1 - len(keys), len(keys))


def test_value_into_which_somebody_merged_that_of_a_run_is_to_be_decided(
    cast: Cast, runs: dict[str, Run]
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    write(bob, runs["bob"], "theirs", "Bob drinks tea")
    write(bob, runs["bob"], "other", "Bob drinks coffee")
    proposal = propose_entry(alice, runs["alice"], "learned", "Alice drinks tea")
    value = "Alice and Bob drink tea"
    merge_proposal(at_door(bob), proposal_id=proposal.pk, into="theirs", value=value)

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert list_keys(cast) == {"theirs", "other"}
    assert len(receipt.to_decide) == 1


def test_receipt_names_runs_for_others_that_were_shown_what_is_erased(
    cast: Cast, runs: dict[str, Run]
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    write(alice, runs["alice"], "own", "Alice drinks tea")
    write(bob, runs["bob"], "theirs", "Bob drinks coffee")
    for person, name, key in ((bob, "bob", "own"), (bob, "bob", "theirs"), (alice, "alice", "own")):
        reader = replace(
            in_run(person), origin=CallOrigin(str(runs[name].pk), "node", f"read {key}")
        )
        services.recall(reader, scope="global", key=key, injected=True)
    gone = replace(in_run(bob), origin=CallOrigin(str(uuid7()), "node", "read"))
    services.recall(gone, scope="global", key="own", injected=True)

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert receipt.kept[SHOWN_TO_OTHERS] == 1


def list_entries(cast: Cast) -> list[Entry]:
    with tenant([cast.team_a.pk]):
        return list(Entry.objects.unscoped().filter(namespace__text="global:app").order_by("key"))


def propose_entry(person: Person, run: Run, key: str, value: str) -> Proposal:
    """Let a run propose an entry, which waits for a review."""
    caller = replace(in_run(person), origin=CallOrigin(str(run.pk), "node", key))
    draft = StoreParams("global:app", key, value=value)
    addition = propose_addition(draft, lambda: str(uuid7()), author="curation")
    with open_namespace(caller, "write", "memory.proposed", namespace="global:app") as access:
        note_writer(caller, "global:app")
        learning = LearningRule(review=ReviewMode.ALL)
        save_proposals(access, [addition], run_id=str(run.pk), learning=learning)
    with tenant([person.team.pk]):
        return Proposal.objects.unscoped().get(run_id=str(run.pk))


CITED = {"answer": "Alice has diabetes", "sources": ["https://x.example"]}
PAGE: dict[str, Json] = {
    "id": "p",
    "title": "Alice",
    "summary": "",
    "content": "Alice has diabetes",
    "tags": [],
    "references": [],
    "created_at": None,
    "updated_at": None,
}
LOOKALIKES = {
    "an answer with its sources": (CITED, "fact"),
    "a page from addresses": ({**PAGE, "sources": ["https://x.example"]}, "page"),
    "a page from unknown sources": ({**PAGE, "sources": [{"id": "x", "digest": "d"}]}, "page"),
    "a page without sources": (PAGE, "page"),
    "a source of nobody": ({"id": "x", "title": "", "kind": "text", "url": "", "text": "a"}, "source"),
    "no source": ("Alice has diabetes", "source"),
}  # fmt: skip


def test_entries_that_only_look_like_wiki_pages_or_sources_are_erased(
    cast: Cast, runs: dict[str, Run]
) -> None:
    for number, (value, category) in enumerate(LOOKALIKES.values()):
        key = f"source:{number}" if category == "source" else f"key{number}"
        write(cast.alice, runs["alice"], key, value, category=category)
        write(cast.people["bob"], runs["bob"], f"{key}-both", "Bob's words", category=category)
        write(cast.alice, runs["alice"], f"{key}-both", value, category=category)

    receipt = services.erase(at_door(cast.alice), subject=str(cast.alice.user.pk))

    assert len(list_keys(cast)) == len(LOOKALIKES)
    assert all(key.endswith("-both") for key in list_keys(cast))
    assert receipt.tables[RUN_WRITES] == len(LOOKALIKES)
    assert (len(receipt.to_decide), receipt.left[RUN_WRITES]) == (len(LOOKALIKES), 0)


def propose(person: Person, run: Run, *values: str) -> None:
    """Let a run store values that contradict each other, which is proposed to be settled."""
    for value in values:
        origin = CallOrigin(str(run.pk), "node", value)
        caller = replace(in_run(person, run_id=str(run.pk)), origin=origin)
        entry = services.remember(caller, scope="global", key=value, value=value, category="fact")
        propose_contradictions(caller, [entry])


def test_proposals_and_curations_of_a_person_are_erased_with_their_runs(
    cast: Cast, runs: dict[str, Run]
) -> None:
    team_id, bob = cast.team_a.pk, cast.people["bob"]
    propose(bob, runs["bob"], "Bob's phone number is 111", "Bob's phone number is 222")
    numbers = (f"Alice's phone number is {number}" for number in (5551234, 5559876))
    propose(cast.alice, runs["alice"], *numbers)
    with tenant([team_id]):
        for run in runs.values():
            Curation.objects.unscoped().create(
                team_id=team_id, run_id=str(run.pk), place="global:app", problem="of the run"
            )
    caller, subject = at_door(cast.alice), str(cast.alice.user.pk)
    planned = services.erase(caller, subject=subject, dry_run=True)

    receipt = services.erase(caller, subject=subject)

    with tenant([team_id]):
        [proposal] = Proposal.objects.unscoped()
        [curation] = Curation.objects.unscoped()
    assert (proposal.run_id, curation.run_id) == (str(runs["bob"].pk),) * 2
    tables = ("memory_proposal", "memory_curation")
    assert [receipt.tables[table] for table in tables] == [1, 1]
    assert [planned.tables[table] for table in tables] == [1, 1]
    assert [receipt.left[table] for table in tables] == [0, 0]


def test_upkeep_keeps_the_person_of_a_run_of_which_only_a_proposal_is_left(
    cast: Cast, runs: dict[str, Run]
) -> None:
    team_id, run_id = cast.team_a.pk, str(runs["alice"].pk)
    write(cast.people["bob"], runs["bob"], "theirs", "Bob drinks coffee")
    with tenant([team_id]):
        Proposal.objects.unscoped().create(
            team_id=team_id,
            namespace=Namespace.objects.unscoped().get(text="global:app"),
            kind="add",
            run_id=run_id,
        )

    assert note_team(team_id) == 1

    note_team(team_id)
    with tenant([team_id]):
        assert RunPerson.objects.unscoped().filter(run_id=run_id).exists()


@pytest.fixture
def visitor_run(cast: Cast) -> Run:
    """A finished run that an API key started for a user without an account."""
    workflow = make_workflow(cast.alice, "Door")
    return make_old(cast.alice, workflow, OLD, subject="visitor-7", subject_user=None)


def delete(person: Person, run: Run) -> None:
    delete_run(person.principal, run)


def expire(person: Person, run: Run) -> None:
    """Let the run end with its days."""
    settle()
    tidy_history()
    with tenant([person.team.pk]):
        assert not Run.objects.unscoped().filter(pk=run.pk).exists()


GONE = pytest.mark.parametrize("leave", [delete, expire])


@GONE
def test_what_a_run_wrote_is_erased_after_the_run_is_gone(
    cast: Cast, runs: dict[str, Run], leave: Any
) -> None:
    write_all(cast, runs)
    leave(cast.alice, runs["alice"])
    caller, subject = at_door(cast.alice), str(cast.alice.user.pk)

    receipt = services.erase(caller, subject=subject)

    assert list_keys(cast) == {"both", "theirs"}
    assert (receipt.tables[RUN_WRITES], receipt.left[RUN_WRITES]) == (2, 0)
    assert len(receipt.to_decide) == 1
    assert (receipt.tables[RUN_PEOPLE_TABLE], receipt.left[RUN_PEOPLE_TABLE]) == (1, 0)


@GONE
def test_user_of_an_api_key_is_known_by_what_their_gone_run_wrote(
    cast: Cast, visitor_run: Run, leave: Any
) -> None:
    write(cast.alice, visitor_run, "own", "The visitor drinks tea")
    leave(cast.alice, visitor_run)
    caller = at_door(cast.alice)

    receipt = services.erase(caller, subject="visitor-7")

    assert (receipt.tables[RUN_WRITES], list_keys(cast)) == (1, set())
    with pytest.raises(NotFound):  # nothing is left of them
        services.erase(caller, subject="visitor-7")


@GONE
def test_gone_run_is_found_by_the_page_and_by_the_api(
    cast: Cast, visitor_run: Run, leave: Any
) -> None:
    write(cast.alice, visitor_run, "own", "The visitor drinks tea")
    leave(cast.alice, visitor_run)
    client = cast.alice.client

    page = client.post("/memory/erase/", {"whose": "other", "person": "visitor-7", "runs": "on"})
    planned = client.post(
        "/api/v1/memory/subjects/visitor-7/erase", {"dry_run": True}, content_type=JSON
    )
    erased = client.post(
        "/api/v1/memory/subjects/visitor-7/erase", {"dry_run": False}, content_type=JSON
    )

    assert page.status_code == 200
    assert "User not found" not in page.content.decode()
    assert planned.json()["tables"][RUN_WRITES] == 1
    assert erased.json()["tables"][RUN_WRITES] == 1
    assert list_keys(cast) == set()


def test_upkeep_notes_for_whom_earlier_runs_were(cast: Cast, visitor_run: Run) -> None:
    write(cast.alice, visitor_run, "own", "The visitor drinks tea")
    team_id = cast.team_a.pk
    with tenant([team_id]):
        RunPerson.objects.unscoped().all().delete()  # as before this was noted

    assert (note_team(team_id), note_team(team_id)) == (1, 0)

    delete_run(cast.alice.principal, visitor_run)
    receipt = services.erase(at_door(cast.alice), subject="visitor-7")
    assert receipt.tables[RUN_WRITES] == 1
    note_team(team_id)
    with tenant([team_id]):  # what nothing needs is dropped
        assert not RunPerson.objects.unscoped().exists()


def test_nobody_is_noted_for_what_a_run_writes_into_memory_of_its_person(
    cast: Cast, runs: dict[str, Run]
) -> None:
    write(cast.alice, runs["alice"], "own", "Alice drinks tea", scope="user")

    with tenant([cast.team_a.pk]):
        assert not RunPerson.objects.unscoped().exists()
    assert note_team(cast.team_a.pk) == 0


def test_receipt_shows_what_is_to_be_decided_to_those_who_may_see_it(
    cast: Cast, runs: dict[str, Run]
) -> None:
    write_all(cast, runs)
    alice = cast.alice
    caller, subject = at_door(alice), str(alice.user.pk)
    erasure = order_erasure(caller, subject=subject, confirmation=alice.user.email)

    run_erasure(cast.team_a.pk, erasure.pk)

    with tenant([cast.team_a.pk]):
        erasure.refresh_from_db()
    assert erasure.status == "done", erasure.problem
    states = list_decisions(caller, erasure)
    assert [(state.entry and state.entry.key, state.may_decide) for state in states] == [
        ("both", True)
    ]
    assert list_decisions(at_door(cast.carol), erasure) == []
    page = alice.client.get(f"/memory/erase/{erasure.pk}/").content.decode()
    assert ">Alice and Bob drink tea</a>" in page
    assert "has words of others" in page
