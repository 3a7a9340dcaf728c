"""Plans of what must not slow down with the table: no scan of it, and no more rows than are asked for."""

import json
import random
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import selectors
from memory.core.recall.literal_match import parse_question
from memory.models import Entry, Namespace
from memory.providers.postgres import indexing, newest, rows, search_all, searching
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
    # What earlier tests left behind would make a scan of the whole look dearer or cheaper than it is.
    owner_db.execute("VACUUM (ANALYZE) memory_entry, memory_posting")
    return cast


# What a search leaves out is read from indexes that have nothing else.
LEFT_OUT = {
    "memory_entry_over",
    "memory_entry_former",
    "memory_entry_future",
    "memory_entry_in_no_prompt",
    "memory_entry_lessons",
}


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
            searching.QUERIES["postings"],
            *searching.build_postings_params(
                namespace,
                [REGISTER, "w7"],
                timezone.now(),
                timezone.now(),
                for_prompt=True,
                without_lessons=True,
            ),
        )

    assert scans(nodes) == {
        ("memory_posting", "memory_posting_pkey"),
        ("memory_entry", "Bitmap Heap Scan"),
    }
    indexes = {node["Index Name"] for node in nodes if node["Node Type"] == "Bitmap Index Scan"}
    # Where nothing has expired anywhere, the index of that is as good as the one by namespace.
    indexes = {"memory_entry_over" if i == "memory_entry_expiry" else i for i in indexes}
    assert indexes == LEFT_OUT
    assert max(node["Actual Rows"] for node in nodes) == 4  # two blocks of each


def test_store_reads_the_rows_it_changes_alone(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        namespace = Namespace.objects.unscoped().get(text="global:p3")
        nodes = plan(indexing.QUERIES["read"], "every,w7,.", "1,1,1", namespace.pk)

    assert scans(nodes) == {("memory_posting", "memory_posting_pkey")}


def test_newest_page_reads_the_teams_newest_or_those_of_few_namespaces(crowded: Cast) -> None:
    every = Namespace.objects.unscoped()
    few = every.filter(text__in=[f"global:p{place}" for place in range(5)])
    none = Namespace.objects.visible_to(crowded.carol.principal)

    of_all, of_few, of_none = (newest_nodes(crowded, seen) for seen in (every, few, none))

    assert of_entries(of_all) == {"memory_entry_recent"}
    assert rows_read(of_all) == newest.PAGES_AHEAD * 5
    assert of_entries(of_few) == {"memory_entry_newest"}
    assert rows_read(of_few) == 5 + 5 * 5
    assert rows_read(of_none) == 0


def test_newest_page_without_the_teams_newest_reads_one_of_each_namespace_and_a_page_of_few(
    crowded: Cast,
) -> None:
    seen = Namespace.objects.unscoped().exclude(text="global:p0")
    ahead, probes = newest.PAGES_AHEAD * 5, NAMESPACES - 1
    with tenant([crowded.team_a.id]):
        hidden = Entry.objects.unscoped().filter(namespace__text="global:p0")
        hidden.update(updated_at=timezone.now() + timedelta(days=2))

    nodes = newest_nodes(crowded, seen)

    assert of_entries(nodes) == {"memory_entry_recent", "memory_entry_newest"}
    assert rows_read(nodes) == ahead + probes + 5 * 5

    # Each namespace's newest is a day newer than the rest: those few are the whole page, and nothing older is read.
    with tenant([crowded.team_a.id]):
        firsts = Entry.objects.unscoped().filter(namespace__in=seen, key="k7")
        firsts.update(updated_at=timezone.now() + timedelta(days=1))
        found = newest.fetch_newest(seen, crowded.team_a.pk, timezone.now(), 5)

    assert rows_read(newest_nodes(crowded, seen)) == ahead + probes + 5
    assert [one.key for one in found] == ["k7"] * 5


def test_newest_page_is_the_same_whichever_way_it_was_found(crowded: Cast) -> None:
    """Of moments that several share, with some forgotten and some over, of any choice of namespaces."""
    chance, now = random.Random(7), timezone.now()
    with tenant([crowded.team_a.id]):
        every = Entry.objects.unscoped()
        for key in (f"k{number}" for number in chance.sample(range(EACH), 60)):
            moved: dict[str, Any] = {
                "updated_at": now + timedelta(seconds=chance.randrange(8)),
                "deleted_at": chance.choice([None, None, now]),
                "expires_at": chance.choice([None, now + timedelta(hours=1), now]),
            }
            places = [f"global:p{one}" for one in chance.sample(range(NAMESPACES), 4)]
            every.filter(key=key, namespace__text__in=places).update(**moved)
        for how_many in [*range(1, NAMESPACES + 1)] * 3:
            places = [f"global:p{one}" for one in chance.sample(range(NAMESPACES), how_many)]
            seen = Namespace.objects.unscoped().filter(text__in=places)
            limit = chance.choice([1, 3, 10])

            found = newest.fetch_newest(seen, crowded.team_a.pk, now, limit)

            living = every.filter(namespace__in=seen).living()
            ordered = living.order_by("-updated_at", "-id")[:limit]
            assert [one.pk for one in found] == [one.pk for one in ordered], (places, limit)


def newest_nodes(crowded: Cast, seen: Any) -> list[dict[str, Any]]:
    with tenant([crowded.team_a.id]):
        question, params = newest.build_newest_query(seen, crowded.team_a.pk, timezone.now(), 5)
        return plan(question, *params)


def of_entries(nodes: list[dict[str, Any]]) -> set[str]:
    """The indexes by which entries were read."""
    read = [node for node in nodes if node.get("Relation Name") == "memory_entry"]
    return {node.get("Index Name", node["Node Type"]) for node in read if node["Actual Loops"] > 0}


def rows_read(nodes: list[dict[str, Any]]) -> int:
    """Of entries, those that a filter threw away included."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "memory_entry"
    )


def test_newest_page_is_what_one_may_see_newest_first(crowded: Cast) -> None:
    with tenant([crowded.team_a.id]):
        seen = selectors.list_newest_entries(crowded.alice.principal, crowded.team_a.id, 7)
        everything = Entry.objects.unscoped().order_by("-updated_at", "-id")[:7]
        assert [one.pk for one in seen] == [one.pk for one in everything]
    with tenant([crowded.team_b.id]):
        assert selectors.list_newest_entries(crowded.carol.principal, crowded.team_a.id, 7) == []


@pytest.mark.parametrize(("name", "statements"), [("alice", 2), ("carol", 1)])
def test_newest_page_asks_once_and_for_the_names_of_what_it_found(
    crowded: Cast, name: str, statements: int
) -> None:
    person = getattr(crowded, name)
    principal = person.principal
    with tenant(principal.team_ids), CaptureQueriesContext(connection) as asked:
        found = selectors.list_newest_entries(principal, person.team.id, 7)

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
        unseen = rows.claim_namespace(cast.team_a.id, "global:unseen")
        Entry.objects.unscoped().bulk_create(
            Entry(team=cast.team_a, namespace=unseen, key=f"k{number}", text="t", size=1)
            for number in range(newest.PAGES_AHEAD * 10)
        )
        seen = Namespace.objects.unscoped().exclude(pk=unseen.pk)
        question, params = newest.build_newest_query(seen, cast.team_a.pk, now, 10)
        nodes = plan(question, *params)

    assert rows_read(nodes) == newest.PAGES_AHEAD * 10 + 20 + 10


def test_search_of_everything_walks_the_postings_of_each_namespace(crowded: Cast) -> None:
    """Of the texts, only those that may say the question word for word are read, each by its number."""
    with tenant([crowded.team_a.id]):
        places = Namespace.objects.unscoped()
        sql, params = search_all.build_postings_query(
            places,
            parse_question("w7", "english"),
            timezone.now(),
            holding_at=timezone.now(),
            for_prompt=True,
        )
        nodes = plan(sql, *params)

    left_out = LEFT_OUT - {"memory_entry_lessons"}  # people search these, too
    of_left_out = {("memory_entry", index) for index in left_out}
    assert scans(nodes) >= {("memory_posting", "memory_posting_pkey"), *of_left_out}
    of_texts = {
        index for table, index in scans(nodes) if table in ("memory_posting", "memory_entry")
    }
    assert of_texts == {"memory_posting_pkey", *left_out}
    # Of each namespace two blocks of the word and two of the register; how they are joined reads none twice.
    read = [one for one in nodes if one.get("Relation Name") == "memory_posting"]
    assert sum(one["Actual Rows"] * one["Actual Loops"] for one in read) == NAMESPACES * 4
