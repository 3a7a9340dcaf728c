"""The pages of memory, with and without htmx."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.personas import make_persona_id
from accounts.tenancy import tenant
from memory import services
from memory.models import Change, Entry
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(alice: Person) -> Entry:
    services.remember(in_run(alice), scope="user", key="cat", value="My cat is called Miso.")
    services.recall(in_run(alice, run_id="r2"), scope="user", query_text="cat", injected=True)
    with tenant([alice.team.id]):
        return Entry.objects.unscoped().select_related("namespace").get()


def test_empty_page_says_what_it_is_and_how_to_fill_it(alice: Person) -> None:
    page = markup_of(alice.client.get("/memory/"))

    assert "No memories yet" in page
    assert "/samples/" in page
    assert "/api/v1/memory/entries" in page


def test_list_and_namespace_show_counts_and_find_by_text(alice: Person, entry: Entry) -> None:
    client, address = alice.client, f"/memory/namespaces/{entry.namespace_id}/"

    assert "My cat is called Miso." in markup_of(client.get("/memory/"))
    assert entry.namespace.text in markup_of(client.get("/memory/namespaces/"))
    assert "Miso" in markup_of(client.get(address, {"q": "miso", "tier": "long_term"}))
    nothing = markup_of(client.get(address, {"q": "zebra", "offset": "nonsense"}))
    assert "No results" in nothing
    assert "Miso" not in nothing


def test_entry_page_shows_where_it_came_from_and_who_read_it(alice: Person, entry: Entry) -> None:
    page = markup_of(alice.client.get(f"/memory/entries/{entry.pk}/"))

    assert "My cat is called Miso." in page
    assert "r1" in page
    assert "In the prompt" in page
    assert not re.search(r"<script(?![^>]*src)|\sstyle=|\son\w+=", page)


def test_forget_and_undo_without_javascript(alice: Person, entry: Entry) -> None:
    client = alice.client

    forgotten = markup_of(client.post(f"/memory/entries/{entry.pk}/forget/", follow=True))
    assert "1 entry forgotten." in forgotten
    undo = re.search(r'action="(/memory/changes/[^"]+/undo/)"', forgotten)
    assert undo is not None
    assert "Miso" not in forgotten

    back = markup_of(client.post(undo[1], follow=True))
    assert "Miso" in back
    assert client.post(undo[1], follow=True).status_code == 200  # a second click says so


def test_forget_by_htmx_answers_with_the_fragment_and_its_undo(alice: Person, entry: Entry) -> None:
    headers = {"HX-Request": "true"}

    fragment = alice.client.post(f"/memory/entries/{entry.pk}/forget/", headers=headers)
    page = markup_of(fragment)

    assert page.strip().startswith('<div id="entries"')
    with tenant([alice.team.id]):
        change = Change.objects.unscoped().get()
    assert f"/memory/changes/{change.pk}/undo/" in page
    again = alice.client.post(f"/memory/changes/{change.pk}/undo/", headers=headers)
    assert "Miso" in markup_of(again)


def test_edit_saves_a_revision_and_a_late_one_keeps_what_was_typed(
    alice: Person, entry: Entry
) -> None:
    form = {"value": '{"a": 1}', "kind": "json", "metadata": "{}", "category": "fact"}
    form |= {"tier": "long_term", "reason": "tidy", "revision": "1"}
    address = f"/memory/entries/{entry.pk}/edit/"

    assert alice.client.post(address, form).status_code == 302
    late = alice.client.post(address, {**form, "value": "[7, 8]"})
    wrong = alice.client.post(address, {**form, "revision": "2", "value": "{"})

    assert (late.status_code, wrong.status_code) == (409, 422)
    assert "[7, 8]" in markup_of(late)
    assert "Invalid JSON" in markup_of(wrong)
    assert services.get_entry(at_door(alice), entry_id=entry.pk).value == {"a": 1}
    restored = alice.client.post(f"/memory/entries/{entry.pk}/restore/", {"revision": "1"})
    assert restored.status_code == 302
    assert services.get_entry(at_door(alice), entry_id=entry.pk).value == "My cat is called Miso."


def test_stranger_and_team_mates_find_nothing(
    bob: Person, ada: Person, carol: Person, entry: Entry
) -> None:
    for person in (bob, ada, carol):
        assert "Miso" not in markup_of(person.client.get("/memory/"))
        assert entry.namespace.text not in markup_of(person.client.get("/memory/namespaces/"))
        assert person.client.get(f"/memory/entries/{entry.pk}/").status_code == 404


def test_people_and_test_persons_are_named_in_words(alice: Person, entry: Entry) -> None:
    ben = make_persona_id("ben", alice.user.pk)
    services.remember(in_run(alice, user_id=ben, outside=True), scope="user", key="k", value="v")
    page = markup_of(alice.client.get("/memory/namespaces/"))

    assert re.search(r">You</a>\s*<button[^>]*data-copy-text=\"user:", page)
    assert re.search(r">ben \(test user\)</a>\s*<button[^>]*data-copy-text=\"user:ben@", page)


def test_forgetting_a_choice_is_asked_first_and_undone_as_one(alice: Person) -> None:
    stored = [
        services.remember(in_run(alice), scope="user", key=f"k{n}", value=f"value {n}")
        for n in range(3)
    ]
    with tenant([alice.team.id]):
        row = Entry.objects.unscoped().select_related("namespace").first()
    assert row is not None
    address = f"/memory/namespaces/{row.namespace_id}/act/"
    chosen = {"entry": [stored[0].id, stored[1].id, "nonsense"]}

    asked = markup_of(alice.client.post(address, chosen))
    assert "2 entries (22\xa0bytes) will be forgotten" in asked
    assert asked.count(" disabled checked>") == 2
    assert _living(alice) == 3  # a dry run changes nothing
    done = markup_of(
        alice.client.post(
            address, {"entry": [stored[0].id, stored[1].id], "sure": "1"}, follow=True
        )
    )
    assert "2 entries forgotten." in done
    assert _living(alice) == 1
    undo = re.search(r'action="(/memory/changes/[^"]+/undo/)"', done)
    assert undo is not None
    alice.client.post(undo[1])
    assert _living(alice) == 3


def test_entries_are_found_by_metadata_and_nonsense_is_named(alice: Person) -> None:
    for number in range(2):
        metadata = {"n": number, "topic": "cats"}
        services.remember(
            in_run(alice),
            scope="user",
            key=f"k{number}",
            value=f"value {number}",
            metadata=metadata,
        )
    with tenant([alice.team.id]):
        row = Entry.objects.unscoped().first()
    assert row is not None
    address = f"/memory/namespaces/{row.namespace_id}/"

    found = markup_of(alice.client.get(address, {"m": "topic=cats n=1"}))
    assert ("value 1" in found, "value 0" in found) == (True, False)
    assert "Use name=value" in markup_of(alice.client.get(address, {"m": "topic"}))


def _living(person: Person) -> int:
    with tenant([person.team.id]):
        return Entry.objects.unscoped().living().count()


def test_pages_ask_as_often_for_three_rows_as_for_one(alice: Person) -> None:
    def counts() -> tuple[int, ...]:
        with tenant([alice.team.id]):
            row = Entry.objects.unscoped().filter(namespace__scope="user").first()
        assert row is not None
        found = []
        namespaces = "/memory/namespaces/"
        for address in ("/memory/", namespaces, f"{namespaces}{row.namespace_id}/"):
            with CaptureQueriesContext(connection) as asked:
                assert alice.client.get(address).status_code == 200
            found.append(len(asked))
        return tuple(found)

    def fill(number: int) -> None:
        services.remember(in_run(alice), scope="user", key=f"k{number}", value=1)
        services.remember(
            in_run(alice, conversation_id=f"c{number}"), scope="conversation", key="k", value=1
        )

    fill(0)
    counts()  # the first look pays for caches
    once = counts()
    fill(1)
    fill(2)
    assert counts() == once
