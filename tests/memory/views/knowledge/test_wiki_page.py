"""The page Upkeep: report, sources and log, and the buttons that mend what the report finds."""

from typing import Any

import pytest

from memory import services
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

WIKI = "global:default"


def ingest(person: Person, source_id: str, title: str, content: str) -> None:
    services.ingest_source(
        at_door(person),
        source={"id": source_id, "text": content},
        pages=[{"title": title, "content": content}],
        namespace=WIKI,
    )


def base(person: Person) -> Any:
    return services.get_knowledge_base(at_door(person), namespace=WIKI)


def address(person: Person) -> str:
    from memory.models import Namespace

    row = Namespace.objects.unscoped().get(team=person.team, text=WIKI)
    return f"/memory/knowledge/{row.pk}/"


def read(person: Person, path: str) -> str:
    return person.client.get(path).content.decode()


@pytest.fixture
def wiki(alice: Person) -> str:
    from accounts.tenancy import tenant

    ingest(alice, "a", "Printer", "The printer is blue.")
    ingest(alice, "b", "Tea", "Tea grows in Assam. See [[Nowhere]].")
    services.forget(at_door(alice), namespace=WIKI, key="source:b")
    with tenant([alice.team.pk]):
        return address(alice)


def test_page_shows_report_sources_and_log_with_their_remedies(alice: Person, wiki: str) -> None:
    markup = read(alice, f"{wiki}wiki/")

    for text in ("Link to a missing page", "Stale", "Compile anew", "Source added", "Add a source"):
        assert text in markup
    assert "The printer is blue." in markup


def test_stale_page_is_marked_everywhere_and_compiled_by_its_button(
    alice: Person, wiki: str
) -> None:
    entry = base(alice).entries["tea"].id
    page = f"/memory/knowledge/pages/{entry}/"
    assert "This page is stale" in read(alice, page)
    assert "Compile stale pages anew" in read(alice, wiki)

    alice.client.post(f"{page}compile/")

    assert "This page is stale" not in read(alice, page)
    assert base(alice).stale == ()
    assert "compiled anew" in read(alice, f"{page}history/")


def test_source_is_added_with_its_page_and_pages_are_linked_and_merged(
    alice: Person, wiki: str
) -> None:
    form = {"title": "Note", "text": "Coffee is hot.", "page": "Coffee"}
    alice.client.post(f"{wiki}sources/", form)
    pages = base(alice).entries
    alice.client.post(f"/memory/knowledge/pages/{pages['coffee'].id}/link/", {"other": "Printer"})
    assert base(alice).index.links["printer"] == ("coffee",)

    alice.client.post(f"/memory/knowledge/pages/{pages['coffee'].id}/merge/", {"other": "Tea"})

    assert sorted(base(alice).entries) == ["coffee", "printer"]
    again = alice.client.post(f"{wiki}sources/", form, follow=True).content.decode()
    assert "This source was added before." in again
    without = alice.client.post(f"{wiki}wiki/").content.decode()
    assert "No model is set" in without
