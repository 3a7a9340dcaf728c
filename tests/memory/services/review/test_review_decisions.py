"""What waits for a person, of both kinds: shown with what it would change, decided, taken back."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from config.ids import uuid7
from memory import services
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.core.records import StoreParams
from memory.logic.review.proposal_rules import propose_addition
from memory.logic.review.proposals import ReviewState
from memory.logic.review.review_rules import ReviewMode
from memory.services.curation.learning_rules import LearningRule
from memory.services.gateway.gateway import open_namespace
from memory.services.review import agreement, proposals, review_decisions
from memory.services.review.proposals import save_proposals
from memory.services.review.review_queue import (
    QueueFilters,
    QueueItem,
    count_queue,
    get_queue_item,
    list_queue,
    list_queue_items,
)
from memory.services.review.review_sample import add_sample_items
from tests.memory.services.conftest import at_door, trail
from tests.memory.services.curating import kept_in_demo, learns, proposals_of
from tests.memory.services.test_review import taught
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


@pytest.fixture
def queue(alice: Person) -> dict[str, list[QueueItem]]:
    """The sample's, by kind."""
    add_sample_items(at_door(alice))
    found: dict[str, list[QueueItem]] = {}
    for one in list_queue(at_door(alice)).items:
        found.setdefault(one.kind, []).append(one)
    return found


def values(person: Person) -> dict[str, object]:
    return {one.key: one.value for one in kept_in_demo(person) if one.tier != "quarantine"}


def ids(found: list[QueueItem]) -> list[UUID]:
    return [one.id for one in found]


def test_sample_brings_one_of_each_by_the_rules_that_notice_them(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    assert {kind: len(found) for kind, found in queue.items()} == {
        "add": 2,
        "contradiction": 1,
        "held": 1,
        "link": 1,
        "merge": 1,
    }
    assert count_queue(at_door(alice)) == 6
    add_sample_items(at_door(alice))
    assert count_queue(at_door(alice)) == 6


def test_each_is_shown_with_what_accepting_changes_now(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    [conflict], [held], [link] = queue["contradiction"], queue["held"], queue["link"]

    shown = [
        (c.before and c.before.value, c.after and c.after.value) for c in conflict.diff.changes
    ]
    assert shown == [("Alice lives in Basel",) * 2, ("Alice lives in Lyon",) * 2]
    successor, former = (change.after for change in conflict.diff.changes)
    assert successor is not None
    assert former is not None
    assert (bool(successor.replaces), bool(former.replaced_by), former.valid_until is None) == (
        True,
        True,
        False,
    )
    [change] = held.diff.changes
    assert (change.before, change.after and str(change.after.tier)) == (None, "long_term")
    assert {c.before.value for c in link.diff.changes if c.before} == {
        c.after.value for c in link.diff.changes if c.after
    }
    entry = next(one for one in kept_in_demo(alice) if one.value == "Alice lives in Lyon")
    services.forget(at_door(alice), entry_id=entry.id)
    assert [p for _key, p in get_queue_item(at_door(alice), item_id=conflict.id).diff.problems] == [
        "gone"
    ]


def test_queue_is_narrowed_by_kind_namespace_and_run(alice: Person) -> None:
    learns(alice, scope="global", review=ReviewMode.ALL)
    taught(alice, "Tea is served at four", run_id="r9")
    add_sample_items(at_door(alice))
    everything = list_queue(at_door(alice))
    shared = next(place for place, _count in everything.namespaces if place.scope == "global")

    def kinds(**chosen: object) -> list[str]:
        page = list_queue(at_door(alice), filters=QueueFilters(**chosen))  # type: ignore[arg-type]  # by name
        assert page.total == len(page.items)
        return [one.kind for one in page.items]

    counted = count_queue(at_door(alice))  # by a statement of its own
    assert (everything.total, everything.queue_total, counted) == (8, 8, 8)
    assert kinds(kind="merge") == ["merge"]
    assert kinds(kind="contradiction") == ["contradiction"]
    assert kinds(kind="held") == ["held"]
    assert kinds(namespace_id=shared.pk) == ["add", "add"]
    assert kinds(run_id="r9") == ["add", "add"]
    assert kinds(run_id="nobody") == []
    pages = [list_queue(at_door(alice), limit=3, offset=offset).items for offset in (0, 3, 6)]
    assert ids([one for page in pages for one in page]) == ids(list(everything.items))


@pytest.mark.parametrize("kind", ["add", "contradiction", "held", "link", "merge"])
@pytest.mark.parametrize("act", ["accept", "reject", "always"])
def test_whatever_is_decided_is_taken_back_and_waits_again(
    alice: Person, queue: dict[str, list[QueueItem]], kind: str, act: str
) -> None:
    one, before = queue[kind][0], values(alice)

    if act == "accept":
        review_decisions.accept(at_door(alice), item_id=one.id)
    else:
        review_decisions.reject(at_door(alice), item_id=one.id, always=act == "always")
    assert count_queue(at_door(alice)) == 5
    assert (values(alice) == before) is (act != "accept" or kind == "link")
    done = review_decisions.revert_decisions(at_door(alice), item_ids=[one.id])

    assert (done.decided, done.skipped) == ((one.id,), ())
    assert count_queue(at_door(alice)) == 6
    assert values(alice) == before
    assert get_queue_item(at_door(alice), item_id=one.id).kind == kind
    assert agreement.measure_agreement(at_door(alice)) == {}


@pytest.mark.parametrize("kind", ["add", "held"])
def test_accepted_in_other_words_is_remembered_in_those(
    alice: Person, queue: dict[str, list[QueueItem]], kind: str
) -> None:
    review_decisions.accept(at_door(alice), item_id=queue[kind][0].id, value="In my own words")

    assert "In my own words" in values(alice).values()


@pytest.mark.parametrize("kind", ["add", "held"])
def test_new_one_joins_a_memory_that_is_there_and_leaves_it_when_taken_back(
    alice: Person, queue: dict[str, list[QueueItem]], kind: str
) -> None:
    one, before = queue[kind][0], values(alice)
    into = review_decisions.list_similar(at_door(alice), item_id=one.id)[0]

    review_decisions.merge(at_door(alice), item_id=one.id, into=into.key, value="Both in one")

    [joined] = [entry for entry in kept_in_demo(alice) if entry.key == into.key]
    assert (joined.value, joined.metadata["proofs"]) == ("Both in one", 2)
    assert values(alice) == {**before, into.key: "Both in one"}
    review_decisions.revert_decisions(at_door(alice), item_ids=[one.id])
    assert values(alice) == before
    assert get_queue_item(at_door(alice), item_id=one.id).new == one.new


@pytest.mark.parametrize("odd", [3, None, "x", ["x"]])
def test_memory_with_odd_metadata_is_joined_all_the_same(
    alice: Person, queue: dict[str, list[QueueItem]], odd: object
) -> None:
    one = queue["held"][0]
    into = review_decisions.list_similar(at_door(alice), item_id=one.id)[0]
    services.remember(
        at_door(alice),
        namespace=into.namespace,
        key=into.key,
        value=into.value,
        metadata={"merged_from": odd},
    )

    review_decisions.merge(at_door(alice), item_id=one.id, into=into.key, value="Both in one")

    [joined] = [entry for entry in kept_in_demo(alice) if entry.key == into.key]
    assert [taken["id"] for taken in joined.metadata["merged_from"]] == [str(one.id)]


def test_only_what_is_new_joins_another_and_only_one_that_is_there(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    with pytest.raises(InvalidInput):
        review_decisions.merge(
            at_door(alice), item_id=queue["link"][0].id, into="sample:home", value="x"
        )
    for kind in ("add", "held"):
        with pytest.raises(NotFound):
            review_decisions.merge(
                at_door(alice), item_id=queue[kind][0].id, into="nowhere", value="x"
            )
    assert count_queue(at_door(alice)) == 6


def test_many_are_decided_each_for_itself_and_what_changed_since_is_left(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    everything = list_queue(at_door(alice)).items
    entry = next(one for one in kept_in_demo(alice) if one.value == "Alice lives in Lyon")
    services.forget(at_door(alice), entry_id=entry.id)

    done = review_decisions.accept_many(at_door(alice), item_ids=[one.id for one in everything])

    assert set(done.skipped) >= {queue["contradiction"][0].id}
    assert len(done.decided) + len(done.skipped) == 6
    left = list_queue_items(at_door(alice), item_ids=[one.id for one in everything])
    assert {one.id for one in left} == set(done.skipped)
    assert not any(one.diff.is_applicable for one in left)


def test_rules_of_rejecting_for_good_are_listed_and_taken_back(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    new, held = queue["add"][0], queue["held"][0]
    review_decisions.reject(at_door(alice), item_id=new.id, always=True, reason="nobody asked")
    review_decisions.reject(at_door(alice), item_id=held.id)

    rules = agreement.list_rejection_rules(at_door(alice))

    assert {(one.id, one.kind, one.value, one.can_decide) for one in rules} == {
        (new.id, "add", new.new, True),
        (held.id, "held", held.new, True),
    }
    assert next(one for one in rules if one.id == new.id).reason == "nobody asked"
    review_decisions.revert_decisions(at_door(alice), item_ids=[new.id, held.id])
    assert agreement.list_rejection_rules(at_door(alice)) == []
    assert count_queue(at_door(alice)) == 6


def test_agreement_counts_by_kind_what_people_decided_lately(
    alice: Person, queue: dict[str, list[QueueItem]]
) -> None:
    first, second = queue["add"]
    review_decisions.accept(at_door(alice), item_id=first.id, value="Otherwise")
    review_decisions.reject(at_door(alice), item_id=second.id)
    review_decisions.accept(at_door(alice), item_id=queue["contradiction"][0].id)

    found = agreement.measure_agreement(at_door(alice))

    assert {kind: (one.decision_count, one.share) for kind, one in found.items()} == {
        "add": (2, 0.25),
        "contradiction": (1, 1.0),
    }
    later = timezone.now() + timedelta(days=31)
    assert agreement.measure_agreement(at_door(alice), now=later) == {}


def test_agreement_counts_what_people_said_of_quarantine_and_took_back_unasked(
    alice: Person,
) -> None:
    """What passed by itself says nothing until somebody undoes it."""
    caller = at_door(alice)
    for number, value in enumerate(("Bees hum at dusk", "Wasps sting at noon"), 1):
        with open_namespace(caller, "write", "memory.proposed", namespace="global:app") as door:
            found = propose_addition(
                StoreParams("global:app", f"k{number}", value=value),
                lambda: str(uuid7()),
                author="rule",
            )
            save_proposals(door, [found], run_id="", learning=LearningRule(review=ReviewMode.OFF))
    assert agreement.measure_agreement(caller) == {}
    services.forget(caller, namespace="global:app", key="k1")
    for key, move in (("q1", "approve"), ("q2", "reject"), ("q3", "")):
        made = services.remember(caller, namespace="global:app", key=key, value=f"{key} waits")
        services.move(caller, move="quarantine", entry_ids=[made.id])
        if move:
            services.move(caller, move=move, entry_ids=[made.id])

    found_ = agreement.measure_agreement(caller)

    assert {kind: (one.accepted, one.rejected) for kind, one in found_.items()} == {
        "add": (0, 1),
        "held": (1, 1),
    }
    assert proposals.measure_precision(caller)["rule"].rejected == 1


def test_what_waits_about_a_person_is_theirs_alone(
    cast: Cast, queue: dict[str, list[QueueItem]]
) -> None:
    everything = [one.id for found in queue.values() for one in found]
    for person in (cast.ada, cast.bob, cast.vic, cast.carol):
        assert count_queue(at_door(person)) == 0
        assert list_queue(at_door(person)).namespaces == []
        assert list_queue_items(at_door(person), item_ids=everything) == []
        for one in everything:
            with pytest.raises(NotFound):
                review_decisions.accept(at_door(person), item_id=one)
            with pytest.raises(NotFound):
                get_queue_item(at_door(person), item_id=one)
    assert {one.state for one in proposals_of(cast.alice)} == {ReviewState.OPEN}


def test_viewer_looks_at_what_the_team_shares_and_decides_nothing(cast: Cast) -> None:
    learns(cast.alice, scope="global", review=ReviewMode.ALL)
    taught(cast.alice, "Tea is served at four", run_id="r1")

    found = list_queue(at_door(cast.vic)).items

    assert [one.can_decide for one in found] == [False, False]
    for act in (review_decisions.accept, review_decisions.reject):
        with pytest.raises(AccessDenied):
            act(at_door(cast.vic), item_id=found[0].id)
    assert trail(cast.team_a.pk)[-1] == ("memory.refused", "global:app", False)
