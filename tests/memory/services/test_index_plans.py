"""Questions about few among many, by plans: what is a page, and what took a memory's place."""

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Namespace
from memory.services.entries.linked_entries import list_superseding_entries
from memory.services.knowledge.knowledge_bases import list_knowledge_bases
from tests.memory.providers.test_plans import plan, scans
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db(transaction=True)

MANY = 4_000
PLACE = "global:full"


@pytest.fixture
def crowded(cast: Cast, owner_db: psycopg.Connection[Any]) -> Cast:
    """Thousands of memories, two pages, and two that took the place of a third."""
    caller = at_door(cast.alice)
    services.write_pages(
        caller,
        namespace=PLACE,
        pages=[
            {"title": "Bees", "content": "They hum at dusk."},
            {"title": "Invoices", "content": "They are paid within a month."},
        ],
    )
    old = services.remember(caller, namespace=PLACE, key="old", value="nine")
    took_in = {"merged_from": [{"id": old.id, "key": "old"}]}
    services.remember(caller, namespace=PLACE, key="whole", value="ten", metadata=took_in)
    newer = {"supersedes": "old"}
    services.remember(caller, namespace=PLACE, key="newer", value="eleven", metadata=newer)
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=PLACE)
        Entry.objects.unscoped().bulk_create(
            Entry(team=cast.team_a, namespace=row, key=f"k{n}", text="t", size=1, metadata={"n": n})
            for n in range(MANY)
        )
    owner_db.execute("ANALYZE memory_entry, memory_namespace")
    return cast


def asked(of: str, act: Any) -> list[str]:
    with CaptureQueriesContext(connection) as said:
        act()
    return [one["sql"] for one in said.captured_queries if of in one["sql"]]


def test_knowledge_bases_read_pages_alone(crowded: Cast) -> None:
    caller = at_door(crowded.alice)

    (found,) = list_knowledge_bases(caller)
    (question,) = asked('COUNT("memory_entry"."id")', lambda: list_knowledge_bases(caller))
    with tenant([crowded.team_a.pk]):
        nodes = plan(question.replace("%", "%%"))

    assert (found.row.text, found.pages) == (PLACE, 2)
    assert ("memory_entry", "memory_entry_newest") not in scans(nodes)
    read = [one for one in nodes if one.get("Relation Name") == "memory_entry"]
    assert sum(one["Actual Rows"] for one in read) == 2
    assert "memory_entry_pages" in {one.get("Index Name") for one in nodes}


def test_what_took_a_place_is_read_by_its_own_index(crowded: Cast) -> None:
    with tenant([crowded.team_a.pk]):
        old = Entry.objects.unscoped().get(key="old")
        found = list_superseding_entries(old)
        (question,) = asked("memory_entry", lambda: list_superseding_entries(old))
        nodes = plan(question.replace("%", "%%"))

    assert sorted(one.key for one in found) == ["newer", "whole"]
    assert {one.get("Index Name") for one in nodes if one.get("Index Name")} == {
        "memory_entry_took"
    }
    read = [one for one in nodes if one.get("Relation Name") == "memory_entry"]
    assert sum(one["Actual Rows"] for one in read) == 2
