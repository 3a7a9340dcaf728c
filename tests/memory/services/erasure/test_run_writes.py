"""What runs for a person wrote into memory that others share: erased with the person, or named for somebody to decide."""

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Revision
from memory.services.erasure.erase_run_writes import RUN_WRITES, TO_DECIDE
from memory.services.erasure.erasure_decisions import list_decisions
from memory.services.erasure.erasure_jobs import order_erasure
from memory.services.gateway.caller import CallOrigin
from memory.upkeep.erasure import run_erasure
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from workflows.models import Run


pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(cast: Cast) -> dict[str, Run]:
    """A finished run for each of two people, of one workflow."""
    workflow = make_workflow(cast.alice)
    ended: Any = {"status": "succeeded", "finished_at": timezone.now()}
    return {name: make_run(cast.people[name], workflow, **ended) for name in ("alice", "bob")}


def write(person: Person, run: Run, key: str, value: str, scope: str = "global") -> None:
    origin = CallOrigin(str(run.pk), "node", f"{key} {value}")
    caller = replace(in_run(person, run_id=str(run.pk)), origin=origin)
    services.remember(caller, scope=scope, key=key, value=value)


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
    assert ">both</a>" in page
    assert "has words of others" in page
