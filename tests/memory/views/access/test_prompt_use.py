"""The profile on the page about a person, and the three choices there and on the page of an entry."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.records import MemoryEntry
from memory.models import Entry
from tests.memory.services.conftest import in_run
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def remember(person: Person, key: str, **more: Any) -> MemoryEntry:
    return services.remember(in_run(person), scope="user", key=key, value=f"The {key}.", **more)


def read_use(entry: MemoryEntry, person: Person) -> str:
    with tenant([person.team.id]):
        return Entry.objects.unscoped().get(pk=entry.id).prompt_use


def post(person: Person, entry: MemoryEntry, use: str, page: str = "about/", **more: Any) -> Any:
    return person.client.post(f"/memory/{page}entries/{entry.id}/use/", {"use": use, **more})


def test_page_has_the_profile_first_and_three_choices_of_each_entry(alice: Person) -> None:
    remember(alice, "name", metadata={"attribute": "name"})
    remember(alice, "home")

    page = markup_of(alice.client.get("/memory/about/"))

    assert page.index("about-profile") < page.index("about-card")
    assert page.count('name="use"') == 3 * 3  # the profile's entry, and both cards
    assert page.count('aria-pressed="true"') == 3


@pytest.mark.parametrize("use", ["always", "relevant", "never"])
def test_choice_is_kept_and_shown_in_card_and_profile(alice: Person, use: str) -> None:
    entry = remember(alice, "home")

    answer = alice.client.post(f"/memory/about/entries/{entry.id}/use/", {"use": use}, headers=HTMX)

    text = markup_of(answer)
    assert read_use(entry, alice) == use
    assert f'id="memory-{entry.id}"' in text
    assert ("about-profile-rows" in text) is (use == "always")
    assert "Corrected by you" not in markup_of(alice.client.get("/memory/about/"))


@pytest.mark.parametrize("page", ["about/", ""])
def test_choice_works_without_scripts(alice: Person, page: str) -> None:
    entry = remember(alice, "home")

    assert post(alice, entry, "always", page).status_code == 302
    assert read_use(entry, alice) == "always"
    assert post(alice, entry, "sometimes", page).status_code == 302
    assert read_use(entry, alice) == "always"


@pytest.mark.parametrize("shape", ["card", "profile"])
def test_choice_that_is_none_is_named_where_it_was_made(alice: Person, shape: str) -> None:
    entry = remember(alice, "home")

    answer = alice.client.post(
        f"/memory/about/entries/{entry.id}/use/",
        {"use": "sometimes", "shape": shape},
        headers=HTMX,
    )

    assert markup_of(answer).count("use: Choose always, only when relevant, or never.") == 1
    assert read_use(entry, alice) == "auto"


@pytest.mark.parametrize("page", ["about/", ""])
def test_nobody_else_chooses(cast: Cast, page: str) -> None:
    entry = remember(cast.alice, "home")

    assert post(cast.people["bob"], entry, "never", page).status_code == 404
    assert (
        post(cast.alice, MemoryEntry(str(uuid4()), "", "", value=""), "never", page).status_code
        == 404
    )
    assert read_use(entry, cast.alice) == "auto"


def test_what_has_no_room_is_counted(alice: Person) -> None:
    for number in range(4):
        entry = services.remember(
            in_run(alice), scope="user", key=f"long{number}", value=f"{number} " + "word " * 90
        )
        post(alice, entry, "always")

    assert "No room for 2 memories" in markup_of(alice.client.get("/memory/about/"))


def test_page_of_an_entry_shows_the_choice_and_its_history(alice: Person) -> None:
    entry = remember(alice, "home")
    post(alice, entry, "never", "")

    page = markup_of(alice.client.get(f"/memory/entries/{entry.id}/"))

    assert "Use in prompts" in page
    assert "By what it is" in page  # the change, in the history
    assert page.count('aria-pressed="true"') == 1


@pytest.mark.parametrize("kind", ["page", "message"])
def test_page_and_message_have_the_two_choices_that_apply_to_them(alice: Person, kind: str) -> None:
    caller = in_run(alice, conversation_id="c1")
    if kind == "page":
        pages = [{"title": "Hours", "content": "Nine to five."}]
        (written,) = services.write_pages(caller, scope="user", pages=pages)
        entry = written.entry
    else:
        messages = [{"role": "user", "content": "Hello there."}]
        (entry,) = services.converse(caller, action="append", messages=messages).entries

    post(alice, entry, "never", "")

    page = markup_of(alice.client.get(f"/memory/entries/{entry.id}/"))
    assert page.count('name="use"') == 2
    assert 'value="always"' not in page
    assert read_use(entry, alice) == "never"
