"""Looking for memories, now and as of then; and acts over what was found, tried before they are done."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import InvalidInput, NotFound
from memory.models import Entry
from memory.services.entries.bulk import (
    BulkAction,
    Selection,
    SelectionChanged,
    apply_action,
    preview_action,
)
from memory.services.entries.bulk_edit import Amendment
from memory.services.history import snapshot
from memory.services.history.snapshot import search_snapshot
from memory.services.history.timeline import read_timeline
from memory.services.recall.search import EntrySearch, Sort, search_by_tier, search_entries
from tests.memory.services.conftest import at_door, trail
from tests.support.cast import Person
from tests.support.score_parts import check_parts


pytestmark = pytest.mark.django_db

HERE = "global:seek"


@pytest.fixture
def clock() -> Iterator["Clock"]:
    month_ago = timezone.now() - timedelta(days=30)
    with mock.patch("memory.services.gateway.gateway.timezone.now") as now:
        yield Clock(now, month_ago)


class Clock:
    def __init__(self, now: mock.Mock, at: datetime) -> None:
        self._now, self.at = now, at
        self.go(0)

    def go(self, days: float) -> datetime:
        self.at += timedelta(days=days)
        self._now.return_value = self.at
        return self.at


def store(person: Person, key: str, value: Any, **more: Any) -> str:
    return services.remember(at_door(person), namespace=HERE, key=key, value=value, **more).id


def keys(person: Person, **sought: Any) -> list[str]:
    page = search_entries(at_door(person), namespace=HERE, search=EntrySearch(**sought))
    assert page.total == len(page.entries)
    return [one.key for one in page.entries]


def test_words_are_ranked_and_explained_and_what_only_contains_them_follows(alice: Person) -> None:
    store(alice, "a", "green tea in the harbour")
    store(alice, "b", "tea")
    store(alice, "c", "a teapot of brass")
    store(alice, "d", "nothing of it")
    held = store(alice, "e", "tea of a stranger")
    services.move(at_door(alice), move="quarantine", entry_ids=[held])

    page = search_entries(at_door(alice), namespace=HERE, search=EntrySearch(text="tea"))

    found = [one.key for one in page.entries]
    assert (sorted(found[:2]), found[2:], page.total) == (["a", "b"], ["e", "c"], 4)
    scores = [one.score for one in page.entries]
    assert scores[2:] == [None, None]
    check_parts(page.entries[0])
    assert scores[:2] == [1.0, 1.0]
    second = search_entries(
        at_door(alice), namespace=HERE, search=EntrySearch(text="tea"), limit=2, offset=1
    )
    assert [one.key for one in second.entries] == found[1:3]
    assert keys(alice, text="tea", sort=Sort.KEY) == ["a", "b", "c", "e"]


def test_everything_else_narrows(alice: Person, bob: Person, clock: Clock) -> None:
    first = clock.at
    store(alice, "a-1", "x", category="fact", importance=0.9, metadata={"n": 1})
    then = clock.go(1)
    store(bob, "a-2", "x", category="learning", metadata={"n": 2}, ttl_seconds=90 * 86_400)
    clock.go(1)
    store(alice, "b-1", "one two three", tier="working", metadata={"n": 3})

    assert keys(alice) == ["b-1", "a-2", "a-1"]
    assert keys(alice, key="A-") == ["a-2", "a-1"]
    assert keys(alice, category="learning") == ["a-2"]
    assert keys(alice, tier="working") == ["b-1"]
    assert keys(alice, actor=bob.principal.actor) == ["a-2"]
    assert keys(alice, filter={"n": {"$gte": 2}}) == ["b-1", "a-2"]
    assert keys(alice, since=then) == ["b-1", "a-2"]
    assert keys(alice, until=then) == ["a-1"]
    assert keys(alice, since=first, until=then) == ["a-1"]
    assert keys(alice, sort=Sort.OLDEST) == ["a-1", "a-2", "b-1"]
    assert keys(alice, sort=Sort.IMPORTANCE)[0] == "a-1"
    assert keys(alice, sort=Sort.ENDING) == ["b-1", "a-2", "a-1"]
    tiers = search_by_tier(at_door(alice), namespace=HERE, search=EntrySearch(key="-1"))
    assert [[one.key for one in page.entries] for page in tiers.values()] == [[], ["b-1"], ["a-1"]]


def test_store_as_it_stood_has_what_was_there_and_says_what_is_else_by_now(
    alice: Person, clock: Clock
) -> None:
    kept, edited = store(alice, "kept", "stays"), store(alice, "edited", "tea at three")
    gone = store(alice, "gone", "goes away")
    ends = store(alice, "ends", "for a day", ttl_seconds=86_400)
    then = clock.go(0.5)
    edit_at = clock.go(2)
    services.edit(at_door(alice), entry_id=edited, value="tea at four", if_revision=1)
    services.forget(at_door(alice), entry_id=gone)
    late = store(alice, "late", "came later")

    def at(moment: datetime, **sought: Any) -> list[tuple[str, Any]]:
        past = search_snapshot(
            at_door(alice), namespace=HERE, moment=moment, search=EntrySearch(**sought)
        )
        return sorted((one.key, one.value) for one in past.page.entries)

    before = [("edited", "tea at three"), ("ends", "for a day")]
    before += [("gone", "goes away"), ("kept", "stays")]
    assert at(then) == before
    assert at(then, text="tea") == [("edited", "tea at three")]
    assert at(then, key="kep") == [("kept", "stays")]
    assert at(then, filter={"category": "fact"}) == before
    assert at(then, filter={"category": "note"}) == []
    assert at(edit_at) == [("edited", "tea at four"), ("kept", "stays"), ("late", "came later")]
    past = search_snapshot(at_door(alice), namespace=HERE, moment=then, search=EntrySearch())
    assert past.changed == {edited, gone, ends}
    assert (past.before, past.after) == (None, edit_at)
    assert not {kept, late} & past.changed
    assert (
        search_snapshot(at_door(alice), namespace=HERE, moment=edit_at, search=EntrySearch()).before
        is not None
    )


def test_as_it_stood_only_the_newest_of_then_are_looked_through_for_words(
    alice: Person, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        store(alice, f"k{n}", "tea")
        clock.go(1)
    monkeypatch.setattr(snapshot, "MAX_SCANNED", 3)

    past = search_snapshot(
        at_door(alice), namespace=HERE, moment=clock.at, search=EntrySearch(text="tea")
    )

    assert sorted(one.key for one in past.page.entries) == ["k2", "k3", "k4"]
    assert past.scan_limit == 3  # which is said
    everything = search_snapshot(
        at_door(alice), namespace=HERE, moment=clock.at, search=EntrySearch()
    )
    assert (everything.page.total, everything.scan_limit) == (5, None)
    few = search_snapshot(
        at_door(alice), namespace=HERE, moment=clock.at, search=EntrySearch(text="tea", key="k4")
    )
    assert ([one.key for one in few.page.entries], few.scan_limit) == (["k4"], None)


def test_as_it_stood_metadata_narrows_all_of_it_and_not_the_newest_alone(
    alice: Person, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MAX_SCANNED", 1)
    for n in range(4):
        store(alice, f"k{n}", "tea", metadata={"cup": n, "of": {"green": n % 2 == 0}})
        clock.go(1)

    def at(filter_: dict[str, Any], **sought: Any) -> list[str]:
        wanted = EntrySearch(filter=filter_, **sought)
        past = search_snapshot(at_door(alice), namespace=HERE, moment=clock.at, search=wanted)
        return sorted(one.key for one in past.page.entries)

    assert at({"of.green": True}) == ["k0", "k2"]
    assert at({"cup": {"$gte": 1}}, sort=Sort.OLDEST) == ["k1", "k2", "k3"]
    assert at({"cup": 0}, text="tea") == ["k0"]
    assert at({"$not": {"category": "fact"}}) == []


def test_act_is_tried_without_a_trace_and_leaves_out_what_it_does_not_apply_to(
    alice: Person,
) -> None:
    long, work = store(alice, "long", "kept"), store(alice, "work", "one two", tier="working")
    chosen = Selection(HERE, search=EntrySearch())

    tried = preview_action(at_door(alice), action=BulkAction.PROMOTE, selection=chosen)

    assert (tried.entry_ids, tried.keys, tried.skipped_count) == ((work,), ("work",), 1)
    everything = preview_action(
        at_door(alice), action=BulkAction.FORGET, selection=Selection(HERE, (long, work, "no"))
    )
    assert (everything.count, everything.size, everything.skipped_count) == (2, 23, 0)
    assert {action for action, _, _ in trail(alice.team.pk)[-2:]} == {"memory.listed"}
    assert search_entries(at_door(alice), namespace=HERE, search=EntrySearch()).total == 2


def test_act_is_refused_when_something_else_matches_meanwhile(alice: Person) -> None:
    store(alice, "a", "x")
    chosen = Selection(HERE, search=EntrySearch(key="a"))
    agreed = preview_action(at_door(alice), action=BulkAction.FORGET, selection=chosen).count
    store(alice, "ab", "x")

    with pytest.raises(SelectionChanged):
        apply_action(at_door(alice), action=BulkAction.FORGET, selection=chosen, expected=agreed)

    assert search_entries(at_door(alice), namespace=HERE, search=EntrySearch()).total == 2


@pytest.mark.parametrize("act", [BulkAction.FORGET, BulkAction.QUARANTINE, BulkAction.IMPORTANCE])
def test_act_locks_the_namespace_before_it_writes_into_the_trail(
    alice: Person, act: BulkAction
) -> None:
    store(alice, "a", "x")

    with CaptureQueriesContext(connection) as asked:
        apply_action(
            at_door(alice), action=act, selection=Selection(HERE, search=EntrySearch()), expected=1
        )

    asked_for = [one["sql"] for one in asked]
    locked = next(n for n, sql in enumerate(asked_for) if "FOR UPDATE" in sql)
    told = next(n for n, sql in enumerate(asked_for) if 'INSERT INTO "accounts_auditentry' in sql)
    assert "memory_namespace" in asked_for[locked]
    assert locked < told


AMENDED: list[tuple[BulkAction, Amendment, str, Any]] = [
    (BulkAction.CATEGORY, Amendment(category="note"), "category", "note"),
    (BulkAction.IMPORTANCE, Amendment(importance=0.9), "importance", 0.9),
]


@pytest.mark.parametrize(("act", "amendment", "field", "value"), AMENDED)
def test_amending_many_is_one_change_and_undone_as_one(
    alice: Person, act: BulkAction, amendment: Amendment, field: str, value: Any
) -> None:
    for n in range(3):
        store(alice, f"k{n}", f"tea {n}")
    before = [getattr(one, field) for one in _living(alice)]

    change = apply_action(
        at_door(alice), action=act, selection=Selection(HERE, search=EntrySearch()), expected=3,
        amendment=amendment, reason="tidy",
    )  # fmt: skip

    assert [getattr(one, field) for one in _living(alice)] == [value] * 3
    assert len(services.recall(at_door(alice), namespace=HERE, query_text="tea")) == 3
    services.undo(at_door(alice), change_id=change or "")
    assert [getattr(one, field) for one in _living(alice)] == before


def test_an_end_is_set_from_now_and_working_memory_keeps_its_day(alice: Person) -> None:
    store(alice, "long", "kept")
    store(alice, "work", "one two", tier="working")
    week = Amendment(sets_expiry=True, lives_seconds=7 * 86_400)
    chosen = Selection(HERE, search=EntrySearch())

    apply_action(
        at_door(alice), action=BulkAction.EXPIRY, selection=chosen, expected=2, amendment=week
    )
    assert {_days_left(one) for one in _living(alice)} == {7}
    ever = Amendment(sets_expiry=True)
    apply_action(
        at_door(alice), action=BulkAction.EXPIRY, selection=chosen, expected=2, amendment=ever
    )
    assert {one.key: _days_left(one) for one in _living(alice)} == {"long": None, "work": 1}


def test_nonsense_is_refused_and_nobody_elses_entries_are_touched(
    alice: Person, vic: Person, carol: Person
) -> None:
    mine = store(alice, "a", "x")
    bad = Amendment(category="Not A Word")

    with pytest.raises(InvalidInput, match="category"):
        apply_action(
            at_door(alice), action=BulkAction.CATEGORY, selection=Selection(HERE, (mine,)), expected=1,
            amendment=bad,
        )  # fmt: skip
    chosen = Selection(HERE, (mine,))
    assert preview_action(at_door(carol), action=BulkAction.FORGET, selection=chosen).count == 0
    with pytest.raises(Exception, match="not edit it"):
        apply_action(at_door(vic), action=BulkAction.FORGET, selection=chosen, expected=1)
    with pytest.raises(NotFound):
        services.forget_many(at_door(carol), entry_ids=[mine])
    assert len(_living(alice)) == 1


def test_timeline_folds_an_act_over_many_into_one_line(alice: Person, clock: Clock) -> None:
    ids = [store(alice, f"k{n}", f"value {n}") for n in range(8)]
    clock.go(1)
    done = services.forget_many(at_door(alice), entry_ids=ids, reason="all old")
    clock.go(1)
    services.remember(at_door(alice), namespace=HERE, key="new", value="fresh")

    told = read_timeline(at_door(alice), namespace=HERE, search=EntrySearch())

    newest, bulk, *stored = told.changes
    assert (newest.keys, newest.operation, newest.value) == (("new",), "store", "fresh")
    assert (bulk.change_id, bulk.count, bulk.reason) == (done.change_id, 8, "all old")
    assert (bulk.keys, bulk.can_undo) == (("k0", "k1", "k2", "k3", "k4"), True)
    assert [one.count for one in stored] == [1] * 8
    assert [dict(day.counts) for day in told.days] == [{"store": 8}, {"forget": 8}, {"store": 1}]
    services.undo(at_door(alice), change_id=done.change_id or "")
    again = read_timeline(at_door(alice), namespace=HERE, search=EntrySearch(), limit=1)
    assert (again.changes[0].operation, again.changes[0].count, again.total) == ("restore", 8, 11)
    narrow = read_timeline(at_door(alice), namespace=HERE, search=EntrySearch(key="k3"))
    assert [one.operation for one in narrow.changes] == ["restore", "forget", "store"]


def test_timeline_is_narrowed_by_what_a_change_made_of_the_metadata(
    alice: Person, clock: Clock
) -> None:
    store(alice, "green", "tea", metadata={"colour": "green"})
    turned = store(alice, "turned", "tea", metadata={"colour": "green"})
    clock.go(1)
    services.edit(at_door(alice), entry_id=turned, metadata={"colour": "black"}, if_revision=1)

    def told(**filter_: Any) -> tuple[list[str], int, list[dict[str, int]]]:
        found = read_timeline(at_door(alice), namespace=HERE, search=EntrySearch(filter=filter_))
        days = [dict(day.counts) for day in found.days]
        return [one.keys[0] for one in found.changes], found.total, days

    assert told(colour="black") == (["turned"], 1, [{"edit": 1}])
    assert told(colour="green") == (["turned", "green"], 2, [{"store": 2}])
    assert told(colour="red") == ([], 0, [])


def test_timeline_asks_as_often_about_revisions_however_many(alice: Person) -> None:
    """Of all of them: grouped once for the page and its total, and once for the days."""
    for number in range(6):
        store(alice, f"k{number}", "tea")

    with CaptureQueriesContext(connection) as asked:
        told = read_timeline(
            at_door(alice), namespace=HERE, search=EntrySearch(), limit=2, offset=2
        )

    assert ([one.keys for one in told.changes], told.total) == ([("k3",), ("k2",)], 6)
    revisions = [one["sql"] for one in asked if 'FROM "memory_revision"' in one["sql"]]
    assert len(revisions) == 4  # those, and keys and values of the page
    past = read_timeline(at_door(alice), namespace=HERE, search=EntrySearch(), limit=2, offset=20)
    assert (past.changes, past.total) == ((), 6)


def _living(person: Person) -> list[Entry]:
    with tenant([person.team.id]):
        return list(Entry.objects.unscoped().living().order_by("key"))


def _days_left(entry: Entry) -> int | None:
    if entry.expires_at is None:
        return None
    return round((entry.expires_at - timezone.now()).total_seconds() / 86_400)
