"""Plans of what must not slow down with the table: no scan of it, and no more rows than are asked for."""

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import selectors
from memory.core.literal import question
from memory.models import Entry, Namespace
from memory.providers.postgres import everywhere, indexing, newest, rows, searching
from memory.providers.postgres.indexing import Index
from memory.providers.postgres.postings import REGISTER
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db(transaction=True)

NAMESPACES, EACH = 12, 300


@pytest.fixture
def crowded(cast: Cast, owner_db: psycopg.Connection[Any]) -> Cast:
    """Enough rows that a scan of the whole would be dearer than an index."""
    now = timezone.now()
    with tenant([cast.team_a.id]):
        for place in range(NAMESPACES):
            namespace = rows.claim_namespace(cast.team_a.id, f"global:p{place}")
            index, entries = Index(namespace), []
            for number in range(EACH):
                text = f"k{number}\nevery w{number % 50} v{number} u{number * place % 97}"
                entry = Entry(team=cast.team_a, namespace=namespace, key=f"k{number}", text=text)
                entry.value, entry.size, entry.updated_at = text, len(text), now
                index.put_in(entry)
                entries.append(entry)
            Entry.objects.unscoped().bulk_create(entries)
            index.save()
            Namespace.objects.unscoped().filter(pk=namespace.pk).update(entry_count=EACH)
    owner_db.execute("ANALYZE memory_entry, memory_posting")
    return cast


def plan(sql: str, *params: Any, named: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Every node of the plan that was carried out."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", named or params)
        found = cursor.fetchone()[0]
    root = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    nodes, todo = [], [root]
    while todo:
        node = todo.pop()
        nodes.append(node)
        todo += node.get("Plans", [])
    return nodes


def scans(nodes: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Which table by which index."""
    return {
        (node.get("Relation Name", ""), node.get("Index Name", node["Node Type"]))
        for node in nodes
        if "Scan" in node["Node Type"] and "Relation Name" in node
    }


def test_question_reads_its_terms_alone(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        namespace = Namespace.objects.unscoped().get(text="global:p3")
        nodes = plan(
            searching.POSTINGS, namespace.pk, [REGISTER, "w7"], namespace.pk, timezone.now()
        )

    assert scans(nodes) == {
        ("memory_posting", "memory_posting_pkey"),
        ("memory_entry", "memory_entry_over"),
    }
    assert max(node["Actual Rows"] for node in nodes) == 4  # two blocks of each


def test_store_reads_the_rows_it_changes_alone(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        namespace = Namespace.objects.unscoped().get(text="global:p3")
        nodes = plan(indexing.READ, "every,w7,.", "1,1,1", namespace.pk)

    assert scans(nodes) == {("memory_posting", "memory_posting_pkey")}


def test_newest_page_reads_one_of_each_namespace_and_a_page_of_few(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        question, params = newest.asked(Namespace.objects.unscoped(), timezone.now(), 5)
        nodes = plan(question, *params)

    of_entries = {scan for scan in scans(nodes) if scan[0] == "memory_entry"}
    assert of_entries == {("memory_entry", "memory_entry_newest")}
    assert rows_read(nodes) == NAMESPACES + 5 * 5


def test_newest_page_reads_nothing_older_than_the_oldest_first(crowded: Cast) -> None:
    """Each namespace's newest is a day newer than the rest: those few are the whole page."""
    newer = timezone.now() + timedelta(days=1)
    with tenant([crowded.team_a.id]):
        Entry.objects.unscoped().filter(key="k7").update(updated_at=newer)
        every = Namespace.objects.unscoped()
        question, params = newest.asked(every, timezone.now(), 5)
        nodes = plan(question, *params)
        found = newest.newest(every, timezone.now(), 5)

    assert rows_read(nodes) == NAMESPACES + 5
    assert [one.key for one in found] == ["k7"] * 5


def test_newest_page_of_nothing_reads_no_entry(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        seen = Namespace.objects.visible_to(crowded.carol.principal)
        question, params = newest.asked(seen, timezone.now(), 5)
        nodes = plan(question, *params)

    assert rows_read(nodes) == 0


def rows_read(nodes: list[dict[str, Any]]) -> int:
    """Of entries, those that a filter threw away included."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "memory_entry"
    )


def test_newest_page_is_what_one_may_see_newest_first(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        seen = selectors.newest_for(crowded.alice.principal, crowded.team_a.id, 7)
        everything = Entry.objects.unscoped().order_by("-updated_at", "-id")[:7]
        assert [one.pk for one in seen] == [one.pk for one in everything]
    with tenant([crowded.team_b.id]):
        assert selectors.newest_for(crowded.carol.principal, crowded.team_a.id, 7) == []


@pytest.mark.parametrize(("name", "statements"), [("alice", 2), ("carol", 1)])
def test_newest_page_asks_once_and_for_the_names_of_what_it_found(
    crowded: Cast, name: str, statements: int
) -> None:
    person = getattr(crowded, name)
    principal = person.principal
    with tenant(principal.team_ids), CaptureQueriesContext(connection) as asked:
        found = selectors.newest_for(principal, person.team.id, 7)

    assert bool(found) is (name == "alice")
    assert len(asked) == statements, [one["sql"][:90] for one in asked]


def test_small_namespaces_are_walked_from_the_newest_on(
    cast: Cast, owner_db: psycopg.Connection[Any]
) -> None:
    """Of namespaces with less than a page each nothing is read that has no place on it."""
    now = timezone.now()
    with tenant([cast.team_a.id]):
        for place in range(20):
            namespace = rows.claim_namespace(cast.team_a.id, f"global:s{place}")
            Entry.objects.unscoped().bulk_create(
                Entry(
                    team=cast.team_a,
                    namespace=namespace,
                    key=f"k{number}",
                    text="t",
                    size=1,
                    updated_at=now - timedelta(hours=number, seconds=place),
                )
                for number in range(40)
            )
    owner_db.execute("ANALYZE memory_entry, memory_namespace")
    with tenant([cast.team_a.id]):
        question, params = newest.asked(Namespace.objects.unscoped(), now, 10)
        nodes = plan(question, *params)

    assert rows_read(nodes) == 20 + 10


def test_search_of_everything_walks_the_postings_of_each_namespace(crowded: Cast) -> None:
    """Of the texts, only those that may say the question word for word are read, each by its number."""
    with tenant([crowded.team_a.id]):
        places = Namespace.objects.unscoped()
        sql, params = everywhere.asked_of(places, question("w7", "english"), timezone.now())
        nodes = plan(sql, *params)

    assert scans(nodes) >= {
        ("memory_posting", "memory_posting_pkey"),
        ("memory_entry", "memory_entry_over"),
    }
    of_texts = {
        index for table, index in scans(nodes) if table in ("memory_posting", "memory_entry")
    }
    assert of_texts == {"memory_posting_pkey", "memory_entry_over"}
    # Of each namespace two blocks of the word and two of the register; how they are joined reads none twice.
    read = [one for one in nodes if one.get("Relation Name") == "memory_posting"]
    assert sum(one["Actual Rows"] * one["Actual Loops"] for one in read) == NAMESPACES * 4
