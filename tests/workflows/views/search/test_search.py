"""One search finds everything that a person may see, and nothing else."""

import re

import pytest
from django.urls import reverse

from memory.services import MemoryCaller, remember
from tests.factories.workflows import document, make_run, make_workflow
from tests.support.cast import Cast, Person


def search(person: Person, query: str = "") -> dict[str, list[str]]:
    """Return the titles of the results by the name of their group."""
    response = person.client.get(reverse("workflows:search"), {"q": query, "fragment": "1"})
    assert response.status_code == 200
    return {
        group.name: [str(result.title) for result in group.results]
        for group in response.context["groups"]
    }


def store(person: Person, text: str, scope: str = "user", **options: object) -> None:
    identity = {"user_id": str(person.user.pk), "app_id": "shop"}
    caller = MemoryCaller(person.principal, person.team.pk, identity=identity)
    remember(caller, scope=scope, key=text[:40], value=text, **options)  # type: ignore[arg-type]


@pytest.fixture
def filled(cast: Cast) -> Cast:
    workflow = make_workflow(cast.alice, "Peanut advisor", document("Find peanut recipes"))
    make_run(cast.alice, workflow, inputs={"text": "Are there peanuts in it?"})
    store(cast.alice, "Alice is allergic to peanuts")
    store(cast.alice, "Peanut orders are packed apart", scope="global")
    return cast


def test_search_finds_workflows_nodes_runs_and_memories_by_a_part_of_a_word(filled: Cast):
    found = search(filled.alice, "pean")

    assert found["workflows"] == ["Peanut advisor"]
    assert found["nodes"] == ["Find peanut recipes"]
    assert found["runs"] == ["Are there peanuts in it?"]
    assert found["memories"] == ["Peanut orders are packed apart", "Alice is allergic to peanuts"]


def test_search_shows_a_team_mate_what_the_team_shares_and_nothing_personal(filled: Cast):
    found = search(filled.bob, "pean")

    assert found["workflows"] == ["Peanut advisor"]
    assert "runs" not in found
    assert found["memories"] == ["Peanut orders are packed apart"]


def test_search_shows_a_stranger_nothing(filled: Cast):
    assert search(filled.carol, "pean") == {}


def test_search_finds_a_memory_by_a_whole_word_in_another_form(filled: Cast):
    store(filled.alice, "Three bicycles stand in the yard")

    assert search(filled.alice, "bicycle yard")["memories"] == ["Three bicycles stand in the yard"]


def test_search_finds_people_pages_settings_and_actions(filled: Cast):
    assert search(filled.vic, "bob")["people"] == ["Bob"]
    assert search(filled.alice, "audit")["pages"] == ["Audit trail"]
    assert search(filled.alice, "keys")["settings"] == ["API keys"]
    assert search(filled.alice, "new wo")["actions"] == ["New workflow"]
    assert search(filled.alice, "dark")["actions"] == ["Switch theme"]


def test_search_offers_no_page_or_action_without_the_permission(filled: Cast):
    assert "pages" not in search(filled.vic, "audit")
    assert "settings" not in search(filled.vic, "api keys")
    assert "actions" not in search(filled.vic, "new workflow")


def test_empty_query_shows_recent_rows_first(filled: Cast):
    make_workflow(filled.alice, "Newer")

    found = search(filled.alice)

    assert next(iter(found)) == "workflows"
    assert found["workflows"] == ["Newer", "Peanut advisor"]
    assert found["runs"] == ["Are there peanuts in it?"]


def test_group_with_a_title_that_begins_with_the_query_comes_first(filled: Cast):
    make_workflow(filled.alice, "Home assistant")

    assert next(iter(search(filled.alice, "review"))) == "pages"
    assert next(iter(search(filled.alice, "home"))) == "workflows"


def test_search_takes_few_queries_whatever_it_finds(filled: Cast, django_assert_max_num_queries):
    client = filled.alice.client
    client.get(reverse("workflows:search"))
    for number in range(3):
        make_run(filled.alice, make_workflow(filled.alice, f"Peanut {number}"))
        store(filled.alice, f"Peanut number {number}")

    with django_assert_max_num_queries(32):
        client.get(reverse("workflows:search"), {"q": "peanut", "fragment": "1"})


def test_page_works_without_a_script(filled: Cast):
    response = filled.alice.client.get(reverse("workflows:search"), {"q": "peanut"})

    assert re.search(r'href="/workflows/[0-9a-f-]{36}/"', response.content.decode())
    assert 'id="search-query"' in response.content.decode()  # the dialog of every page


def test_text_with_special_characters_finds_nothing_and_fails_nothing(filled: Cast):
    assert search(filled.alice, "%_\\' ((") == {}
