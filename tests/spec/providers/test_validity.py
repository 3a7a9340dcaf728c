"""What holds: a fact that stopped holding stays, with its end and its successor, and recall gives what holds now."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import MemoryEntry
from tests.spec.providers.conftest import Make, Memory


START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


# Each way of asking, without a key.
WAYS: dict[str, dict[str, Any]] = {
    "newest": {},
    "words": {"query_text": "Where do I live?"},
    "words of another language": {"query_text": "live Städte", "language": "german"},
    "literal piece": {"query_text": "I live in L"},
    "filter": {"filter": {"about": "home"}},
    "words and filter": {"query_text": "live", "filter": {"about": "home"}},
}


def remember(memory: Memory, key: str, text: str, **more: Any) -> MemoryEntry:
    return memory.store(key, text, metadata={"about": "home"}, **more)


def move(memory: Memory) -> tuple[MemoryEntry, MemoryEntry]:
    """The person lives in London, and from day 10 on in Lyon. Return both entries as they are then."""
    london = remember(memory, "london", "I live in London.")
    memory.clock.now = day(10)
    lyon = remember(memory, "lyon", "I live in Lyon.", valid_from=day(10), replaces=london.id)
    london = remember(
        memory, "london", "I live in London.", valid_until=day(10), replaced_by=lyon.id
    )
    return london, lyon


def test_what_was_replaced_stays_and_is_not_recalled(memory: Memory) -> None:
    london, lyon = move(memory)

    assert (london.valid_from, london.valid_until) == (None, day(10))
    assert (lyon.valid_from, lyon.valid_until) == (day(10), None)
    assert (london.replaced_by, lyon.replaces) == (lyon.id, london.id)
    assert (london.replaces, lyon.replaced_by) == ("", "")
    for name, way in WAYS.items():
        assert memory.keys(**way) == ["lyon"], name
        assert set(memory.keys(**way, include_former=True)) == {"london", "lyon"}, name


def test_another_moment_has_what_held_then(memory: Memory) -> None:
    move(memory)

    for name, way in WAYS.items():
        assert memory.keys(**way, valid_at=day(9)) == ["london"], name
        assert memory.keys(**way, valid_at=day(11)) == ["lyon"], name


LIMITS: list[tuple[dict[str, Any], float, bool]] = [
    ({}, -1000, True),
    ({"valid_from": day(1)}, 0.9, False),
    ({"valid_from": day(1)}, 1, True),
    ({"valid_until": day(1)}, 0.9, True),
    ({"valid_until": day(1)}, 1, False),
    ({"valid_from": day(1), "valid_until": day(2)}, 1.5, True),
    ({"valid_from": day(1), "valid_until": day(2)}, 0.5, False),
    ({"valid_from": day(1), "valid_until": day(2)}, 2.5, False),
]


def test_entry_holds_from_its_beginning_until_before_its_end(memory: Memory) -> None:
    for number, (validity, moment, is_found) in enumerate(LIMITS):
        person = f"user:{number}"
        memory.store("k", "I live in Lyon.", person, metadata={"about": "home"}, **validity)

        found = [bool(memory.recall(person, **way, valid_at=day(moment))) for way in WAYS.values()]

        assert found == [is_found] * len(WAYS), (validity, moment)


def test_entry_begins_and_stops_holding_by_the_clock(memory: Memory) -> None:
    remember(memory, "k", "I live in Lyon.", valid_from=day(1), valid_until=day(2))

    found = []
    for moment in (day(0.5), day(1.5), day(2.5)):
        memory.clock.now = moment
        found.append([memory.keys(**way) for way in WAYS.values()])

    assert found == [[keys] * len(WAYS) for keys in ([], ["k"], [])]


def test_key_gives_the_entry_whether_it_holds_or_not(memory: Memory) -> None:
    london, _lyon = move(memory)

    for more in ({}, {"valid_at": day(99)}, {"filter": {"about": "home"}}, {"query_text": "live"}):
        (found,) = memory.recall(key="london", **more)
        assert (found.id, found.valid_until) == (london.id, day(10))
    assert [entry.valid_until for entry in memory.history("london")] == [None, day(10)]


def test_what_does_not_hold_takes_no_place_and_changes_no_score(make: Make) -> None:
    memory, without = make(), make()
    for one in (memory, without):
        remember(one, "work", "I work in Lyon.")
        remember(one, "home", "I live in Lyon now.")
    for number in range(5):
        remember(memory, f"old{number}", f"I live in Lyon {number}.", valid_until=day(0))
    remember(memory, "soon", "I live in Lyon soon.", valid_from=day(300))

    for query in ({"top_k": 1}, {"query_text": "live in Lyon"}, {"query_text": "l", "top_k": 1}):
        told = [(hit.key, hit.score, dict(hit.explain)) for hit in memory.recall(**query)]
        assert told == [(hit.key, hit.score, dict(hit.explain)) for hit in without.recall(**query)]


def test_past_answers_as_it_did_before_and_after_the_retirement(memory: Memory) -> None:
    remember(memory, "london", "I live in London.")
    before = memory.clock()
    move(memory)
    after = memory.clock()
    memory.clock.now = day(20)
    remember(memory, "london", "I live in London.")  # and back again

    questions: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["london", "lyon"]),
        ({"as_of": before}, ["london"]),
        ({"as_of": before, "valid_at": day(15)}, ["london"]),  # the end was not known yet
        ({"as_of": after}, ["lyon"]),
        ({"as_of": after, "valid_at": day(5)}, ["london"]),
        ({"as_of": after, "include_former": True}, ["london", "lyon"]),
    ]
    for name, way in WAYS.items():
        for more, expected in questions:
            assert sorted(memory.keys(**way, **more)) == expected, (name, more)


def test_store_without_a_validity_lets_an_entry_hold_again(memory: Memory) -> None:
    move(memory)

    again = remember(memory, "london", "I live in London.")

    assert (again.valid_until, again.replaced_by, again.revision) == (None, "", 3)
    assert set(memory.keys()) == {"london", "lyon"}


NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - what is refused
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"valid_from": NAIVE}, "valid_from: .*time zone"),
    ({"valid_until": NAIVE}, "valid_until: .*time zone"),
    ({"valid_from": day(1), "valid_until": day(1)}, "valid_until: must be after"),
    ({"valid_from": day(2), "valid_until": day(1)}, "valid_until: must be after"),
    ({"replaces": "I live here"}, "replaces: .*id"),
    ({"replaced_by": "x" * 81}, "replaced_by: .*id"),
]


def test_validity_that_makes_no_sense_is_refused(memory: Memory) -> None:
    for validity, named in REFUSED:
        with pytest.raises(InvalidInput, match=named):
            remember(memory, "k", "v", **validity)

        assert memory.recall(include_former=True) == [], validity


def test_moment_without_a_time_zone_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"valid_at: .*time zone"):
        memory.recall(valid_at=NAIVE)


def test_times_keep_their_microseconds_in_any_time_zone(memory: Memory) -> None:
    from datetime import timezone

    moment = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=timezone(timedelta(hours=5.5)))

    remember(memory, "k", "v", valid_from=moment)
    (entry,) = memory.recall(key="k")

    assert entry.valid_from == moment
    assert memory.recall(valid_at=moment - timedelta(microseconds=1)) == []
    assert memory.keys(valid_at=moment) == ["k"]


Delete = Callable[[Memory], Any]


@pytest.mark.parametrize(
    "delete",
    [lambda memory: memory.delete("london") + memory.delete("lyon"), lambda memory: memory.clear()],
    ids=["by key", "all"],
)
def test_what_holds_no_more_is_deleted_like_the_rest(memory: Memory, delete: Delete) -> None:
    move(memory)

    assert delete(memory) == 2
    assert memory.recall(include_former=True) == []
