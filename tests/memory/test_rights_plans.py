"""What one may see costs a team with many namespaces nothing, by emergency access neither: asked once a question."""

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from config.ids import uuid7
from memory import services
from memory.models import Entry, Namespace
from memory.services.access.emergency_access import start_emergency_access
from memory.services.review.review_queue import count_queue
from tests.memory.providers.test_plans import plan, scans
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, make_cast


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowded(owner_db: psycopg.Connection[Any]) -> Cast:
    """Thousands of outside people's namespaces, one of them looked into."""
    cast = make_cast()
    services.remember(in_run(cast.bob), scope="user", key="k", value=1)
    with tenant([cast.team_a.pk]):
        places = Namespace.objects.unscoped().bulk_create(
            Namespace(team=cast.team_a, text=f"user:c{n}-{uuid7()}", scope="user")
            for n in range(4000)
        )
        Entry.objects.unscoped().bulk_create(
            Entry(team=cast.team_a, namespace=place, key="one of many", value=1, size=1)
            for place in places
        )
    text = f"user:{cast.bob.user.pk}"
    start_emergency_access(at_door(cast.ada), namespace=text, reason="an inquiry", minutes=15)
    owner_db.execute("ANALYZE memory_namespace, memory_emergencyaccess, memory_entry")
    return cast


def nodes_of(rows: Any) -> list[dict[str, Any]]:
    sql, params = rows.query.sql_with_params()
    return plan(sql, *params)


def test_what_is_open_to_an_admin_is_asked_once_and_read_as_before(crowded: Cast) -> None:
    with tenant([crowded.team_a.pk]):
        rows: Any = Namespace.objects
        found = rows.open_to(crowded.ada.principal).order_by()
        nodes = nodes_of(found)
        without = nodes_of(rows.visible_to(crowded.ada.principal).order_by())
        texts = [row.text for row in found]

    assert texts == [f"user:{crowded.bob.user.pk}"]
    # Before the plan runs, not once a row.
    assert {
        n["Actual Loops"] for n in nodes if n.get("Relation Name") == "memory_emergencyaccess"
    } == {1}
    assert [how(one) for one in nodes if of_places(one)] == [
        how(one) for one in without if of_places(one)
    ]


def of_places(node: dict[str, Any]) -> bool:
    return bool(node.get("Relation Name") == "memory_namespace")


def how(node: dict[str, Any]) -> tuple[Any, ...]:
    return node["Node Type"], node.get("Index Name"), node["Actual Loops"]


def test_naming_one_reads_one(crowded: Cast) -> None:
    with tenant([crowded.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=f"user:{crowded.bob.user.pk}")
        rows: Any = Namespace.objects
        nodes = nodes_of(rows.open_to(crowded.ada.principal).filter(pk=row.pk).order_by())

    assert ("memory_namespace", "memory_namespace_pkey") in scans(nodes)


def test_an_entry_is_found_by_its_id_whatever_one_may_see(crowded: Cast) -> None:
    """Which namespaces one sees is read once, before the plan runs; no namespace is fetched for it."""
    with tenant([crowded.team_a.pk]):
        entry = Entry.objects.unscoped().get(key="k")
        found = Entry.objects.visible_to(crowded.bob.principal).filter(pk=entry.pk)
        nodes = nodes_of(found.order_by())
        with CaptureQueriesContext(connection) as asked:
            assert found.get() == entry
        assert not Entry.objects.visible_to(crowded.alice.principal).filter(pk=entry.pk).exists()

    assert len(asked) == 1
    assert ("memory_entry", "memory_entry_pkey") in scans(nodes)
    assert {one["Actual Loops"] for one in nodes if of_places(one)} == {1}


def test_what_waits_is_counted_in_one_question(crowded: Cast) -> None:
    caller = at_door(crowded.bob)
    with tenant([crowded.team_a.pk]), CaptureQueriesContext(connection) as asked:
        assert count_queue(caller) == 0

    counted = [one["sql"] for one in asked if "count(" in one["sql"]]
    assert len(counted) == 1
    assert len(asked) == 1
    assert all("memory_namespace" not in one["sql"] for one in asked if one["sql"] not in counted)
