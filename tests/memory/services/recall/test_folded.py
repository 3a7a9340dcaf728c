"""The search and the list of entries find what recall finds, however it is spelt, and wherever it is kept."""

from typing import Any

import pytest

from memory import services
from memory.services.history.timeline import read_timeline
from memory.services.recall.search import EntrySearch, search_entries
from memory.short_rows import search_rows
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HERE = "global:spellings"
STORED = {
    "kana": "カタカナを習う",
    "way": "Die lange Straße am See",
    "town": "İzmir'de yaşıyorum",
    "tone": "Mo fẹ́ràn ọjọ́ Àìkú",
}
SOUGHT = [
    ("ｶﾀｶﾅ", "kana"),
    ("strasse", "way"),
    ("STRASSE", "way"),
    ("izmir", "town"),
    ("o\u0323jo\u0323", "tone"),
]
PARTS = [("ﾀｶ", "kana"), ("trass", "way"), ("zmi", "town"), ("ran O\u0323", "tone")]


def fill(door: Any, **place: Any) -> None:
    for key, value in STORED.items():
        services.remember(door, key=key, value=value, **place)


@pytest.mark.parametrize(("text", "key"), [*SOUGHT, *PARTS])
def test_search_box_and_list_find_other_spellings(alice: Person, text: str, key: str) -> None:
    door = at_door(alice)
    fill(door, namespace=HERE)

    assert services.recall(door, namespace=HERE, query_text=text, top_k=1)[0].key == key
    searched = search_entries(door, namespace=HERE, search=EntrySearch(text=text))
    listed = services.list_entries(door, namespace=HERE, text=text)
    changes = read_timeline(door, namespace=HERE, search=EntrySearch(text=text))

    assert searched.entries[0].key == key
    assert [entry.key for entry in listed.entries] == [key]
    assert [change.keys for change in changes.changes] == [(key,)]
    assert [row.text for row in search_rows(door, text, limit=1)] == [STORED[key]]


@pytest.mark.parametrize(("text", "key"), [*SOUGHT, *PARTS])
def test_quarantined_entries_are_found_in_other_spellings(
    alice: Person, text: str, key: str
) -> None:
    door = at_door(alice)
    fill(door, namespace=HERE)
    ids = [entry.id for entry in services.list_entries(door, namespace=HERE).entries]
    services.move(door, move="quarantine", entry_ids=ids)

    everywhere = services.search_all_namespaces(door, query=text)

    assert [entry.key for entry in everywhere.entries] == [key]


@pytest.mark.usefixtures("in_redis")
@pytest.mark.parametrize(("text", "key"), [*SOUGHT, *PARTS])
def test_entries_kept_elsewhere_are_found_in_other_spellings(
    alice: Person, text: str, key: str
) -> None:
    run = in_run(alice, workflow_id="w1", group_id="g")
    fill(run, scope="workflow")
    place = "ai:memory:w1:g"

    listed = services.list_entries(at_door(alice), namespace=place, text=text)
    searched = search_entries(at_door(alice), namespace=place, search=EntrySearch(text=text))

    assert [entry.key for entry in listed.entries] == [key]
    assert [entry.key for entry in searched.entries] == [key]
    assert services.recall(run, scope="workflow", query_text=text, top_k=1)[0].key == key


def test_key_and_name_of_a_namespace_are_found_in_other_spellings(alice: Person) -> None:
    door = at_door(alice)
    services.remember(door, namespace="global:Straßen", key="Größe", value="drei Meter")

    by_key = search_entries(door, namespace="global:Straßen", search=EntrySearch(key="GROSSE"))

    assert [entry.key for entry in by_key.entries] == ["Größe"]
    shown = markup_of(alice.client.get("/memory/", {"q": "strassen"}))
    assert "Matching namespaces" in shown


@pytest.mark.parametrize(("text", "key"), SOUGHT)
def test_pages_find_other_spellings(alice: Person, text: str, key: str) -> None:
    fill(at_door(alice), namespace=f"user:{alice.user.pk}")

    overview = markup_of(alice.client.get("/memory/", {"q": text}))
    own = markup_of(alice.client.get("/memory/about/", {"q": text}))

    for page in (overview, own):
        found = [name for name, value in STORED.items() if value.split("'")[0] in page]
        assert found == [key]
