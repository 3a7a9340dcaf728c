"""Pages mark what holds no more, and lead from an entry to the one that took its place."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memory import services
from memory.core.records import MemoryEntry, PromptUse
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HERE = "global:app"
MOVED = datetime(2025, 11, 28, 12, 0, tzinfo=UTC)
MARK = "until Nov 28, 2025"


@pytest.fixture
def homes(alice: Person) -> tuple[MemoryEntry, MemoryEntry]:
    door = at_door(alice)
    old = services.remember(door, namespace=HERE, key="old", value="The home is Berlin.")
    new = services.remember(
        door, namespace=HERE, key="new", value="The home is Lyon.",
        valid_from=MOVED, replaces=old.id,
    )  # fmt: skip
    return services.edit(
        door, entry_id=old.id, if_revision=1, valid_until=MOVED, replaced_by=new.id
    ), new


def shown(person: Person, address: str, **query: str) -> str:
    answer = person.client.get(address, query)
    assert answer.status_code == 200
    return markup_of(answer)


def namespace_of(person: Person, entry: MemoryEntry) -> str:
    row = services.list_namespace_page(at_door(person)).rows[0]
    assert row.text == entry.namespace
    return reverse("memory:namespace", args=[row.pk])


def test_entry_says_when_it_held_and_what_took_its_place(alice: Person, homes: Any) -> None:
    old, new = homes

    former = shown(alice, f"/memory/entries/{old.id}/")
    assert MARK in former
    assert "<dt>Held until</dt>" in former
    assert "<dt>Holds since</dt>" not in former
    assert f'<dt>Replaced by</dt><dd class="break"><a href="/memory/entries/{new.id}/">' in former
    successor = shown(alice, f"/memory/entries/{new.id}/")
    assert "<dt>Holds since</dt>" in successor
    assert f'<dt>Replaced</dt><dd class="break"><a href="/memory/entries/{old.id}/">' in successor
    assert MARK not in successor


def test_page_of_an_entry_says_until_when_it_holds(alice: Person) -> None:
    ends = timezone.now() + timedelta(days=3)
    entry = services.remember(
        at_door(alice), namespace=HERE, key="k", value="A lease", valid_until=ends
    )

    page = shown(alice, f"/memory/entries/{entry.id}/")

    assert "<dt>Holds until</dt>" in page
    assert "No longer holds" not in page


def test_history_says_what_was_retired_in_words(alice: Person, homes: Any) -> None:
    old, new = homes

    page = shown(alice, f"/memory/entries/{old.id}/")

    assert "Held until" in page
    assert f"– → {new.id}" in page or new.id in page


def test_link_to_an_entry_that_the_reader_may_not_see_is_left_out(
    alice: Person, bob: Person
) -> None:
    private = services.remember(
        at_door(alice), namespace=f"user:{alice.user.pk}", key="k", value="A private thing"
    )
    entry = services.remember(
        at_door(alice), namespace=HERE, key="k", value="A public thing", replaces=private.id
    )

    assert "A private thing" in shown(alice, f"/memory/entries/{entry.id}/")
    page = shown(bob, f"/memory/entries/{entry.id}/")
    assert "A private thing" not in page
    assert private.id not in page


def test_lists_and_searches_mark_former_entries_alone(alice: Person, homes: Any) -> None:
    namespace = namespace_of(alice, homes[0])

    for address, query in (
        (namespace, {}),
        (namespace, {"q": "home"}),
        (namespace, {"view": "tiers"}),
        (namespace, {"at": timezone.now().isoformat()}),
        ("/memory/", {}),
        ("/memory/", {"q": "home"}),
    ):
        page = shown(alice, address, **query)
        assert page.count(MARK) == 1, (address, query)


def test_entry_that_does_not_hold_yet_is_marked(alice: Person) -> None:
    services.remember(
        at_door(alice), namespace=HERE, key="k", value="The home is Oslo.",
        valid_from=datetime(2125, 1, 2, 12, tzinfo=UTC),
    )  # fmt: skip

    assert "from Jan 2, 2125" in shown(alice, "/memory/")


def test_about_me_marks_what_held_before(alice: Person) -> None:
    services.remember(
        at_door(alice), namespace=f"user:{alice.user.pk}", key="k", value="I live in Berlin.",
        valid_until=MOVED,
    )  # fmt: skip

    assert MARK in shown(alice, reverse("memory:about"))


def test_former_entry_is_offered_no_place_in_the_profile(alice: Person) -> None:
    """It may still be recalled for a question about the past, so that a person can keep it out of that."""
    door = at_door(alice)
    entry = services.remember(
        door, namespace=f"user:{alice.user.pk}", key="k", value="I live in Berlin.",
        valid_until=MOVED, prompt_use=PromptUse.ALWAYS,
    )  # fmt: skip

    page = shown(alice, f"/memory/entries/{entry.id}/")
    about = shown(alice, reverse("memory:about"))

    assert re.findall(r'value="(always|relevant|never)" aria-pressed="(\w+)"', page) == [
        ("relevant", "true"),
        ("never", "false"),
    ]
    assert 'name="use"' not in about
    assert "Used only for questions about the past." in about


def test_knowledge_marks_former_pages(alice: Person) -> None:
    pages = [{"title": "Hours", "content": "Nine to five."}, {"title": "Door", "content": "Blue."}]
    (hours, _door) = services.write_pages(at_door(alice), namespace=HERE, pages=pages)
    services.edit(at_door(alice), entry_id=hours.entry.id, if_revision=1, valid_until=MOVED)
    row = services.list_namespace_page(at_door(alice)).rows[0]

    assert shown(alice, reverse("memory:knowledge_base", args=[row.pk])).count(MARK) == 1
    assert MARK in shown(alice, reverse("memory:knowledge_page", args=[hours.entry.id]))
