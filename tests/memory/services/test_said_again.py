"""What is said twice under keys nobody chose is one entry with a proof; what was stored under a chosen key is there."""

from dataclasses import replace
from typing import Any

import pytest

from memory import services
from memory.core.records import MemoryEntry
from memory.services import CallOrigin, MemoryCaller
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


def running(person: Person, run: str) -> MemoryCaller:
    return replace(in_run(person, run_id=run), origin=CallOrigin(run, "remember", f"{run}:1"))


def say(person: Person, run: str, value: Any, key: str = "", **more: Any) -> MemoryEntry:
    caller = running(person, run)
    return services.remember(caller, scope="user", key=key or f"said_{run}", value=value, **more)


def kept(person: Person) -> list[MemoryEntry]:
    place = f"user:{person.user.pk}"
    return services.list_entries(at_door(person), namespace=place, limit=200).entries


@pytest.mark.parametrize("tier", ["long_term", "working"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My cat is called Mimi.", "My cat is called Mimi."),
        ("My cat is called Mimi.", "my cat is called Mimi"),
        ("我的猫叫咪咪。", "我的猫叫咪咪"),
    ],
)
def test_same_said_by_two_runs_is_one_entry_with_a_proof_that_says_who_and_when(
    alice: Person, tier: str, first: str, second: str
) -> None:
    """spec §8b: at write time exact and near duplicates are merged with a proof count."""
    say(alice, "r-one", first, tier=tier)
    again = say(alice, "r-two", second, tier=tier)

    [one] = kept(alice)
    assert (again.id, one.key, one.metadata["proofs"]) == (one.id, "said_r-one", 2)
    assert one.metadata["proved_by"] == ["r-one/remember/", "r-two/remember/"]
    if tier == "long_term":
        [proof] = one.metadata["said_again"]
        assert (proof["run"], proof["node"], proof["key"]) == ("r-two", "remember", "said_r-two")
        assert proof["at"]


def test_old_one_is_found_behind_many_newer_ones(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    for number in range(60):
        say(alice, f"r-{number}x", f"Room number {number} is painted in colour {number * 7}")

    say(alice, "r-two", "My cat is called Mimi.")

    assert len(kept(alice)) == 61


def test_undo_of_the_run_takes_its_proof_back(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")

    services.undo_run(at_door(alice), run_id="r-two")

    [one] = kept(alice)
    assert (one.key, one.value) == ("said_r-one", "My cat is called Mimi.")
    assert not {"proofs", "proved_by", "said_again"} & one.metadata.keys()


def test_what_is_stored_under_a_chosen_key_is_there_for_the_next_node(alice: Person) -> None:
    """seed 0: a store is key → value."""
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.", key="pet")

    found = services.recall(running(alice, "r-two"), scope="user", key="pet")

    assert [one.value for one in found] == ["My cat is called Mimi."]
    assert len(kept(alice)) == 2


def test_same_key_again_overwrites_and_a_retried_step_proves_nothing(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")
    say(alice, "r-one", "My dog is called Rex.")

    [one] = kept(alice)
    assert (one.key, one.value, one.metadata.get("proofs")) == (
        "said_r-one", "My dog is called Rex.", None,
    )  # fmt: skip


DIFFERENT = [
    ("My cat is called Mimi.", {}, "My cat isn't called Mimi.", {}),
    ("Renews in March every year", {"account": "A"}, "Renews in March every year", {"account": "B"}),
    (5, {}, 5, {}),
    ("My cat is called Mimi.", {"category": "fact"}, "My cat is called Mimi.", {"category": "log"}),
]  # fmt: skip


@pytest.mark.parametrize(("first", "of_first", "second", "of_second"), DIFFERENT)
def test_what_differs_in_anything_that_counts_stays_two(
    alice: Person, first: Any, of_first: Any, second: Any, of_second: Any
) -> None:
    say(alice, "r-one", first, metadata=of_first)
    say(alice, "r-two", second, metadata=of_second)

    assert len(kept(alice)) == 2


def test_run_is_not_found_in_a_key_that_only_begins_like_it(alice: Person) -> None:
    say(alice, "r1", "My cat is called Mimi.", key="said_r12")
    say(alice, "r1", "My cat is called Mimi.", key="said_r13")

    assert len(kept(alice)) == 2


@pytest.mark.parametrize("odd", [["x"], None, 3, "x", [{"other": 1}], {"key": 1}])
@pytest.mark.parametrize("name", ["said_again", "proved_by"])
def test_odd_metadata_of_what_is_there_is_no_obstacle(alice: Person, name: str, odd: Any) -> None:
    say(alice, "r-one", "My cat is called Mimi.", metadata={name: odd})

    say(alice, "r-two", "My cat is called Mimi.")

    [one] = kept(alice)
    assert one.metadata["proofs"] == 2
    assert one.metadata["proved_by"][-1] == "r-two/remember/"
    assert one.metadata["said_again"][-1]["key"] == "said_r-two"
