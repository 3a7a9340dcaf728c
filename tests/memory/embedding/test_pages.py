"""Pages of knowledge are found by meaning too, and nothing that words find gets lost by it."""

import pytest

from memory import services
from memory.services.knowledge.page_finding import find_pages
from memory.services.knowledge.pages import write_pages
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.support.embedding import Tiny


pytestmark = pytest.mark.django_db

HERE = "global:base"


@pytest.fixture
def knowledge_base(alice: Person, tiny: Tiny) -> Person:
    pages = [
        {
            "title": "Harbour",
            "summary": "Where each boat lies",
            "content": "A boat, and another boat.",
        },
        {"title": "Bakery", "summary": "Opens at six", "content": "Rye, and a loaf of wheat."},
    ]
    write_pages(at_door(alice), namespace=HERE, pages=pages)
    services.remember(at_door(alice), namespace=HERE, key="note", value="ship ship ship")
    return alice


def titles(person: Person, query: str) -> list[str]:
    return [
        str(hit.page["title"]) for hit in find_pages(at_door(person), namespace=HERE, query=query)
    ]


def test_page_is_found_in_other_words_once_it_is_embedded(knowledge_base: Person) -> None:
    assert titles(knowledge_base, "vessels") == []

    embed_team(knowledge_base.team.pk)

    (hit,) = find_pages(at_door(knowledge_base), namespace=HERE, query="vessels")
    assert (hit.page["title"], hit.parts["rank"]) == ("Harbour", 0.5)
    assert hit.score == hit.parts["vector"] > 0.9


def test_words_count_as_much_as_before(knowledge_base: Person) -> None:
    before = {
        hit.entry.key: hit.score
        for hit in find_pages(at_door(knowledge_base), namespace=HERE, query="Bakery six")
    }
    embed_team(knowledge_base.team.pk)

    after = {
        hit.entry.key: hit.score
        for hit in find_pages(at_door(knowledge_base), namespace=HERE, query="Bakery six")
    }

    assert before
    assert all(after[key] >= score for key, score in before.items())
