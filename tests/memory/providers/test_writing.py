"""What one write leaves in the tables: all that the entry says, and nothing where there was no room."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from django.db import connection, models
from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from memory.core.errors import QuotaExceeded
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import Source, StoreParams, Tier
from memory.models import Entry, Namespace, Posting, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from tests.support.cast import Cast
from tests.support.waiting import LIMIT, until


pytestmark = pytest.mark.django_db(transaction=True)

HERE = "global:here"
FIRST = StoreParams(
    HERE, "k", value={"said": ["it's", 1.5, None]}, category="fact", importance=0.25
)
FIRST_BYTES = len('k{"said":["it\'s",1.5,null]}')
OTHER = StoreParams(
    HERE,
    "k",
    value="something\\else, 'quoted' with 日本",
    metadata={"group": "g", "nested": {"a": [True, 10**30]}},
    category="learning",
    tier=Tier.WORKING,
    importance=0.75,
    ttl_seconds=60.0,
    source=Source("somebody", "r", "n", "m", "rule"),
)


def columns(row: models.Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def an_act(**more: Any) -> rows.WriteContext:
    return rows.WriteContext(Operation.STORE, timezone.now(), actor="user:a", **more)


@pytest.mark.parametrize("texts", [(FIRST,), (FIRST, OTHER), (OTHER, FIRST), (OTHER, OTHER)])
def test_write_leaves_what_the_entry_says(cast: Cast, texts: tuple[StoreParams, ...]) -> None:
    """Column by column, so that a new one which the database's function doesn't know is found here."""
    with tenant([cast.team_a.id]):
        namespace = rows.claim_namespace(cast.team_a.id, HERE)
        for said in texts:
            act = an_act(reason="why", run_id="r", node_id="n", origin_key=uuid7().hex)
            written, _before = rows.write(namespace, said, act, MemorySecurityPolicy())

        (kept,) = Entry.objects.unscoped().filter(namespace=namespace)
        newest = Revision.objects.unscoped().filter(entry=kept).order_by("-number")[0]

    assert columns(kept) == columns(written)
    assert kept.revision == len(texts)
    of_entry = {name: getattr(kept, name) for name in columns(newest).keys() & columns(kept).keys()}
    of_act = {"operation", "actor", "reason", "run_id", "node_id", "origin_key", "change_id", "at"}
    said_of_it = {**of_entry, **{name: getattr(act, name) for name in of_act}}
    assert columns(newest) == {
        **said_of_it,
        "id": newest.pk,
        "entry_id": kept.pk,
        "number": kept.revision,
    }


def test_step_that_writes_again_after_a_crash_has_written_once(cast: Cast) -> None:
    """The same run, node and key; what is another's in one of them writes anew, and so does who has none."""
    steps = [("r", "n", "1"), ("r", "n", "1"), ("r", "n", "2"), ("r", "m", "2"), ("q", "m", "2")]
    steps += [("q", "m", "2"), ("q", "m", ""), ("q", "m", "")]
    said = replace(FIRST, source=Source())
    found = []
    with tenant([cast.team_a.id]):
        namespace = rows.claim_namespace(cast.team_a.id, HERE)
        for run, node, key in steps:
            act = an_act(run_id=run, node_id=node, origin_key=key)
            entry, before = rows.write(namespace, said, act, MemorySecurityPolicy())
            found.append((before, entry.revision))

    assert found == [(0, 1), (1, 1), (1, 2), (2, 3), (3, 4), (4, 4), (4, 5), (5, 6)]


def test_write_without_room_leaves_nothing(cast: Cast) -> None:
    one = MemorySecurityPolicy(max_entries_per_namespace=1)
    with tenant([cast.team_a.id]):
        namespace = rows.claim_namespace(cast.team_a.id, HERE)
        rows.write(namespace, FIRST, an_act(), one)
        words = Posting.objects.unscoped().count()
        with pytest.raises(QuotaExceeded):
            rows.write(namespace, replace(OTHER, key="k2"), an_act(), one)

        assert [entry.key for entry in Entry.objects.unscoped()] == ["k"]
        assert Revision.objects.unscoped().count() == 1
        assert Posting.objects.unscoped().count() == words
        counted = Namespace.objects.unscoped().get(pk=namespace.pk)
    assert (counted.entry_count, counted.byte_count) == (1, FIRST_BYTES)


def test_writer_who_waited_for_another_sees_what_that_one_wrote(
    cast: Cast, owner_db: psycopg.Connection[Any]
) -> None:
    """Lock and look are one question, but must not be one statement: it would see what was there before it waited."""
    team_id = cast.team_a.id

    def wait_and_write() -> tuple[int, int]:
        try:
            with tenant([team_id]):
                act = an_act()
                here = rows.find_namespace(team_id, HERE)
                assert here is not None
                standing = rows.claim_to_write(here, "k", act)
                entry, before = rows.write(here, OTHER, act, MemorySecurityPolicy(), standing)
                return before, entry.revision
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with tenant([team_id]):
            namespace = rows.claim_namespace(team_id, HERE)
        with tenant([team_id]):
            namespace = rows.claim_namespace(team_id, HERE)
            second = pool.submit(wait_and_write)
            until(lambda: is_anybody_waiting(owner_db))
            rows.write(namespace, FIRST, an_act(), MemorySecurityPolicy())
        assert second.result(LIMIT) == (1, 2)

    with tenant([team_id]):
        (kept,) = Entry.objects.unscoped().filter(namespace=namespace)
    assert kept.value == OTHER.value


def is_anybody_waiting(owner_db: psycopg.Connection[Any]) -> bool:
    waiting = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
    """
    found = owner_db.execute(waiting).fetchone()
    return bool(found and found[0])


def test_room_is_counted_by_what_a_write_adds(cast: Cast) -> None:
    """Longer, shorter, and as long as before, at a limit of as many bytes as the longest has."""
    most = MemorySecurityPolicy(max_namespace_bytes=8)
    with tenant([cast.team_a.id]):
        namespace = rows.claim_namespace(cast.team_a.id, HERE)
        found = []
        for text in ("a", "abcde", "abc", "xyz"):
            said = StoreParams(HERE, "k", value=text)
            rows.write(namespace, said, an_act(), most)
            counted = Namespace.objects.unscoped().get(pk=namespace.pk)
            found.append((counted.entry_count, counted.byte_count))
        with pytest.raises(QuotaExceeded):
            rows.write(namespace, StoreParams(HERE, "k", value="abcdef"), an_act(), most)

    assert found == [(1, 4), (1, 8), (1, 6), (1, 6)]
