"""Every key that a store names is there at once; what runs say again under keys nobody reads is folded afterwards."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import services
from memory.core.records import MemoryEntry
from memory.services import CallOrigin, MemoryCaller
from memory.upkeep.folding import fold_all_teams, fold_run
from tests.memory.fake_host import FakeHost
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

RUNS = ("r-one", "r-two", "r-three")


@pytest.fixture(autouse=True)
def ended(fake_host: FakeHost) -> FakeHost:
    """A host whose runs have ended."""
    fake_host.ended = RUNS
    return fake_host


def running(person: Person, run: str) -> MemoryCaller:
    return replace(in_run(person, run_id=run), origin=CallOrigin(run, "remember", f"{run}:1"))


def say(person: Person, run: str, value: Any, key: str = "", **more: Any) -> MemoryEntry:
    caller = running(person, run)
    return services.remember(caller, scope="user", key=key or f"said_{run}", value=value, **more)


def kept(person: Person) -> list[MemoryEntry]:
    place = f"user:{person.user.pk}"
    return services.list_entries(at_door(person), namespace=place, limit=200).entries


SAME = [
    ("My cat is called Mimi.", "My cat is called Mimi."),
    ("My cat is called Mimi.", "my cat is called Mimi"),
    ("我的猫叫咪咪。", "我的猫叫咪咪"),
]


@pytest.mark.parametrize("tier", ["long_term", "working"])
@pytest.mark.parametrize(("first", "second"), SAME)
def test_same_said_by_two_runs_is_there_under_both_keys_until_it_is_folded(
    alice: Person, tier: str, first: str, second: str
) -> None:
    """spec §8b: exact and near duplicates are merged with a proof count that says who and when."""
    said = [say(alice, "r-one", first, tier=tier), say(alice, "r-two", second, tier=tier)]
    for entry in said:
        [found] = services.recall(running(alice, "r-two"), scope="user", key=entry.key)
        assert (found.id, found.value) == (entry.id, entry.value)

    assert fold_all_teams() == 1
    assert fold_all_teams() == 0

    [one] = kept(alice)
    assert (one.id, one.key, one.metadata["proofs"]) == (said[0].id, "said_r-one", 2)
    assert one.metadata["proved_by"] == ["r-one/remember/", "r-two/remember/"]
    [proof] = one.metadata["said_again"]
    assert (proof["run"], proof["node"], proof["key"]) == ("r-two", "remember", "said_r-two")
    assert proof["at"]
    assert trail(alice.team.pk)[-2] == ("memory.folded", one.namespace, True)


WORDS = st.lists(
    st.sampled_from(["tea", "Alice", "likes", "green", "咪咪", "the", "42", "not"]), min_size=2
)


@settings(max_examples=25, deadline=None, suppress_health_check=[*HealthCheck])
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from(["user", "run", "workflow", "global"]),
            st.sampled_from(["working", "long_term"]),
            st.sampled_from(["a", "b", "said_r-one", " c "]),
            WORDS.map(" ".join),
        ),
        max_size=6,
    )
)
def test_every_key_a_store_names_is_recalled_at_once(
    alice: Person, said: list[tuple[str, str, str, str]]
) -> None:
    identity: dict[str, Any] = {"run_id": "r-one", "workflow_id": "w", "group_id": "g"}
    for number, (scope, tier, key, value) in enumerate(said):
        step = CallOrigin("r-one", "remember", f"{uuid4()}:{number}")
        caller = replace(in_run(alice, **identity), origin=step)
        stored = services.remember(caller, scope=scope, key=key, value=value, tier=tier)

        [found] = services.recall(caller, scope=scope, key=stored.key)

        assert (found.id, found.key, found.value) == (stored.id, stored.key, value)


def test_three_of_the_same_are_one_with_three_proofs(alice: Person) -> None:
    for run in RUNS:
        say(alice, run, "My cat is called Mimi.")

    assert fold_all_teams() == 2

    [one] = kept(alice)
    assert (one.key, one.metadata["proofs"]) == ("said_r-one", 3)
    assert [proof["run"] for proof in one.metadata["said_again"]] == ["r-two", "r-three"]


def test_old_one_is_found_behind_many_newer_ones(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    for number in range(60):
        say(alice, f"r-{number}x", f"Room number {number} is painted in colour {number * 7}")

    say(alice, "r-two", "My cat is called Mimi.")
    fold_run(alice.team.pk, "r-two", timezone.now())

    assert len(kept(alice)) == 61


def test_entry_of_a_run_that_goes_on_stays_where_the_run_reads_it(
    alice: Person, ended: FakeHost
) -> None:
    ended.ended = ("r-one",)
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")

    assert (fold_all_teams(), fold_all_teams()) == (1, 0)  # counted
    assert services.recall(running(alice, "r-two"), scope="user", key="said_r-two")
    ended.ended = RUNS
    assert fold_all_teams() == 1

    [one] = kept(alice)
    assert (one.key, one.metadata["proofs"]) == ("said_r-one", 2)


def test_working_entry_under_a_chosen_key_is_a_proof_once_and_stays(alice: Person) -> None:
    """Other nodes read the key that an author chose; that it was said twice keeps the first for good."""
    say(alice, "r-one", "My cat is called Mimi.", key="a", tier="working")
    say(alice, "r-two", "my cat is called Mimi", key="b", tier="working")

    assert (fold_all_teams(), fold_all_teams()) == (1, 0)

    by_key = {one.key: one for one in kept(alice)}
    assert by_key.keys() == {"a", "b"}
    assert by_key["a"].metadata["proofs"] == 2
    assert "proofs" not in by_key["b"].metadata


def test_fold_leaves_the_original_what_is_left_of_the_longer_life(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.", tier="working", ttl_seconds=600)
    later = say(alice, "r-two", "My cat is called Mimi.", tier="working", ttl_seconds=900)

    fold_all_teams(timezone.now() + timedelta(seconds=100))

    [one] = kept(alice)
    assert one.expires_at
    assert later.expires_at
    assert abs(one.expires_at - later.expires_at) < timedelta(seconds=1)


def test_undo_of_the_run_takes_its_proof_back(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")
    fold_all_teams()

    services.undo_run(at_door(alice), run_id="r-two")

    [one] = kept(alice)
    assert (one.key, one.value) == ("said_r-one", "My cat is called Mimi.")
    assert not {"proofs", "proved_by", "said_again"} & one.metadata.keys()


def test_undo_of_the_fold_brings_both_back_for_good(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    folded = say(alice, "r-two", "My cat is called Mimi.")
    fold_all_teams()
    revision = services.list_revisions(at_door(alice), entry_id=folded.id)[0]

    services.undo(at_door(alice), change_id=str(revision.change_id))

    assert (revision.actor, revision.reason) == ("folding", "said more than once")
    assert fold_all_teams() == 0
    assert {one.key: "proofs" in one.metadata for one in kept(alice)} == {
        "said_r-one": False, "said_r-two": False,
    }  # fmt: skip


def test_what_is_stored_under_a_chosen_key_is_never_folded_away(alice: Person) -> None:
    """seed 0: a store is key → value."""
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.", key="pet")

    assert fold_all_teams() == 0

    found = services.recall(running(alice, "r-two"), scope="user", key="pet")
    assert [one.value for one in found] == ["My cat is called Mimi."]
    assert len(kept(alice)) == 2


def test_same_key_again_overwrites_and_a_retried_step_proves_nothing(alice: Person) -> None:
    say(alice, "r-one", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")
    say(alice, "r-two", "My cat is called Mimi.")
    say(alice, "r-three", "My dog is called Rex.", key="said_r-one")

    fold_all_teams()

    assert {(one.key, one.value, one.metadata.get("proofs")) for one in kept(alice)} == {
        ("said_r-one", "My dog is called Rex.", None),
        ("said_r-two", "My cat is called Mimi.", None),
    }


def test_teams_and_people_keep_their_own(cast: Cast) -> None:
    say(cast.alice, "r-one", "My cat is called Mimi.")
    say(cast.bob, "r-two", "My cat is called Mimi.")
    say(cast.carol, "r-two", "My cat is called Mimi.")

    assert fold_all_teams() == 0


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

    fold_all_teams()

    assert len(kept(alice)) == 2


def test_run_is_not_found_in_a_key_that_only_begins_like_it(alice: Person, ended: FakeHost) -> None:
    ended.ended = ("r1",)
    say(alice, "r1", "My cat is called Mimi.", key="said_r12")
    say(alice, "r1", "My cat is called Mimi.", key="said_r13")

    assert fold_all_teams() == 0


@pytest.mark.parametrize("odd", [["x"], None, 3, "x", [{"other": 1}], {"key": 1}])
@pytest.mark.parametrize("name", ["said_again", "proved_by"])
def test_odd_metadata_of_what_is_there_is_no_obstacle(alice: Person, name: str, odd: Any) -> None:
    say(alice, "r-one", "My cat is called Mimi.", metadata={name: odd})

    say(alice, "r-two", "My cat is called Mimi.")
    fold_all_teams()

    [one] = kept(alice)
    assert one.metadata["proofs"] == 2
    assert one.metadata["proved_by"][-1] == "r-two/remember/"
    assert one.metadata["said_again"][-1]["key"] == "said_r-two"
