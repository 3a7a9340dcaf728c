"""Acts over hundreds of entries: whole, quick, and taken back as one."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AlreadyExists
from memory.core.records import MemoryEntry
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres import bulk, rows
from memory.services import MemoryCaller
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

HERE = "global:many"


# The value's names are in the order the database keeps them in, so that the text is the same again.
def stored(person: Person, number: int, **more: Any) -> list[MemoryEntry]:
    given: dict[str, Any] = {"metadata": {"group": "talk", "n": 1.5}, **more}
    return [
        services.remember(
            at_door(person),
            namespace=HERE,
            key=f"k{n}",
            value={"n": n, "text": f"tea {n}"},
            **given,
        )
        for n in range(number)
    ]


def everything(person: Person) -> list[tuple[Any, ...]]:
    """All that an entry is, but for when and how often it changed."""
    columns = (
        *("key", "value", "metadata", "category", "tier", "importance", "expires_at", "text"),
        *("size", "group", "position"),
    )
    with tenant([person.team.id]):
        return list(Entry.objects.unscoped().living().order_by("key").values_list(*columns))


def counts(person: Person) -> tuple[int, int]:
    with tenant([person.team.id]):
        return Namespace.objects.unscoped().values_list("entry_count", "byte_count").get(text=HERE)


def found(caller: MemoryCaller, text: str) -> list[str]:
    return sorted(one.key for one in services.recall(caller, namespace=HERE, query_text=text))


def test_forgetting_and_bringing_back_many_asks_no_more_often_than_one(alice: Person) -> None:
    ids = [one.id for one in stored(alice, 30)]

    def queries(chosen: list[str]) -> tuple[int, int]:
        with CaptureQueriesContext(connection) as forgetting:
            done = services.forget_many(at_door(alice), entry_ids=chosen)
        with CaptureQueriesContext(connection) as undoing:
            services.undo(at_door(alice), change_id=done.change_id or "")
        return len(forgetting), len(undoing)

    queries(ids[:1])  # the first one pays for caches
    assert queries(ids[:1]) == queries(ids)


def test_undo_of_many_brings_back_all_of_each_and_what_finds_them(alice: Person) -> None:
    ids = [one.id for one in stored(alice, 20)]
    before, room = everything(alice), counts(alice)

    done = services.forget_many(at_door(alice), entry_ids=ids)
    assert (everything(alice), counts(alice), found(at_door(alice), "tea")) == ([], (0, 0), [])
    undone = services.undo(at_door(alice), change_id=done.change_id or "")

    assert sorted(undone.entry_ids) == sorted(ids)
    assert (everything(alice), counts(alice)) == (before, room)
    assert found(at_door(alice), "tea") == sorted(f"k{n}" for n in range(20))
    with tenant([alice.team.id]):
        numbers = Revision.objects.unscoped().filter(entry_id=ids[3]).order_by("number")
        assert list(numbers.values_list("operation", flat=True)) == ["store", "forget", "restore"]


def test_undo_of_many_is_refused_whole_where_a_key_is_taken_again(alice: Person) -> None:
    ids = [one.id for one in stored(alice, 3)]
    done = services.forget_many(at_door(alice), entry_ids=ids)
    services.remember(at_door(alice), namespace=HERE, key="k1", value="anew")

    with pytest.raises(AlreadyExists, match="k1"):
        services.undo(at_door(alice), change_id=done.change_id or "")

    assert [row[0] for row in everything(alice)] == ["k1"]


def test_moving_many_asks_no_more_often_than_one_and_goes_back_as_one(alice: Person) -> None:
    ids = [one.id for one in stored(alice, 12)]
    before = everything(alice)

    def queries(chosen: list[str]) -> tuple[int, int]:
        with CaptureQueriesContext(connection) as moving:
            done = services.move(
                at_door(alice), move="quarantine", entry_ids=chosen, reason="all wrong"
            )
        assert found(at_door(alice), "tea") == sorted(
            row[0] for row in everything(alice) if row[4] == "long_term"
        )
        with CaptureQueriesContext(connection) as undoing:
            services.undo(at_door(alice), change_id=done.change_id)
        return len(moving), len(undoing)

    queries(ids[:1])
    assert queries(ids[:1]) == queries(ids)
    assert everything(alice) == before
    assert found(at_door(alice), "tea") == sorted(f"k{n}" for n in range(12))


def test_more_than_a_statement_takes_is_written_in_several(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [one.id for one in stored(alice, 7)]
    before = everything(alice)
    monkeypatch.setattr(bulk, "CHUNK_BYTES", 1_500)  # of bytes: two or three entries
    monkeypatch.setattr(rows, "MAX_STATEMENT_BYTES", 60)

    with CaptureQueriesContext(connection) as asked:
        done = services.move(at_door(alice), move="quarantine", entry_ids=ids)
    assert {row[4] for row in everything(alice)} == {"quarantine"}
    services.undo(at_door(alice), change_id=done.change_id)

    statements = [one["sql"] for one in asked]
    assert 1 < sum("UPDATE memory_entry SET" in sql for sql in statements) < 7
    assert 1 < sum('INSERT INTO "memory_revision"' in sql for sql in statements) <= 7
    assert everything(alice) == before
    with tenant([alice.team.id]):
        assert Revision.objects.unscoped().count() == 3 * 7
