"""What is left over keeps nothing up: rows without entries, vectors without an embedder, settings that are refused."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.core.recall.embedding import EmbedderFault
from memory.models import Embedding
from memory.providers.postgres.vectors import hash_text
from memory.upkeep import embedding
from memory.upkeep.embedding import embed_team
from tests.memory.providers.test_writing import is_anybody_waiting
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny
from tests.support.waiting import until


pytestmark = pytest.mark.django_db

HERE = "global:upkeep"


def keep(person: Person, key: str, value: str = "a boat") -> Any:
    return services.remember(at_door(person), namespace=HERE, key=key, value=value)


def rows_of(person: Person) -> Any:
    return Embedding.objects.unscoped().filter(team_id=person.team.pk)


def orphan(person: Person, like: Embedding) -> None:
    """What a look-through leaves that an erasure overtakes."""
    Embedding.objects.unscoped().create(
        team_id=person.team.pk,
        namespace_id=like.namespace_id,
        entry_id=uuid.uuid4(),
        number=99,
        text_hash="x",
        due_at=timezone.now() - timedelta(hours=1),
    )


def test_rows_of_erased_entries_hold_nobody_up_and_are_removed(alice: Person, tiny: Tiny) -> None:
    keep(alice, "seed")
    embed_team(alice.team.pk)
    with tenant([alice.team.pk]):
        for _ in range(tiny.batch):
            orphan(alice, rows_of(alice).first())
    keep(alice, "new", "a ship")

    assert embed_team(alice.team.pk) == 1

    embedding.reset_checks()
    embed_team(alice.team.pk)
    with tenant([alice.team.pk]):
        assert rows_of(alice).count() == 2


def test_setting_that_is_refused_stops_the_round(alice: Person, tiny: Tiny) -> None:
    asked: list[int] = []

    def refused(texts: Any) -> Any:
        asked.append(len(texts))
        raise EmbedderFault(
            "The server answered with status 400.", retryable=False, rejects_texts=True
        )

    tiny.answers = refused
    for number in range(12):
        keep(alice, f"k{number}")

    embed_team(alice.team.pk)

    assert asked == [4, 2, 1, 1, 2, 1, 1]


def test_forgotten_entry_takes_its_vector_along_without_an_embedder(
    alice: Person, tiny: Tiny, settings: Any
) -> None:
    kept = keep(alice, "a")
    keep(alice, "b")
    embed_team(alice.team.pk)
    settings.MEMORY_EMBEDDER = None

    services.forget(at_door(alice), entry_id=kept.id)

    with tenant([alice.team.pk]):
        assert rows_of(alice).count() == 1


@pytest.mark.django_db(transaction=True)
def test_text_written_while_a_batch_is_taken_is_embedded_under_its_own_hash(
    cast: Cast, tiny: Tiny, owner_db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is found, then somebody writes, and only then is it locked."""
    keep(cast.alice, "a")
    due = "mine.due_at <= %s"
    quick = embedding.QUERIES["lock_due"]
    waiting = quick.replace(due, f"{due} AND pg_advisory_xact_lock(1)::text IS NOT NULL")
    assert waiting != quick
    monkeypatch.setitem(embedding.QUERIES, "lock_due", waiting)
    owner_db.execute("SELECT pg_advisory_lock(1)")

    def write() -> None:
        try:
            until(lambda: is_anybody_waiting(owner_db))
            keep(cast.alice, "a", "a cat")
        finally:
            connections.close_all()
            owner_db.execute("SELECT pg_advisory_unlock(1)")

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        taken = embedding._claim_jobs(cast.alice.team.pk, 4, timezone.now() + timedelta(hours=1))
        written.result()

    assert ["cat" in one.text for one in taken] == [True]
    assert taken[0].text_hash == hash_text(taken[0].text)
