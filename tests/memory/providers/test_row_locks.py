"""Rows that are held, and in which order, seen from other connections: what a lock is for shows only there."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

import pytest
from django.db import connection

from accounts.tenancy import tenant
from memory import services
from memory.models import Embedding, Namespace
from memory.providers.postgres import rows
from memory.services.entries import bulk
from memory.upkeep.embedding import enqueue_outdated
from tests.memory.services.conftest import at_door
from tests.support.cast import Person, make_cast
from tests.support.embedding import Tiny
from tests.support.waiting import LIMIT, until


pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")

HERE = "global:locks"


@pytest.fixture
def ann() -> Person:
    return make_cast().alice


@pytest.fixture
def beside() -> Any:
    """Does something over a connection of its own, while the test goes on."""
    with ThreadPoolExecutor(1) as pool:

        def begin(act: Callable[[], T]) -> Future[T]:
            def alone() -> T:
                try:
                    return act()
                finally:
                    connection.close()

            return pool.submit(alone)

        yield begin


def is_held(person: Person, table: str, pk: UUID) -> bool:
    """Whether anybody else would have to wait for the row."""

    def ask() -> bool:
        try:
            with tenant([person.team.pk]), connection.cursor() as cursor:
                cursor.execute(f"SELECT id FROM {table} WHERE id = %s", [pk])
                assert cursor.fetchone()
                cursor.execute(f"SELECT id FROM {table} WHERE id = %s FOR UPDATE SKIP LOCKED", [pk])
                return cursor.fetchone() is None
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result(LIMIT)


def hold(table: str, pk: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {table} WHERE id = %s FOR UPDATE", [pk])
        assert cursor.fetchone()


def vectors(person: Person) -> dict[str, UUID]:
    """The rows beside the entries, by key."""
    with tenant([person.team.pk]):
        found = Embedding.objects.unscoped().filter(team_id=person.team.pk)
        return dict(found.order_by("entry_id").values_list("entry__key", "id"))


def remember(person: Person, keys: str) -> dict[str, UUID]:
    return {
        key: UUID(services.remember(at_door(person), namespace=HERE, key=key, value="a boat").id)
        for key in keys
    }


def test_maker_of_a_namespace_whom_another_overtook_holds_the_others_row(
    ann: Person, beside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = rows._build_namespace

    def overtaken(*given: Any) -> Namespace:
        def make() -> None:
            with tenant([ann.team.pk]):
                Namespace.objects.unscoped().bulk_create([fresh(*given)])

        beside(make).result(LIMIT)
        return fresh(*given)

    monkeypatch.setattr(rows, "_build_namespace", overtaken)
    with tenant([ann.team.pk]):
        claimed = rows.claim_namespace(ann.team.pk, HERE)
        assert is_held(ann, "memory_namespace", claimed.pk)

    assert not is_held(ann, "memory_namespace", claimed.pk)
    with tenant([ann.team.pk]):
        assert Namespace.objects.unscoped().filter(text=HERE).count() == 1


def test_place_of_an_act_on_many_is_held_from_the_look_at_them_to_the_act(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = remember(ann, "abc")
    with tenant([ann.team.pk]):
        place = Namespace.objects.unscoped().get(text=HERE).pk
    held = []

    def watched(*given: Any, **more: Any) -> Any:
        held.append(is_held(ann, "memory_namespace", place))
        return services.forget_many(*given, **more)

    monkeypatch.setattr(bulk, "forget_many", watched)
    chosen = bulk.Selection(HERE, tuple(map(str, entries.values())))
    bulk.apply_action(at_door(ann), action=bulk.BulkAction.FORGET, selection=chosen, expected=3)

    assert held == [True]


def test_vector_of_an_entry_that_is_being_erased_is_neither_made_nor_waited_for(
    ann: Person, beside: Any, tiny: Tiny
) -> None:
    entries = remember(ann, "ab")
    with tenant([ann.team.pk]):
        Embedding.objects.unscoped().all().delete()

    with tenant([ann.team.pk]):
        hold("memory_entry", entries["a"])
        beside(lambda: enqueue_outdated(ann.team.pk, tiny)).result(LIMIT)
        assert set(vectors(ann)) == {"b"}

    enqueue_outdated(ann.team.pk, tiny)
    assert set(vectors(ann)) == {"a", "b"}


def test_vectors_of_what_is_forgotten_are_taken_in_the_order_of_their_entries(
    ann: Person, beside: Any, tiny: Tiny
) -> None:
    """Written anew from the last to the first they lie the other way round, and no index sorts them by chance."""
    entries = remember(ann, "abc")
    known = vectors(ann)
    for key in "cba":
        with tenant([ann.team.pk]):
            Embedding.objects.unscoped().filter(pk=known[key]).update(attempts=1)

    def forget() -> int:
        with tenant([ann.team.pk]), connection.cursor() as cursor:
            for way in ("indexscan", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
            return services.forget_many(at_door(ann), entry_ids=list(entries.values())).count

    with tenant([ann.team.pk]):
        hold("memory_embedding", known["b"])
        forgotten = beside(forget)
        until(lambda: is_held(ann, "memory_embedding", known["a"]) or forgotten.done())
        assert not is_held(ann, "memory_embedding", known["c"])

    assert forgotten.result(LIMIT) == 3
    assert vectors(ann) == {}
