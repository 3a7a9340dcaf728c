"""Recall by meaning, from the write to the answer: what is found, in what order, said why; and whose it is."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import NotFound
from memory.models import Embedding
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door, trail
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny
from tests.support.score_parts import check_parts


pytestmark = pytest.mark.django_db

HERE = "global:harbour"


def store(person: Person, key: str, value: Any, **more: Any) -> Any:
    return services.remember(at_door(person), namespace=HERE, key=key, value=value, **more)


def found(person: Person, text: str, **more: Any) -> list[str]:
    return [
        hit.key for hit in services.recall(at_door(person), namespace=HERE, query_text=text, **more)
    ]


@pytest.fixture
def harbour(alice: Person, tiny: Tiny) -> Person:
    store(alice, "a", "a boat lies at the pier")
    store(alice, "b", "the kitten sleeps")
    store(alice, "c", "an automobile was parked", metadata={"kind": "wheels"})
    assert embed_team(alice.team.pk) == 3
    return alice


def test_question_finds_what_means_the_same_in_other_words(harbour: Person) -> None:
    hits = services.recall(at_door(harbour), namespace=HERE, query_text="ship", top_k=1)

    (hit,) = hits
    assert (hit.key, hit.explain["words"]) == ("a", 0.0)
    assert hit.explain["vector"] == pytest.approx(hit.score)
    assert (hit.score or 0.0) > 0.9
    assert hit.explain["rank"] == hit.explain["rank_vector"] == pytest.approx(1 / 2)


def test_question_in_another_language_finds_it_too(harbour: Person) -> None:
    assert found(harbour, "小船", top_k=1) == ["a"]


def test_parts_add_up_to_the_score_where_words_and_meaning_meet(harbour: Person) -> None:
    hits = services.recall(at_door(harbour), namespace=HERE, query_text="the boat at the pier")

    assert hits[0].key == "a"
    for hit in hits:
        check_parts(hit)
    assert {"rank_words", "rank_vector"} <= hits[0].explain.keys()


def test_store_is_found_by_its_words_before_it_is_embedded(harbour: Person) -> None:
    store(harbour, "d", "a vessel called Marlene")

    hits = services.recall(at_door(harbour), namespace=HERE, query_text="Marlene")

    assert (hits[0].key, hits[0].explain["vector"]) == ("d", 0.0)


def test_nothing_embedded_yet_scores_as_words_alone(
    alice: Person, tiny: Tiny, settings: Any
) -> None:
    store(alice, "a", "a boat lies at the pier")
    store(alice, "b", "another boat")

    with_embedder = services.recall(at_door(alice), namespace=HERE, query_text="boat")
    settings.MEMORY_EMBEDDER = None

    assert with_embedder == services.recall(at_door(alice), namespace=HERE, query_text="boat")


def test_changed_text_is_found_by_its_new_meaning_alone(harbour: Person) -> None:
    store(harbour, "a", "a loaf of rye")

    assert "a" not in found(harbour, "ship")
    assert embed_team(harbour.team.pk) == 1
    assert found(harbour, "baguette", top_k=1) == ["a"]


def test_change_that_leaves_the_text_keeps_its_vector(harbour: Person, tiny: Tiny) -> None:
    store(harbour, "a", "a boat lies at the pier", metadata={"kind": "water"})

    assert embed_team(harbour.team.pk) == 0
    assert found(harbour, "vessel", top_k=1) == ["a"]


def test_change_that_leaves_the_text_writes_no_row_of_vectors(harbour: Person) -> None:
    entry = store(harbour, "d", "a vessel")

    with CaptureQueriesContext(connection) as queries:
        services.edit(
            at_door(harbour), entry_id=entry.id, if_revision=1, valid_until=timezone.now()
        )

    assert not [each for each in queries if "INTO memory_embedding" in each["sql"]]


def test_filter_narrows_before_the_nearest_are_chosen(harbour: Person) -> None:
    assert found(harbour, "ship", filter={"kind": "wheels"}) == ["c"]


def test_forgotten_has_no_vector_and_restored_gets_one_again(harbour: Person) -> None:
    done = services.forget(at_door(harbour), namespace=HERE, key="a")
    assert "a" not in found(harbour, "ship")
    with tenant([harbour.team.pk]):
        assert Embedding.objects.unscoped().count() == 2

    services.undo(at_door(harbour), change_id=str(done.change_id))

    assert embed_team(harbour.team.pk) == 1
    assert found(harbour, "ship", top_k=1) == ["a"]


def test_quarantined_is_not_embedded_and_not_found(harbour: Person, tiny: Tiny) -> None:
    entry = store(harbour, "d", "the feline of a stranger")
    services.move(at_door(harbour), move="quarantine", entry_ids=[entry.id])

    embed_team(harbour.team.pk)

    assert not any("stranger" in text for text in tiny.texts)
    assert "d" not in found(harbour, "cat")


def test_over_is_not_found_though_its_vector_is_still_there(harbour: Person) -> None:
    store(harbour, "d", "a vessel for a moment", ttl_seconds=60)
    embed_team(harbour.team.pk)
    assert sorted(found(harbour, "ship", top_k=2)) == ["a", "d"]

    with tenant([harbour.team.pk]), connection.cursor() as cursor:
        cursor.execute("UPDATE memory_entry SET expires_at = now() WHERE key = 'd'")

    assert "d" not in found(harbour, "ship")


def test_past_is_found_by_the_meaning_of_what_says_the_same_today(harbour: Person) -> None:
    before = timezone.now()
    store(harbour, "b", "a loaf of rye")
    store(harbour, "e", "one more vessel")
    embed_team(harbour.team.pk)

    hits = services.recall(
        at_door(harbour), namespace=HERE, query_text="ship", as_of=before, top_k=1
    )
    of_old_text = services.recall(
        at_door(harbour), namespace=HERE, query_text="kitten", as_of=before, top_k=1
    )

    assert [hit.key for hit in hits] == ["a"]
    assert hits[0].explain["vector"] > 0
    assert (of_old_text[0].key, of_old_text[0].explain["vector"]) == ("b", 0.0)


def test_words_of_another_language_rank_with_meaning_too(harbour: Person) -> None:
    assert found(harbour, "ships", language="german", top_k=1) == ["a"]


def test_neighbours_of_what_is_near_are_lent_to(alice: Person, tiny: Tiny) -> None:
    for key, value in (
        ("1", "a boat at sea"),
        ("2", "it was windy"),
        ("3", "nothing more"),
        ("4", "far away"),
    ):
        store(alice, key, value, metadata={"group": "talk"})
    store(alice, "5", "standing alone")
    embed_team(alice.team.pk)

    hits = {
        hit.key: hit for hit in services.recall(at_door(alice), namespace=HERE, query_text="ship")
    }

    assert hits["2"].explain["rank_neighbours"] > 0
    assert "5" not in hits


@pytest.mark.parametrize(
    "answers",
    [
        lambda texts: [[1.0, 0.0, 0.0]],  # dimensions
        lambda texts: [],
        lambda texts: [[float("nan")] * 5],
        lambda texts: [[0.0] * 5],
        lambda texts: [["x"] * 5],
        lambda texts: 1 / 0,
    ],
)
def test_question_without_a_meaning_is_answered_by_words_and_says_so(
    harbour: Person, tiny: Tiny, answers: Any
) -> None:
    tiny.answers = answers

    hits = services.recall(at_door(harbour), namespace=HERE, query_text="boat")

    assert [hit.key for hit in hits] == ["a"]
    assert hits[0].explain["no_vector"] == 0.0
    assert "vector" not in hits[0].explain


def test_failed_question_leaves_the_embedder_alone_for_a_while(harbour: Person, tiny: Tiny) -> None:
    tiny.answers = lambda texts: []
    before = len(tiny.questions)

    found(harbour, "boat")
    found(harbour, "another question")

    assert len(tiny.questions) == before + 1


def test_question_asked_twice_is_embedded_once(harbour: Person, tiny: Tiny) -> None:
    before = len(tiny.questions)

    assert found(harbour, "ship") == found(harbour, "ship")

    assert len(tiny.questions) == before + 1


def test_trail_says_that_the_meaning_was_not_to_be_had(harbour: Person, tiny: Tiny) -> None:
    from accounts.models import AuditEntry

    tiny.answers = lambda texts: []
    found(harbour, "boat")

    with tenant([harbour.team.pk]):
        newest = AuditEntry.objects.unscoped().order_by("-seq").first()
    assert newest is not None
    assert newest.detail["meaning"] == "no answer"
    assert trail(harbour.team.pk)[-1][0] == "memory.recalled"


def test_other_teams_vectors_never_come_back(cast: Cast, tiny: Tiny) -> None:
    """Both have the same namespace and the very same text: what could leak is there."""
    for person in (cast.alice, cast.carol):
        store(person, f"of {person.team.slug}", "a boat lies at the pier")
        store(person, "other", "bread")
        embed_team(person.team.pk)

    for person in (cast.alice, cast.carol):
        assert found(person, "ship", top_k=1) == [f"of {person.team.slug}"]
        with tenant([person.team.pk]), connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), count(DISTINCT team_id) FROM memory_embedding WHERE vector IS NOT NULL"
            )
            assert cursor.fetchone() == (2, 1)


def test_private_memory_is_not_found_by_its_meaning_either(cast: Cast, tiny: Tiny) -> None:
    private = f"user:{cast.alice.user.pk}"
    services.remember(at_door(cast.alice), namespace=private, key="a", value="my boat")
    embed_team(cast.team_a.pk)

    with pytest.raises(NotFound):
        services.recall(at_door(cast.bob), namespace=private, query_text="ship")
    assert not Embedding.objects.visible_to(cast.bob.principal).exists()
    with tenant([cast.team_a.pk]):
        assert Embedding.objects.visible_to(cast.alice.principal).count() == 1


def test_erased_person_leaves_no_vector(cast: Cast, tiny: Tiny) -> None:
    person = str(cast.bob.user.pk)
    services.remember(at_door(cast.bob), namespace=f"user:{person}", key="a", value="my boat")
    embed_team(cast.team_a.pk)

    receipt = services.erase(at_door(cast.alice), subject=person)

    assert (receipt.tables["memory_embedding"], receipt.left["memory_embedding"]) == (1, 0)
    with tenant([cast.team_a.pk]):
        assert Embedding.objects.unscoped().count() == 0


def test_without_an_embedder_nothing_is_written_down(alice: Person) -> None:
    store(alice, "a", "a boat")

    with tenant([alice.team.pk]):
        assert Embedding.objects.unscoped().count() == 0
