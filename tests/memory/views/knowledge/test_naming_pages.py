"""Creating and renaming a knowledge base on its pages."""

import pytest
from django.test import Client

from memory import services
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def test_created_knowledge_base_opens_and_stands_in_the_list_and_in_pickers(alice: Person) -> None:
    texts = {"name": "Handbook", "description": "How we work."}

    answer = alice.client.post("/memory/knowledge/bases/new/", texts, follow=True)

    page = markup_of(answer)
    assert "Handbook" in page
    assert "How we work." in page
    assert "No pages here yet" in page
    index = markup_of(alice.client.get("/memory/knowledge/"))
    assert "Handbook" in index
    assert "How we work." in index
    assert 'value="global:handbook">Handbook<' in markup_of(
        alice.client.get("/memory/knowledge/new/")
    )


def test_name_that_is_taken_is_said_beside_the_field(alice: Person) -> None:
    services.create_knowledge_base(at_door(alice), name="Handbook")

    answer = alice.client.post("/memory/knowledge/bases/new/", {"name": "handbook"})

    assert answer.status_code == 422
    assert "There is a knowledge base with the name “handbook”." in markup_of(answer)


def test_renamed_knowledge_base_shows_the_new_name(alice: Person) -> None:
    row = services.create_knowledge_base(at_door(alice), name="Handbook")

    answer = alice.client.post(
        f"/memory/knowledge/{row.pk}/name/", {"name": "Manual", "description": "New"}, follow=True
    )

    assert "Manual" in markup_of(answer)
    assert "New" in markup_of(answer)


def test_viewer_is_offered_neither(alice: Person, vic: Person) -> None:
    row = services.create_knowledge_base(at_door(alice), name="Handbook")
    client: Client = vic.client

    assert "/memory/knowledge/bases/new/" not in markup_of(client.get("/memory/knowledge/"))
    assert "/name/" not in markup_of(client.get(f"/memory/knowledge/{row.pk}/"))
