"""Everything a run wrote, taken back from its page: counted first, done as one, and brought back."""

import re
from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.public import CallOrigin, MemoryCaller, list_reachable
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.models import Run, RunEvent


pytestmark = pytest.mark.django_db

PLACE = "global:app"


@pytest.fixture
def run(alice: Person) -> Run:
    """One that ended and remembered two things: one new, one in the place of another."""
    caller = MemoryCaller(alice.principal, alice.team.id)
    services.remember(caller, namespace=PLACE, key="city", value="Bern")
    made = make_run(
        alice, make_workflow(alice), status="succeeded", finished_at=timezone.now(), outputs={}
    )
    known = {"app_id": "app", "user_id": str(alice.user.pk)}
    for key, value in (("city", "Basel"), ("cat", "Miso")):
        entry = services.remember(
            MemoryCaller(
                alice.principal,
                alice.team.id,
                identity=known,
                reach=list_reachable(known),
                origin=CallOrigin(str(made.pk), "keep", key),
            ),
            scope="global",
            key=key,
            value=value,
        )
        told(made, entry)
    return made


def told(run: Run, entry: Any) -> None:
    said = {"id": entry.id, "key": entry.key, "value": entry.value}
    data = {"node": "keep", "scope": "global", "namespace": PLACE, "entry": said}
    with tenant([run.team_id]):
        seq = RunEvent.objects.unscoped().filter(run=run).count() + 1
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=seq, name="memory_written", data=data
        )


def living(person: Person) -> dict[str, Any]:
    with tenant([person.team.id]):
        found = Entry.objects.unscoped().filter(namespace__text=PLACE, deleted_at=None)
        return dict(found.values_list("key", "value"))


def test_undoing_is_counted_first_done_as_one_and_brought_back(alice: Person, run: Run) -> None:
    address = f"/runs/{run.pk}/memory/undo/"
    assert "Undo memory changes…" in markup_of(alice.client.get(f"/runs/{run.pk}/"))

    planned = markup_of(alice.client.post(address))
    assert "their state before this run: 2" in planned
    assert living(alice) == {"city": "Basel", "cat": "Miso"}  # a dry run changes nothing
    done = alice.client.post(address, {"sure": "1", "reason": "nonsense"}, follow=True)

    page = markup_of(done)
    assert "Memory changes of this run undone." in page
    assert living(alice) == {"city": "Bern"}
    undo = re.search(r'action="(/memory/changes/[^"]+/undo/)"', page)
    assert undo is not None
    back = alice.client.post(undo[1], {"back": f"/runs/{run.pk}/"})
    assert back.headers["Location"] == f"/runs/{run.pk}/"
    assert living(alice) == {"city": "Basel", "cat": "Miso"}


def test_what_somebody_changed_since_is_left_and_said_so(alice: Person, run: Run) -> None:
    caller = MemoryCaller(alice.principal, alice.team.id)
    services.remember(caller, namespace=PLACE, key="cat", value="Mochi")

    planned = markup_of(alice.client.post(f"/runs/{run.pk}/memory/undo/"))
    alice.client.post(f"/runs/{run.pk}/memory/undo/", {"sure": "1"})

    assert "their state before this run: 1" in planned
    assert "Skipped because they changed after this run: 1" in planned
    assert living(alice) == {"city": "Bern", "cat": "Mochi"}


def test_run_whose_writings_are_gone_says_there_is_nothing_left(alice: Person, run: Run) -> None:
    alice.client.post(f"/runs/{run.pk}/memory/undo/", {"sure": "1"})

    again = alice.client.post(f"/runs/{run.pk}/memory/undo/", {"sure": "1"}, follow=True)
    planned = markup_of(alice.client.post(f"/runs/{run.pk}/memory/undo/"))

    assert "Nothing to undo." in markup_of(again)
    assert "There is nothing you can undo." in planned


def test_run_of_somebody_else_is_not_there(bob: Person, run: Run) -> None:
    assert bob.client.post(f"/runs/{run.pk}/memory/undo/", {"sure": "1"}).status_code == 404
    assert living(bob) == {"city": "Basel", "cat": "Miso"}
