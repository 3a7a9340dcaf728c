"""Browsing memory: the overview, and a namespace as a list, as tiers, day by day, by its links and as it was."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Namespace, Policy
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HERE = "global:shop"
INLINE = re.compile(r"<script(?![^>]*src)|\sstyle=|\son\w+=")


def store(person: Person, key: str, value: Any = "green tea at noon", **more: Any) -> str:
    given = {"namespace": HERE, **more}
    return services.remember(at_door(person), key=key, value=value, **given).id


def place(person: Person, text: str = HERE) -> str:
    with tenant([person.team.id]):
        return f"/memory/namespaces/{Namespace.objects.unscoped().get(text=text).pk}/"


def page(person: Person, address: str, **query: str) -> str:
    answer = person.client.get(address, query)
    assert answer.status_code == 200
    text = markup_of(answer)
    assert not INLINE.search(text)
    return text


def living(person: Person) -> dict[str, Entry]:
    with tenant([person.team.id]):
        return {one.key: one for one in Entry.objects.unscoped().living()}


def test_overview_lists_the_fullest_application_and_the_newest_conversation_first(alice: Person):
    for talk, words in (("zulu", 1), ("alpha", 3), ("mike", 2)):
        for number in range(words):
            remember_in(alice, talk, f"k{number}")
    store(alice, "one", namespace="global:a")
    store(alice, "one", namespace="global:b")
    store(alice, "two", namespace="global:b")

    shown = page(alice, "/memory/namespaces/")

    found = re.findall(r"(?:conv|global):(\w+)<", shown)
    assert found == ["b", "a", "mike", "alpha", "zulu"]


def remember_in(person: Person, conversation: str, key: str) -> None:
    caller = in_run(person, conversation_id=conversation)
    services.remember(caller, key=key, value="said", scope="conversation")


def test_overview_adds_up_scopes_pages_them_and_finds_by_name(alice: Person) -> None:
    for number in range(60):
        store(alice, "k", namespace=f"global:app{number:02}")
    store(alice, "me", namespace=f"user:{alice.user.pk}")

    first = page(alice, "/memory/namespaces/")
    assert "61 namespaces" in first
    assert "1–50 of 61" in first
    assert first.index(">You</a>") < first.index(">app00</a>")  # people before applications
    assert ">app59</a>" not in first
    assert ">app59</a>" in page(alice, "/memory/namespaces/", offset="50")
    found = page(alice, "/memory/", q="APP3")
    copied = r">([^<]+)</a>\s*<button[^>]*\sdata-copy-text=\"([^\"]*)\""
    assert re.findall(copied, found) == [
        (f"app3{number}", f"global:app3{number}") for number in range(10)
    ]
    assert ">You</a>" in page(alice, "/memory/", q="you")
    assert "global:app00" not in page(alice, "/memory/", scope="user", q="user")
    assert "No matching namespaces" in page(alice, "/memory/", q="zebra")


def test_overview_shows_the_newest_what_waits_and_how_full_it_is(
    alice: Person, carol: Person
) -> None:
    store(alice, "old", "said first")
    held = store(alice, "held", "said last")
    services.move(at_door(alice), move="quarantine", entry_ids=[held])
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, app_id="shop", max_entries=2)

    text, namespaces = page(alice, "/memory/"), page(alice, "/memory/namespaces/")

    newest = text[text.index("newest-title") :]
    assert newest.index("said last") < newest.index("said first")
    assert newest.count("Pending review") == 1
    assert 'is-tight" viewBox="0 0 100 6" preserveAspectRatio="none" role="img"' in namespaces
    assert "Usage: 100%" in namespaces
    assert "said last" not in page(carol, "/memory/")


def test_newest_memories_are_narrowed_to_a_scope_that_is_explained(alice: Person) -> None:
    store(alice, "shared", "for everybody", namespace="global:app")
    store(alice, "me", "about Alice", namespace=f"user:{alice.user.pk}")

    shown, everything = page(alice, "/memory/", scope="user"), page(alice, "/memory/")

    assert ("about Alice" in shown, "for everybody" in shown) == (True, False)
    assert "One memory per user, shared by all workflows of the team." in shown
    assert ("about Alice" in everything, "for everybody" in everything) == (True, True)


@pytest.mark.parametrize("path", ["policy", "exchange", "emergency-access"])
def test_settings_of_memory_stand_together_in_one_tab(alice: Person, path: str) -> None:
    shown = page(alice, f"/memory/{path}/")

    assert shown.count('aria-current="page"') == 3  # in the navigation, the tabs and the settings
    for name in ("policy", "exchange", "emergency-access"):
        assert f'href="/memory/{name}/"' in shown


def test_list_narrows_by_what_the_address_says_and_tells_it(alice: Person, bob: Person) -> None:
    store(alice, "a", "green tea", category="fact", metadata={"n": 1})
    store(bob, "b", "black tea", category="learning", metadata={"n": 2})
    here = place(alice)

    found = page(alice, here, q="tea", m="n>=2")
    assert ("black tea" in found, "green tea" in found) == (True, False)
    assert "Remove filter Metadata: n&gt;=2" in found
    assert "Select all matching entries (1)" in found
    assert "words" in found  # what the score is made of
    assert "100% match" in found
    rarely = page(alice, here, q="green tea", match="90")
    assert ("black tea" in rarely, "green tea" in rarely) == (False, True)
    assert "Remove filter Minimum match: 90%" in rarely
    by_bob = page(alice, here, actor=bob.principal.actor)
    assert ("black tea" in by_bob, "green tea" in by_bob) == (True, False)
    assert "Written by: Bob" in by_bob
    assert "black tea" not in page(alice, here, since="2999-01-01")
    assert "black tea" not in page(alice, here, q="tea", by="key")
    assert page(alice, here, sort="key").index("green tea") < page(alice, here).index("green tea")
    wrong = page(alice, here, m="topic")
    assert "Use name=value" in wrong
    assert "green tea" in wrong  # nonsense is nothing chosen


def test_everything_that_matches_is_tried_forgotten_and_brought_back_as_one(alice: Person) -> None:
    for number in range(30):
        store(alice, f"k{number}", f"tea {number}", category="fact" if number else "note")
    act = place(alice) + "act/?category=fact"

    asked = markup_of(alice.client.post(act, {"all": "1", "act": "forget"}))
    assert "29 entries" in asked
    assert asked.count(" disabled checked>") == asked.count('name="entry"') > 0
    assert "Their history is kept (revisions: 29)" in asked
    assert len(living(alice)) == 30
    sure = {"all": "1", "act": "forget", "sure": "1", "expected": "29", "reason": "old"}
    done = markup_of(alice.client.post(act, sure, follow=True))
    assert "29 entries forgotten." in done
    assert "category=fact" in done  # the filter is kept
    assert list(living(alice)) == ["k0"]
    undo = re.search(r'action="(/memory/changes/[^"]+/undo/[^"]*)"', done)
    assert undo is not None
    alice.client.post(undo[1])
    assert len(living(alice)) == 30
    shifted = markup_of(alice.client.post(act, {**sure, "expected": "28"}))
    assert "The matching entries have changed" in shifted
    assert len(living(alice)) == 30


def test_page_forgets_and_brings_back_many_with_no_more_questions_than_few(alice: Person) -> None:
    for number in range(30):
        store(alice, f"k{number}", f"tea {number}", category="fact" if number else "note")
    act, client = place(alice) + "act/", alice.client

    def questions(category: str, expected: int) -> tuple[int, int]:
        sure = {"all": "1", "act": "forget", "sure": "1", "expected": str(expected)}
        with CaptureQueriesContext(connection) as forgetting:
            done = markup_of(client.post(f"{act}?category={category}", sure, follow=True))
        undo = re.search(r'action="(/memory/changes/[^"]+/undo/[^"]*)"', done)
        assert undo is not None
        with CaptureQueriesContext(connection) as undoing:
            client.post(undo[1])
        return len(forgetting), len(undoing)

    questions("note", 1)  # the first one pays for caches
    assert questions("note", 1) == questions("fact", 29)
    assert len(living(alice)) == 30


def test_act_that_needs_a_word_asks_for_it_and_does_nothing_without(alice: Person) -> None:
    one = store(alice, "k")
    act = place(alice) + "act/"
    chosen = {"entry": [one], "act": "importance"}

    assert 'name="importance"' in markup_of(alice.client.post(act, chosen))
    for wrong in ("", "7"):
        sure = {**chosen, "sure": "1", "expected": "1", "importance": wrong}
        assert "errorlist" in markup_of(alice.client.post(act, sure))
    assert living(alice)["k"].importance == 0.5
    alice.client.post(act, {**chosen, "sure": "1", "expected": "1", "importance": "0.9"})
    assert living(alice)["k"].importance == 0.9
    ends = {"entry": [one], "act": "expiry", "lives": "7", "sure": "1", "expected": "1"}
    alice.client.post(act, ends)
    left = living(alice)["k"].expires_at
    assert left is not None
    assert round((left - timezone.now()) / timedelta(days=1)) == 7


def test_tiers_stand_side_by_side_and_moves_are_undone(alice: Person, vic: Person) -> None:
    store(alice, "kept", "kept for good")
    store(alice, "today", "one two three", tier="working")
    held = store(alice, "held", "held back")
    services.move(at_door(alice), move="quarantine", entry_ids=[held])
    here = place(alice)

    text = page(alice, here, view="tiers")
    places = [text.index(f'data-tier="{one}"') for one in ("quarantine", "working", "long_term")]
    assert places == sorted(places)
    assert places[0] < text.index("held back") < places[1] < text.index("one two three")
    assert places[2] < text.index("kept for good")
    assert "Approve: held" in text
    assert "Approve: held" not in page(vic, here, view="tiers")  # a viewer only looks
    move = {"entry": held, "act": "approve", "sure": "1"}
    headers = {"HX-Request": "true"}
    done = markup_of(alice.client.post(f"{here}act/?view=tiers", move, headers=headers))
    assert done.strip().startswith('<div id="entries"')
    assert 'data-tier="quarantine"' in done  # the same view again
    assert living(alice)["held"].tier == "long_term"
    undo = re.search(r'hx-post="(/memory/changes/[^"]+/undo/[^"]*)"', done)
    assert undo is not None
    alice.client.post(undo[1], headers=headers)
    assert living(alice)["held"].tier == "quarantine"
    assert vic.client.post(f"{here}act/", move).status_code == 403


def test_undo_of_what_somebody_changed_since_takes_nothing_back(alice: Person) -> None:
    one = store(alice, "k")
    done = services.move(at_door(alice), move="quarantine", entry_ids=[one])
    services.move(at_door(alice), move="approve", entry_ids=[one])
    address = f"/memory/changes/{done.change_id}/undo/"

    htmx = markup_of(alice.client.post(address, headers={"HX-Request": "true"}))

    assert "Nothing was undone" in htmx
    assert "Nothing was undone" in markup_of(alice.client.post(address, follow=True))
    assert living(alice)["k"].tier == "long_term"


def test_row_forgotten_in_another_tab_is_told_above_the_list(alice: Person) -> None:
    one = store(alice, "k", "green tea")
    store(alice, "other", "black tea")
    address = f"/memory/entries/{one}/forget/"
    alice.client.post(address)

    late = alice.client.post(address, headers={"HX-Request": "true"})

    text = markup_of(late)
    assert late.status_code == 404
    assert text.strip().startswith('<div id="entries"')
    assert "It may have been forgotten already" in text
    assert ("black tea" in text, "green tea" in text) == (True, False)
    assert alice.client.post(address).status_code == 404


def test_timeline_tells_who_did_what_and_how_it_was_then(alice: Person, bob: Person) -> None:
    ids = [store(alice, f"k{number}", f"tea {number}") for number in range(3)]
    services.forget_many(at_door(bob), entry_ids=ids[:2], reason="too old")
    here = place(alice)

    text = page(alice, here, view="timeline")
    bulk = text[text.index("mem-happened") :]
    assert "2 entries" in bulk
    assert "too old" in bulk
    assert re.search(r"Bob\s+· too old", bulk)
    assert ("stored 3" in text, "forgotten 2" in text) == (True, True)
    assert re.search(r'/memory/changes/[^"]+/undo/', bulk)
    then = re.findall(r'href="\?at=([^"]+)" aria-label="As of', text)
    assert len(then) == 4
    past = markup_of(alice.client.get(f"{here}?at={then[1]}"))
    assert "View only. You can restore" in past
    assert "tea 0" in past


def test_as_it_was_nothing_can_be_done_but_bring_it_back(alice: Person, vic: Person) -> None:
    one = store(alice, "k", "the first value")
    services.edit(at_door(alice), entry_id=one, value="the second value", if_revision=1)
    here = place(alice)
    with tenant([alice.team.id]):
        at = Entry.objects.unscoped().get(pk=one).created_at.isoformat()

    past = page(alice, here, at=at)

    assert ("the first value" in past, "the second value" in past) == (True, False)
    assert 'name="entry"' not in past
    assert f'action="/memory/entries/{one}/restore/"' in past
    assert "Next change" in past
    assert "/restore/" not in page(vic, here, at=at)
    alice.client.post(f"/memory/entries/{one}/restore/", {"revision": "1"})
    assert living(alice)["k"].value == "the first value"
    early = page(alice, here, at="2001-01-01T00:00:00")
    assert "No matching entries" in early
    assert "the first value" in page(alice, here, at="nonsense")


def test_links_are_drawn_and_said_in_words(alice: Person) -> None:
    here_store = {"namespace": HERE}
    store(alice, "lonely", **here_store)
    assert "No links here" in page(alice, place(alice), view="links")
    store(alice, "old", "tea at three")
    store(alice, "new", "tea at four", metadata={"supersedes": "old", "related": ["more"]})
    store(alice, "more", "cake")

    text = page(alice, place(alice), view="links")

    assert text.count("<circle") == 3
    assert 'data-kind="supersedes" />' in text
    assert "replaced old." in text
    assert "lonely" not in text


def test_what_is_kept_how_long_and_how_much_room_is_left_is_said(alice: Person) -> None:
    store(alice, "kept")
    store(alice, "today", "one two three", tier="working")
    store(alice, "week", ttl_seconds=5 * 86_400)
    text = page(alice, place(alice))

    facts = re.findall(r"<dt>([^<]+)</dt><dd class=\"num\">(\d+)</dd>", text)
    assert dict(facts) == {
        "Within 24 hours": "1",
        "Within 7 days": "1",
        "Later": "0",
        "Never": "1",
        "Quarantine": "0",
        "Working": "1",
        "Long-term": "2",
    }
    assert "/ 100,000" in text
    assert "Working memory expires after 24 hours" in text


def test_empty_namespace_says_how_to_fill_it(alice: Person) -> None:
    services.forget(at_door(alice), entry_id=store(alice, "k"))

    for view in ("", "tiers", "links"):
        text = page(alice, place(alice), view=view)
        assert "/samples/" in text or "/memory/review/" in text
        assert "/api/v1/memory/entries" in text


def test_strangers_find_no_namespace_and_viewers_no_act(
    alice: Person, carol: Person, vic: Person
) -> None:
    store(alice, "k")
    here = place(alice)

    for view in ("list", "tiers", "timeline", "links"):
        assert carol.client.get(here, {"view": view}).status_code == 404
    assert carol.client.post(f"{here}act/", {"all": "1"}).status_code == 404
    assert 'name="entry"' not in page(vic, here)


@pytest.mark.usefixtures("in_redis")
def test_what_is_kept_elsewhere_is_looked_at_only(alice: Person) -> None:
    run = in_run(alice, workflow_id="w1", group_id="g")
    for key, value in (("a", "green tea"), ("b", "black tea")):
        services.remember(run, scope="workflow", key=key, value=value)
    with tenant([alice.team.id]):
        here = f"/memory/namespaces/{Namespace.objects.unscoped().get(scope='workflow').pk}/"

    text = page(alice, here, q="black")

    assert ("black tea" in text, "green tea" in text) == (True, False)
    assert "Stored in redis." in text
    assert "Search finds its words here, not its meaning." in text
    assert 'name="entry"' not in text
    assert "/memory/entries/" not in text
    for view in ("tiers", "timeline", "links"):
        page(alice, here, view=view)
    chosen = {"all": "1", "act": "forget"}
    assert alice.client.post(f"{here}act/", chosen).status_code == 422


@pytest.mark.usefixtures("in_redis")
def test_what_is_kept_elsewhere_is_counted_on_every_page(alice: Person, settings: Any) -> None:
    run = in_run(alice, workflow_id="w1", group_id="g")
    services.remember(run, scope="workflow", key="a", value="green tea")
    services.remember(run, scope="workflow", key="b", value="Alice likes tea", tier="working")
    store(alice, "c")
    here = place(alice, "ai:memory:w1:g")

    shown = page(alice, "/memory/namespaces/", scope="workflow")
    assert re.findall(r'<strong class="num">(\d+)<', shown) == ["3", "1", "2"]
    row = re.search(r'href="/memory/namespaces/[^"]+/"[^>]*>.*?</tr>', shown, re.DOTALL)
    assert row is not None
    numbers = re.findall(r'<td class="num">\s*([^<]*?)\s*<', row[0])
    assert numbers[0] == "2"
    assert "bytes" in numbers[1]
    assert "Workflow (2)" in " ".join(page(alice, "/memory/").split())
    aside = page(alice, here).partition("keeping-title")[2]
    facts = dict(re.findall(r'<dt>([^<]+)</dt>\s*<dd class="num">(\d+)</dd>', aside))
    assert (facts["Within 24 hours"], facts["Never"]) == ("1", "1")
    assert (facts["Working"], facts["Long-term"]) == ("1", "1")

    settings.MEMORY_REDIS_URL = "redis://127.0.0.1:9"
    for address in ("/memory/namespaces/", "/memory/"):
        assert "answer, so that not all entries in it are counted." in page(alice, address)


# Literal: what a view may ask of the database, however many rows it shows.
QUERIES = {"list": 29, "tiers": 33, "timeline": 32, "links": 29}


@pytest.mark.parametrize("view", QUERIES)
def test_views_ask_as_often_for_many_rows_as_for_one(alice: Person, view: str) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            page(alice, place(alice), view=view)
        return len(found)

    store(alice, "k", metadata={"related": ["k0"]})
    store(alice, "k0", tier="working")
    asked()  # the first look pays for caches
    once = asked()
    ids = [store(alice, f"k{n}", metadata={"related": ["k", "k0"]}) for n in range(9)]
    services.forget_many(at_door(alice), entry_ids=[UUID(one) for one in ids[:4]])

    assert asked() == once
    assert once == QUERIES[view]


@pytest.mark.parametrize(
    "asked",
    [
        {"until": "9999-12-31"},
        {"since": "0001-01-01"},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:00:00-14:00"},
    ],
)
def test_day_at_an_end_of_time_is_nothing_chosen(alice: Person, asked: dict[str, str]) -> None:
    store(alice, "k")

    assert "green tea" in page(alice, place(alice), **asked)


@pytest.mark.parametrize(
    ("name", "value"),
    [("at", "garbage"), ("since", "foo"), ("until", "foo"), ("tier", "foo"), ("m", "{bad")],
)
def test_filter_that_is_not_understood_is_left_out_and_the_page_says_so(
    alice: Person, name: str, value: str
) -> None:
    store(alice, "a", "green tea")

    shown = page(alice, place(alice), **{name: value})

    assert "green tea" in shown
    assert f"“{value}”" in shown
    assert shown.count("Ignored: ") == 1
    assert "Ignored: " not in page(alice, place(alice))


@pytest.mark.parametrize("asked", [{"tier": "foo", "q": "tea"}, {"scope": "foo"}])
def test_tier_or_scope_that_is_none_is_left_out_of_the_overview_and_said(
    alice: Person, asked: dict[str, str]
) -> None:
    store(alice, "a", "green tea")

    shown = page(alice, "/memory/", **asked)

    assert "“foo”" in shown
    assert "green tea" in shown


def test_newest_memories_are_narrowed_to_a_tier_and_a_category(alice: Person) -> None:
    store(alice, "a", "a plain fact", metadata={"category": "fact"})
    store(alice, "b", "a note at work", metadata={"category": "note"}, tier="working")

    everything = page(alice, "/memory/")
    working = page(alice, "/memory/", tier="working")
    notes = page(alice, "/memory/", category="note")
    neither = page(alice, "/memory/", category="fact", tier="working")

    for text, shown in (
        (everything, (True, True)),
        (working, (False, True)),
        (notes, (False, True)),
        (neither, (False, False)),
    ):
        assert ("a plain fact" in text, "a note at work" in text) == shown
    assert "No memories found that you have access to." in neither
    assert "Show all" in notes
