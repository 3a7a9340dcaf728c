"""A question to a large knowledge base: compared with what is worth it, and answered as if with all of it."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Namespace
from memory.services.gateway.gateway import open_namespace
from memory.services.knowledge import bulk_pages, search_candidates
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

WIKI = "global:wiki"
PAGES = [
    {"title": f"Bed {n}", "content": f"Row {n} of the garden.", "tags": ["beds"]} for n in range(8)
]
TEA = {"title": "Tea", "summary": "How tea is brewed", "content": "Green tea wants 80 degrees."}
CUPS = {"title": "Cups", "content": "One for tea stands on the left.", "tags": ["kitchen"]}


@pytest.fixture
def knowledge_base(alice: Person) -> Person:
    services.write_pages(at_door(alice), namespace=WIKI, pages=[*PAGES, TEA, CUPS])
    return alice


def found(person: Person, query: str, **more: Any) -> list[str]:
    hits = services.find_pages(at_door(person), namespace=WIKI, query=query, **more)
    return [hit.item.page.title for hit in hits]


def read(person: Person, query: str) -> int:
    """How many pages the question was compared with."""
    with open_namespace(at_door(person), "view", "memory.recalled", namespace=WIKI) as access:
        return len(search_candidates.list_candidate_pages(access, query, ()))


@pytest.mark.parametrize("query", ["tea", "garden row", "brewed degrees", "nothing of it"])
def test_large_knowledge_base_gives_what_a_small_one_would(
    knowledge_base: Person, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = found(knowledge_base, query)

    monkeypatch.setattr(search_candidates, "LARGE_SIZE", 5)

    assert set(found(knowledge_base, query)) == set(small)
    assert found(knowledge_base, query)[:1] == small[:1]


def test_page_without_a_word_of_the_question_is_read_from_a_small_knowledge_base_alone(
    knowledge_base: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(knowledge_base, "tea") == 10

    monkeypatch.setattr(search_candidates, "LARGE_SIZE", 5)

    assert read(knowledge_base, "tea") == 2


def test_page_near_in_meaning_is_compared_without_a_word_of_the_question(
    knowledge_base: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_candidates, "LARGE_SIZE", 5)
    near = ["page:bed-3", "page:tea", "page:gone"]
    with open_namespace(
        at_door(knowledge_base), "view", "memory.recalled", namespace=WIKI
    ) as access:
        keys = [one.key for one in search_candidates.list_candidate_pages(access, "tea", near)]

    assert sorted(keys) == ["page:bed-3", "page:cups", "page:tea"]


def test_tags_are_looked_for_on_all_of_a_large_knowledge_base(
    knowledge_base: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_candidates, "LARGE_SIZE", 5)
    monkeypatch.setattr(search_candidates, "MAX_COMPARED", 1)

    assert found(knowledge_base, "tea", tags=["kitchen"]) == ["Cups"]


def test_knowledge_base_says_whose_words_a_page_is_until_somebody_approves(
    knowledge_base: Person,
) -> None:
    rows = Entry.objects.unscoped()
    with tenant([knowledge_base.team.id]):
        rows.filter(key="page:tea").update(metadata={"origin": "web"})
        rows.filter(key="page:cups").update(metadata={"origin": "web", "review": "approve"})

    pages = {
        one.id: one
        for one in services.get_knowledge_base(at_door(knowledge_base), namespace=WIKI).pages
    }

    assert (pages["tea"].origin, pages["cups"].origin, pages["bed-1"].origin) == ("web", "", "")


def test_knowledge_base_reads_no_more_of_an_entry_than_it_shows(knowledge_base: Person) -> None:
    with (
        open_namespace(at_door(knowledge_base), "view", "memory.listed", namespace=WIKI) as access,
        CaptureQueriesContext(connection) as captured,
    ):
        there = bulk_pages.load_knowledge_base(access)

    with tenant([knowledge_base.team.id]):
        place = Namespace.objects.unscoped().get(text=WIKI)
        ids = dict(Entry.objects.unscoped().filter(namespace=place).values_list("value__id", "id"))
    assert {name: one.id for name, one in there.entries.items()} == {
        name: str(pk) for name, pk in ids.items()
    }
    (reading,) = captured
    assert '"text"' not in reading["sql"]
    assert "source_run" not in reading["sql"]
