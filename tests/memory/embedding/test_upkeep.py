"""What waits is embedded, once, whatever fails; what changed is embedded anew; and people are told."""

from datetime import timedelta
from io import StringIO
from typing import Any

import psycopg
import pytest
import time_machine
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.core.recall.embedding import EmbedderFault
from memory.embedding import embedders, notify, vector_column
from memory.models import Embedding
from memory.services.recall.embedding_status import load_embedding_state
from memory.upkeep import embedding
from memory.upkeep.embedding import embed_all_teams, embed_team, enqueue_all
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny, forget


pytestmark = pytest.mark.django_db

HERE = "global:upkeep"


def store(person: Person, *keys: str, value: str = "a boat") -> None:
    for key in keys:
        services.remember(at_door(person), namespace=HERE, key=key, value=f"{value} {key}")


def of(person: Person) -> Any:
    return Embedding.objects.unscoped().filter(team_id=person.team.pk)


def state(person: Person) -> Any:
    found = load_embedding_state(person.team.pk)
    assert found is not None
    return found


def test_batches_are_as_large_as_the_embedder_likes(alice: Person, tiny: Tiny) -> None:
    sizes: list[int] = []

    def counted(texts: Any) -> Any:
        sizes.append(len(texts))
        return [[1.0] * 5 for _ in texts]

    tiny.answers = counted
    store(alice, *"abcdefghij")

    assert embed_team(alice.team.pk) == 10

    assert sizes == [4, 4, 2]
    assert (state(alice).embedded, state(alice).waiting, state(alice).percent) == (10, 0, 100)


def test_everybodys_are_embedded_in_their_own_teams(cast: Cast, tiny: Tiny) -> None:
    store(cast.alice, "a")
    store(cast.carol, "a")

    assert embed_all_teams() == 2


def test_failure_is_tried_again_later_and_later_and_shown(alice: Person, tiny: Tiny) -> None:
    tiny.answers = lambda texts: []
    store(alice, "a")
    waits = []
    for _ in range(3):
        with time_machine.travel(timezone.now(), tick=False):
            now = timezone.now()
            assert embed_team(alice.team.pk, now=now + timedelta(days=1)) == 0
        with tenant([alice.team.pk]):
            waits.append((of(alice).get().due_at - now).total_seconds())

    assert waits == [30, 60, 120]
    assert (state(alice).failing, state(alice).problem) == (
        1,
        "The embedder returned 0 vectors instead of 1.",
    )
    tiny.answers = None
    assert embed_team(alice.team.pk) == 0  # not its turn yet
    assert embed_team(alice.team.pk, now=timezone.now() + timedelta(hours=1)) == 1
    assert (state(alice).failing, state(alice).problem) == (0, "")


def test_endpoint_that_says_how_long_is_left_alone_as_long(alice: Person, tiny: Tiny) -> None:
    def limited(texts: Any) -> Any:
        raise EmbedderFault("Rate limit exceeded.", retry_after=600)

    tiny.answers = limited
    store(alice, "a")
    embed_team(alice.team.pk)

    with tenant([alice.team.pk]):
        assert of(alice).get().due_at > timezone.now() + timedelta(seconds=500)


def test_failing_endpoint_is_asked_once_a_round(alice: Person, tiny: Tiny) -> None:
    tiny.answers = lambda texts: []
    store(alice, *"abcdefghij")

    embed_team(alice.team.pk)

    assert len(tiny.texts) == tiny.batch


def test_one_text_that_is_refused_keeps_back_no_other(alice: Person, tiny: Tiny) -> None:
    def picky(texts: Any) -> Any:
        if any("bad" in text for text in texts):
            raise EmbedderFault("The server answered with status 400.", rejects_texts=True)
        return [[1.0] * 5 for _ in texts]

    tiny.answers = picky
    store(alice, "a", "b", "bad", "d", "e")

    assert embed_team(alice.team.pk) == 4
    assert state(alice).failing == 1


def test_text_that_changes_meanwhile_keeps_nothing_of_the_old_one(
    alice: Person, tiny: Tiny
) -> None:
    def slow(texts: Any) -> Any:
        tiny.answers = None
        store(alice, "a", value="bread")
        return [[1.0] * 5 for _ in texts]

    tiny.answers = slow
    store(alice, "a")
    embed_team(alice.team.pk)

    with tenant([alice.team.pk]):
        row = of(alice).get()
    assert row.embedded_at is None or tiny.texts[-1].startswith("a: bread")
    assert "bread" in tiny.texts[-1]


def test_what_a_dead_worker_had_taken_is_found_again(alice: Person, tiny: Tiny) -> None:
    store(alice, "a")
    embedding.enqueue_outdated(alice.team.pk, tiny)
    now = timezone.now()

    taken = embedding._claim_jobs(alice.team.pk, 4, now)

    assert len(taken) == 1
    assert embedding._claim_jobs(alice.team.pk, 4, now) == []
    assert embed_team(alice.team.pk, now=now + embedding.CLAIM_DURATION * 2) == 1


def test_entries_from_before_there_was_an_embedder_are_found(
    alice: Person, settings: Any, tiny: Tiny
) -> None:
    settings.MEMORY_EMBEDDER = None
    store(alice, "a", "b")
    services.forget(at_door(alice), namespace=HERE, key="b")
    with tenant([alice.team.pk]):
        assert not of(alice).exists()

    settings.MEMORY_EMBEDDER = "tiny"

    assert embed_team(alice.team.pk) == 1


def test_what_changed_while_there_was_none_is_set_right(
    alice: Person, settings: Any, tiny: Tiny
) -> None:
    store(alice, "a", "b")
    embed_team(alice.team.pk)
    settings.MEMORY_EMBEDDER = None
    store(alice, "a", value="bread")
    services.forget(at_door(alice), namespace=HERE, key="b")

    settings.MEMORY_EMBEDDER = "tiny"
    embedding.reset_checks()

    assert embed_team(alice.team.pk) == 1
    assert "bread" in tiny.texts[-1]
    assert state(alice).entries == 1


def test_other_model_embeds_all_anew_and_old_vectors_meet_no_new_question(
    alice: Person, tiny: Tiny
) -> None:
    store(alice, "a", value="vessel")
    embed_team(alice.team.pk)
    tiny.name = "tiny/2"

    hits = services.recall(at_door(alice), namespace=HERE, query_text="vessel")
    assert "vector" not in hits[0].explain
    assert state(alice).embedded == 0
    assert embed_team(alice.team.pk) == 1
    assert state(alice).embedded == 1


def test_model_that_gives_other_dimensions_than_before_embeds_all_anew(
    alice: Person, tiny: Tiny
) -> None:
    tiny.dimensions = None  # type: ignore[assignment]  # as many as it gives
    store(alice, "a", "b")
    embed_team(alice.team.pk)
    tiny.answers = lambda texts: [[1.0] * 7 for _ in texts]
    store(alice, "c")

    assert embed_team(alice.team.pk) == 3

    with tenant([alice.team.pk]):
        assert set(of(alice).values_list("dimensions", flat=True)) == {7}


def test_all_is_due_again_when_somebody_asks(alice: Person, tiny: Tiny) -> None:
    store(alice, "a", "b")
    embed_team(alice.team.pk)

    assert enqueue_all(alice.team.pk) == 2
    assert embed_team(alice.team.pk) == 2


def test_wake_up_comes_after_the_commit_and_once_for_many(
    alice: Person, tiny: Tiny, django_capture_on_commit_callbacks: Any, monkeypatch: Any
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(
        notify._registry, "notifier", lambda team, after: told.append((team, after))
    )
    notify._NOTIFIED_UNTIL.clear()

    with django_capture_on_commit_callbacks(execute=True):
        store(alice, "a", "b", "c")
        assert told == []

    assert told == [(alice.team.pk, notify.DELAY)]


def test_command_says_how_far_it_is_and_embeds(alice: Person, tiny: Tiny) -> None:
    store(alice, "a", "b")
    out = StringIO()

    call_command("memory_embed", alice.team.slug, stdout=out)
    call_command("memory_embed", alice.team.slug, "--now", stdout=out)
    call_command("memory_embed", alice.team.slug, "--again", stdout=out)

    said = out.getvalue()
    assert "0 of 2 embedded (0%)" in said
    assert "2 embedded" in said
    assert "2 queued to be embedded again" in said


def test_command_ends_badly_while_something_fails(alice: Person, tiny: Tiny) -> None:
    tiny.answers = lambda texts: []
    store(alice, "a")

    with pytest.raises(CommandError, match="1 memories could not be embedded"):
        call_command("memory_embed", alice.team.slug, "--now", stdout=StringIO())


def test_command_without_an_embedder_says_where_one_is_chosen() -> None:
    with pytest.raises(CommandError, match="MEMORY_EMBEDDER"):
        call_command("memory_embed", stdout=StringIO())


@pytest.mark.parametrize("name", ["nonsense", "openai_compatible"])
def test_embedder_that_cannot_be_made_stops_at_start(settings: Any, name: str) -> None:
    settings.MEMORY_EMBEDDER = name

    with pytest.raises(ImproperlyConfigured, match="MEMORY_EMBEDDER"):
        embedders.check_configuration()


@pytest.mark.django_db(transaction=True)
def test_server_without_pgvector_refuses_the_embedder_and_goes_on_by_words(
    cast: Cast, tiny: Tiny, owner_db: psycopg.Connection[Any]
) -> None:
    alice = cast.alice
    owner_db.execute("ALTER TABLE memory_embedding DROP COLUMN vector")
    owner_db.execute("DROP EXTENSION vector")
    forget()
    try:
        store(alice, "a")
        assert [hit.key for hit in recalled(alice)] == ["a"]
        assert "no_vector" not in recalled(alice)[0].explain
        assert embed_team(alice.team.pk) == 0
        assert state(alice).missing == vector_column.MISSING
    finally:
        owner_db.execute(vector_column.QUERIES["create_extension"])
        owner_db.execute(vector_column.QUERIES["add_column"])
        forget()

    assert embed_team(alice.team.pk) == 1


def recalled(person: Person) -> Any:
    return services.recall(at_door(person), namespace=HERE, query_text="boat")


def test_vectors_are_kept_in_the_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format_type(atttypid, atttypmod), attstorage FROM pg_attribute"
            " WHERE attrelid = 'memory_embedding'::regclass AND attname = 'vector'"
        )
        assert cursor.fetchone() == ("halfvec", "m")
