"""The page “What I remember about you”: everything of one's own, and nothing of anybody else's."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.personas import make_persona_id
from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.services.access.pause import get_own_pause
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def told(person: Person, key: str, value: Any, **identity: Any) -> Any:
    return services.remember(in_run(person, **identity), scope="user", key=key, value=value)


def page_of(person: Person, **asked: str) -> str:
    answer = person.client.get("/memory/about/", asked)
    assert answer.status_code == 200
    return markup_of(answer)


def test_nothing_remembered_is_said_with_a_way_to_begin(alice: Person) -> None:
    page = page_of(alice)

    assert "No memories about you yet" in page
    assert "/samples/" in page
    assert "/api/v1/memory/subjects/ana/export" in page


def test_own_and_test_persons_memories_are_there_with_where_from_and_how_often_used(
    cast: Cast,
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    workflow = make_workflow(alice, name="Kitchen helper")
    with tenant([alice.team.pk]):
        run = make_run(alice, workflow, system={"query": "I like green tea"})
    step = services.CallOrigin(str(run.pk), "store", "step-1")
    services.remember(
        replace(in_run(alice), origin=step),
        scope="user",
        key="tea",
        value="Alice likes green tea.",
    )
    told(alice, "cat", "Alice has a cat.")
    services.recall(in_run(alice, run_id="r9"), scope="user", query_text="green tea")
    told(alice, "ben", "Ben plays the flute.", user_id=make_persona_id("ben", alice.user.pk))
    told(bob, "bob", "Bob fears spiders.")

    page = page_of(alice)

    assert "Kitchen helper" in page
    assert f"/runs/{run.pk}/" in page
    assert "“I like green tea”" in page
    assert "Added to prompts: 1" in page
    assert "Not used in an answer yet" in page
    assert "ben (test user)" in page
    assert "Ben plays the flute." in page
    assert "spiders" not in page
    assert not re.search(r"<script(?![^>]*src)|\sstyle=|\son\w+=", page)


def test_search_and_months_narrow_and_group(alice: Person) -> None:
    month = timezone.localtime().strftime("%B %Y")
    told(alice, "tea", "green tea")
    told(alice, "cat", {"name": "Miso", "legs": 4})

    assert "green tea" not in page_of(alice, q="miso")
    assert "No results" in page_of(alice, q="zebra")
    assert month in page_of(alice, by="when")
    assert "name: Miso" in page_of(alice)


def test_corrected_by_hand_it_is_a_revision_with_its_reason(alice: Person) -> None:
    entry = told(alice, "tea", "Alice drinks green tea.")
    address = f"/memory/about/entries/{entry.id}/correct/"

    card = markup_of(
        alice.client.post(address, {"value": "Alice drinks coffee.", "revision": "1"}, headers=HTMX)
    )

    assert "Alice drinks coffee." in card
    newest = services.list_revisions(at_door(alice), entry_id=entry.id)[0]
    assert (newest.value, newest.reason) == (
        "Alice drinks coffee.",
        "corrected by the user",
    )
    late = alice.client.post(address, {"value": "Tea!", "revision": "1"}, headers=HTMX)
    assert "changed in the meantime" in markup_of(late)
    assert "Alice drinks coffee." in markup_of(late)
    assert re.search(
        r'<details class="about-edit" open>.*?required>Tea!</textarea>', markup_of(late), re.S
    )
    assert 'name="revision" value="2"' in markup_of(late)  # sent again, it is meant
    assert 'class="about-edit">' in card
    empty = alice.client.post(address, {"value": " ", "revision": "2"}, headers=HTMX)
    assert ">Alice drinks coffee.</textarea>" in markup_of(empty)
    assert "Enter the correct text" in markup_of(empty)


@pytest.mark.parametrize("shape", ["card", "line"])
def test_forgotten_and_taken_back_in_either_shape(alice: Person, shape: str) -> None:
    entry = told(alice, "tea", "Alice drinks green tea.")
    address = f"/memory/about/entries/{entry.id}"

    gone = markup_of(alice.client.post(f"{address}/forget/", {"shape": shape}, headers=HTMX))
    assert ("Forgotten" in gone, "/restore/" in gone) == (True, True)
    assert services.recall(in_run(alice), scope="user") == []
    back = alice.client.post(f"{address}/restore/", {"shape": shape}, headers=HTMX)
    assert "/forget/" in markup_of(back)
    assert len(services.recall(in_run(alice), scope="user")) == 1


def test_without_a_script_a_memory_is_corrected_and_forgotten(alice: Person) -> None:
    told(alice, "tea", "Alice drinks green tea.")
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice.user, backend=BACKEND)

    def sent(verb: str, **typed: str) -> str:
        page = markup_of(client.get("/memory/about/"))
        form = re.search(
            rf'action="([^"]+/entries/[^"]+/{verb}/)".*?name="csrfmiddlewaretoken" value="(\w+)"',
            page,
            re.S,
        )
        assert form is not None, verb
        return markup_of(
            client.post(form[1], {"csrfmiddlewaretoken": form[2], **typed}, follow=True)
        )

    assert "Alice drinks coffee." in sent("correct", value="Alice drinks coffee.", revision="1")
    gone = sent("forget")
    assert "Forgotten. No longer used in answers." in gone
    assert services.recall(in_run(alice), scope="user") == []
    undo = re.search(r'action="(/memory/about/changes/[^"]+/undo/)".*?value="(\w+)"', gone, re.S)
    assert undo is not None
    assert "Alice drinks coffee." not in gone.split("about-forgotten")[0]
    client.post(undo[1], {"csrfmiddlewaretoken": undo[2]})
    assert len(services.recall(in_run(alice), scope="user")) == 1


def test_everything_is_forgotten_after_a_count_and_comes_back_as_one(alice: Person) -> None:
    for number in range(3):
        told(alice, f"k{number}", f"fact number {number}")
    told(alice, "ben", "Ben plays the flute.", user_id=make_persona_id("ben", alice.user.pk))
    with tenant([alice.team.pk]):
        space = Entry.objects.unscoped().filter(key="k0").get().namespace_id
    address = f"/memory/about/{space}/forget/"

    asked = markup_of(alice.client.post(address))
    assert 'href="?' not in asked  # an answer to a form has another address than its page
    assert 'href="/memory/about/?by=when' in asked
    assert "This forgets everything here (memories: 3)" in asked
    assert len(services.recall(in_run(alice), scope="user")) == 3

    done = markup_of(alice.client.post(address, {"sure": "1"}, follow=True))
    assert "Everything was forgotten: 3." in done
    assert services.recall(in_run(alice), scope="user") == []
    assert "Ben plays the flute." in done
    undo = re.search(r'action="(/memory/about/changes/[^"]+/undo/)"', done)
    assert undo is not None
    assert "Restored: 3." in markup_of(alice.client.post(undo[1], follow=True))
    assert len(services.recall(in_run(alice), scope="user")) == 3


def test_paused_for_a_while_shown_and_resumed(alice: Person) -> None:
    alice.client.post("/memory/about/pause/", {"what": "remembering", "span": "hour"})
    pause = get_own_pause(at_door(alice))
    assert pause is not None
    assert pause.what == "remembering"
    assert pause.until is not None
    assert timedelta(minutes=58) < pause.until - timezone.now() <= timedelta(hours=1)
    assert "Your memory is paused" in page_of(alice)

    alice.client.post("/memory/about/resume/")
    assert get_own_pause(at_door(alice)) is None
    assert "Your memory is paused" not in page_of(alice)


def test_pause_until_a_day_ends_with_it_and_nonsense_is_named(alice: Person) -> None:
    tomorrow = timezone.localdate() + timedelta(days=1)
    sent = {"what": "both", "span": "day_picked", "day": tomorrow.isoformat()}
    assert alice.client.post("/memory/about/pause/", sent).status_code == 302
    pause = get_own_pause(at_door(alice))
    assert pause is not None
    assert pause.until is not None
    assert timezone.localtime(pause.until).date() == tomorrow + timedelta(days=1)
    services.resume(at_door(alice))

    for wrong in ({"day": ""}, {"day": "2020-13-99"}, {"day": "2020-01-01"}, {"span": "aeon"}):
        answer = alice.client.post("/memory/about/pause/", {**sent, "what": "recalling", **wrong})
        assert (answer.status_code, get_own_pause(at_door(alice))) == (422, None)
        assert '<option value="recalling" selected>' in markup_of(answer)
        if "day" in wrong:
            assert '<option value="day_picked" selected>' in markup_of(answer)


def test_page_asks_as_often_for_ten_memories_as_for_two(alice: Person) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as asked:
            page_of(alice)
        return len(asked)

    for number in range(2):
        told(alice, f"k{number}", "tea")
    services.recall(in_run(alice), scope="user")
    count()
    few = count()
    for number in range(2, 10):
        told(alice, f"k{number}", "tea")
    services.recall(in_run(alice, run_id="r2"), scope="user")
    assert count() == few


def test_api_lists_pauses_and_resumes(cast: Cast) -> None:
    alice = cast.alice
    told(alice, "tea", "green tea")
    told(cast.people["bob"], "bob", "spiders")
    me = "/api/v1/memory/subjects/me"

    body = alice.client.get(me).json()
    assert [one["text"] for one in body["people"][0]["memories"]] == ["green tea"]
    assert (body["people"][0]["is_me"], body["total"], body["pause"]) == (True, 1, None)
    paused = alice.client.post(
        f"{me}/pause", json.dumps({"what": "recalling"}), content_type="application/json"
    )
    assert (paused.status_code, paused.json()["what"]) == (200, "recalling")
    assert alice.client.get(me).json()["pause"]["what"] == "recalling"
    resumed = alice.client.post(f"{me}/resume", "{}", content_type="application/json")
    assert resumed.json() == {"resumed": True}
    wrong = alice.client.post(
        f"{me}/pause", json.dumps({"what": "all"}), content_type="application/json"
    )
    assert wrong.status_code == 422


def test_pause_until_the_end_of_time_is_asked_again(alice: Person) -> None:
    asked = {"what": "both", "span": "day_picked", "day": "9999-12-31"}

    assert alice.client.post("/memory/about/pause/", asked).status_code == 422


def test_what_was_forgotten_lately_stays_on_the_page_with_a_way_back(alice: Person) -> None:
    entry, older = told(alice, "tea", "Alice drinks tea."), told(alice, "dog", "Rex is old news.")
    for one in (entry, older):
        alice.client.post(f"/memory/about/entries/{one.id}/forget/")
    with tenant([alice.team.pk]):
        past = timezone.now() - timedelta(days=31)
        Entry.objects.unscoped().filter(pk=older.id).update(deleted_at=past)

    page = page_of(alice)

    assert "Forgotten in the last 30 days: 1" in page
    assert ("Alice drinks tea." in page, "Rex" in page) == (True, False)
    alice.client.post(f"/memory/about/entries/{entry.id}/restore/")
    after = page_of(alice)
    assert ("Forgotten in the last 30 days" in after, "Alice drinks tea." in after) == (False, True)


def test_card_says_that_its_person_corrected_it(alice: Person) -> None:
    entry = told(alice, "tea", "Alice drinks tea.")
    told(alice, "tea", "She never has breakfast.")  # a run said otherwise: that is no correction
    assert "Corrected by you" not in page_of(alice)
    now = services.list_revisions(at_door(alice), entry_id=entry.id)[0].number

    alice.client.post(
        f"/memory/about/entries/{entry.id}/correct/", {"value": "Coffee.", "revision": now}
    )

    assert "Corrected by you on" in page_of(alice)
