"""A run's page says how many memories were considered, how many were used, and why the others weren't."""

from typing import Any

import pytest
from django.utils import timezone

from memory import services
from tests.factories.workflows import make_run, make_workflow, within
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import RunEvent
from workflows.models.run import RunStatus


pytestmark = pytest.mark.django_db

UNKNOWN = "018f0000-0000-7000-8000-000000000001"
USED = {
    "id": "018f0000-0000-7000-8000-000000000002",
    "key": "k",
    "value": "I like tea.",
    "score": 0.6,
}


def open_page(reader: Person, *left_out: dict[str, Any], used: tuple[Any, ...] = (USED,)) -> str:
    return text_of(get_page(reader, *left_out, used=used))


def get_page(reader: Person, *left_out: dict[str, Any], used: tuple[Any, ...] = (USED,)) -> Any:
    run = make_run(
        reader, make_workflow(reader), status=RunStatus.SUCCEEDED, finished_at=timezone.now()
    )
    data = {"node": "n", "scope": "user", "query": "tea?", "entries": [*used]}
    with within(reader):
        RunEvent.objects.create(
            team_id=run.team_id,
            run=run,
            seq=1,
            name="memory_recalled",
            data={**data, "left_out": [*left_out]},
        )
    return reader.client.get(f"/runs/{run.pk}/")


def test_memories_are_counted_and_shown_with_the_reason(cast: Cast) -> None:
    entry = services.remember(
        at_door(cast.alice), namespace="global:shop", key="a", value="The shop opens at nine."
    )

    page = open_page(
        cast.alice,
        {"id": entry.id, "score": 0.04, "reason": "irrelevant"},
        {"id": UNKNOWN, "score": 0.5, "reason": "former"},
        {"id": USED["id"], "score": 0.01, "reason": "irrelevant"},  # another search used it
    )

    assert "3 considered, 1 used" in page
    assert (
        '<div class="recollection-value">The shop opens at nine.</div>' in page
    )  # spaces would show
    assert "Too little to do with the query" in page
    assert "No longer holds" in page
    assert f"/memory/entries/{entry.id}" in page


def test_memory_is_shown_without_spaces_around_it(cast: Cast) -> None:
    """The page shows line breaks and spaces of memories as they are."""
    entry = services.remember(
        at_door(cast.alice), namespace="global:shop", key="a", value="The shop opens at nine."
    )

    page = get_page(cast.alice, {"id": entry.id, "score": 0.04, "reason": "irrelevant"})

    assert ">The shop opens at nine.</div>" in page.content.decode()


def test_nothing_is_shown_of_what_the_reader_may_not_see(cast: Cast) -> None:
    secret = services.remember(
        at_door(cast.bob), namespace=f"user:{cast.bob.user.pk}", key="a", value="Bob's secret"
    )

    page = open_page(cast.alice, {"id": secret.id, "score": 0.3, "reason": "former"}, used=())

    assert "1 considered, 0 used" in page
    assert "Bob" not in page.partition("considered")[2].partition("</section>")[0]
    assert "A memory that you can" in page


def test_runs_that_left_nothing_out_say_nothing_of_it(cast: Cast) -> None:
    assert "considered" not in open_page(cast.alice)


def test_search_without_a_match_is_a_use_of_memory(cast: Cast) -> None:
    page = open_page(cast.alice, used=())

    assert "No memory matched, and nothing was remembered." in page
    assert "did not use memory" not in page
