"""The searches of people and of the API find by meaning too, and say so where they don't."""

from typing import Any

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from memory import services
from memory.models import Namespace
from memory.services.recall.search import EntrySearch, search_entries
from memory.short_rows import search_rows
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.support.embedding import Tiny
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

IS_OFF = "Search by meaning is off"


def store(person: Person, namespace: str, key: str, value: str, **more: Any) -> None:
    services.remember(at_door(person), namespace=namespace, key=key, value=value, **more)


@pytest.fixture
def harbour(alice: Person, tiny: Tiny) -> Person:
    tiny.unrelated_cosine = 0.1
    store(alice, "global:harbour", "a", "a boat lies at the pier")
    store(alice, "global:harbour", "b", "the kitten sleeps")
    store(alice, "global:bakery", "c", "a loaf of rye")
    assert embed_team(alice.team.pk) == 3
    return alice


def find_namespace(person: Person) -> Namespace:
    with tenant([person.team.pk]):
        row: Namespace = Namespace.objects.unscoped().get(text="global:harbour")
    return row


def search_all(person: Person, query: str, **more: Any) -> list[str]:
    results = services.search_all_namespaces(at_door(person), query=query, **more)
    assert results.total == len(results.entries)
    return [entry.key for entry in results.entries]


def test_search_in_all_memory_finds_by_meaning_and_leaves_out_what_is_unrelated(
    harbour: Person,
) -> None:
    assert search_all(harbour, "vessel") == ["a"]
    assert search_all(harbour, "feline baguette") == ["c", "b"]
    assert search_all(harbour, "pier") == ["a"]
    assert search_all(harbour, "vessel", category="result") == []


def test_search_in_all_memory_explains_its_scores(harbour: Person) -> None:
    (entry,) = services.search_all_namespaces(at_door(harbour), query="vessel").entries

    assert entry.explain["vector"] == pytest.approx(entry.score)
    assert (entry.score or 0.0) > 0.9


def test_search_in_all_memory_finds_nothing_of_strangers(harbour: Person, carol: Person) -> None:
    assert search_all(carol, "vessel") == []


def test_search_of_every_page_finds_by_meaning_where_no_word_fits(
    harbour: Person, carol: Person, tiny: Tiny
) -> None:
    def find(person: Person, text: str) -> list[str]:
        return [row.text for row in search_rows(at_door(person), text, limit=5)]

    assert find(harbour, "vessel") == ["a boat lies at the pier"]
    asked = len(tiny.questions)
    assert find(harbour, "pier") == ["a boat lies at the pier"]
    assert find(harbour, "cat") == []  # the beginning of a word that is being typed
    assert len(tiny.questions) == asked
    assert find(carol, "vessel") == []


def test_what_is_forgotten_or_filtered_is_not_found_by_meaning(harbour: Person) -> None:
    services.forget(at_door(harbour), namespace="global:harbour", key="a")

    assert search_all(harbour, "vessel") == []


def test_page_of_a_namespace_searches_by_meaning_but_acts_go_by_words(harbour: Person) -> None:
    def find(text: str) -> list[str]:
        page = search_entries(
            at_door(harbour), namespace="global:harbour", search=EntrySearch(text=text)
        )
        return [entry.key for entry in page.entries]

    assert find("vessel") == ["a"]
    assert find("kitten") == ["b"]
    row = find_namespace(harbour)
    text = markup_of(
        harbour.client.get(reverse("memory:namespace", args=[row.pk]), {"q": "vessel"})
    )
    assert "a boat lies at the pier" in text
    assert "Select all entries that match the words" in text
    assert IS_OFF not in text


def test_api_searches_by_meaning(harbour: Person) -> None:
    answer = harbour.client.get("/api/v1/memory/search", {"q": "vessel"})

    assert answer.status_code == 200
    assert "a boat lies at the pier" in answer.content.decode()


@pytest.mark.parametrize("path", ["/memory/", "/memory/knowledge/"])
def test_search_pages_say_that_search_by_meaning_is_off(alice: Person, path: str) -> None:
    store(alice, "global:harbour", "a", "a boat lies at the pier")

    text = markup_of(alice.client.get(path, {"q": "vessel"}))

    assert IS_OFF in text
    assert "MEMORY_EMBEDDER=local" in text


def test_page_of_a_namespace_says_that_search_by_meaning_is_off(alice: Person) -> None:
    store(alice, "global:harbour", "a", "a boat lies at the pier")
    url = reverse("memory:namespace", args=[find_namespace(alice).pk])

    assert IS_OFF in markup_of(alice.client.get(url, {"q": "vessel"}))
    assert IS_OFF not in markup_of(alice.client.get(url))
