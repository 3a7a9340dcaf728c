"""Who wrote the value that is shown: at a past moment, in the history, after a restore and beside other changes."""

import re
from collections.abc import Mapping
from datetime import datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.services.history.snapshot import search_snapshot
from memory.services.recall.search import EntrySearch
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

HERE = "global:facts"


@pytest.fixture
def moments(alice: Person, bob: Person) -> Mapping[str, datetime]:
    """Alice writes, Bob corrects, Alice tags what Bob wrote, moves it, and brings her own words back."""
    at: dict[str, datetime] = {}
    one = services.remember(at_door(alice), namespace=HERE, key="door", value="The door is red")
    at["written"] = timezone.now()
    one = services.edit(
        at_door(bob), entry_id=one.id, if_revision=one.revision, value="The door is blue"
    )
    at["corrected"] = timezone.now()
    one = services.edit(
        at_door(alice), entry_id=one.id, if_revision=one.revision, metadata={"tags": ["door"]}
    )
    at["tagged"] = timezone.now()
    services.move(at_door(alice), move="quarantine", entry_ids=[one.id])
    services.move(at_door(alice), move="approve", entry_ids=[one.id])
    at["moved"] = timezone.now()
    services.restore(at_door(bob), entry_id=one.id, revision=1)
    at["restored"] = timezone.now()
    return at


EXPECTED = [
    ("written", "The door is red", "alice"),
    ("corrected", "The door is blue", "bob"),
    ("tagged", "The door is blue", "bob"),
    ("moved", "The door is blue", "bob"),
    ("restored", "The door is red", "alice"),
]


def actor(person: Person) -> str:
    return f"user:{person.user.pk}"


@pytest.mark.parametrize(("step", "value", "author"), EXPECTED)
def test_past_value_has_its_own_author(
    moments: Mapping[str, datetime], alice: Person, bob: Person, step: str, value: str, author: str
):
    who = {"alice": actor(alice), "bob": actor(bob)}[author]

    page = search_snapshot(
        at_door(alice), namespace=HERE, moment=moments[step], search=EntrySearch()
    ).page
    recalled = services.recall(at_door(alice), namespace=HERE, key="door", as_of=moments[step])

    for entries in (page.entries, recalled):
        assert [(entry.value, entry.source.actor) for entry in entries] == [(value, who)]


def test_history_names_the_author_of_each_value(
    moments: Mapping[str, datetime], alice: Person, bob: Person
):
    values = services.list_values(at_door(alice), namespace=HERE, key="door")

    assert [(entry.value, entry.source.actor) for entry in values] == [
        ("The door is red", actor(alice)),
        *[("The door is blue", actor(bob))] * 4,
        ("The door is red", actor(alice)),
    ]


def test_entry_of_today_has_the_author_of_its_value(
    moments: Mapping[str, datetime], alice: Person, bob: Person
):
    [now] = services.recall(at_door(bob), namespace=HERE, key="door")
    later = services.edit(at_door(bob), entry_id=now.id, if_revision=now.revision, importance=0.9)

    assert (now.value, now.source.actor) == ("The door is red", actor(alice))
    assert later.source.actor == actor(alice)


def test_page_as_of_a_moment_shows_the_author(
    moments: Mapping[str, datetime], alice: Person, bob: Person
):
    with tenant([alice.team.id]):
        entry = Entry.objects.unscoped().get(key="door")
    place = reverse("memory:namespace", args=[entry.namespace_id])

    def read(step: str) -> str:
        html = alice.client.get(place, {"at": moments[step].isoformat()}).content.decode()
        return re.sub(r"\s+", " ", html)

    assert f'<td class="break">{bob.user.name}</td>' in read("moved")
    assert '<td class="break">You</td>' in read("restored")


def test_run_that_wrote_a_value_is_its_source_until_a_person_edits_it(alice: Person):
    run, place = in_run(alice), "global:app"
    written = services.remember(run, namespace=place, key="k", value="By a run")
    then = timezone.now()
    services.edit(at_door(alice), entry_id=written.id, if_revision=1, value="By Alice")

    [past] = services.recall(at_door(alice), namespace=place, key="k", as_of=then)
    [now] = services.recall(at_door(alice), namespace=place, key="k")

    assert (past.source.run_id, past.source.node_id) == ("r1", "node")
    assert now.source.actor == actor(alice)
