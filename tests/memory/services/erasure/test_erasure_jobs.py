"""Erasing as a job: ordered, carried out once by whoever comes first, and told in a receipt."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts import audit
from accounts.models import Membership
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.models import Entry, Erasure
from memory.services.erasure import erasure_jobs
from memory.services.erasure.erase import Receipt, erase_here
from memory.services.erasure.erasure_jobs import (
    RUNS_KEY,
    carry_out_erasure,
    find_subject,
    get_confirmation_text,
    get_erasure,
    list_erasures,
    order_erasure,
    plan_erasure,
)
from memory.upkeep.erasure import CLAIM_DURATION, run_erasure, sweep_erasures
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person, make_cast


pytestmark = pytest.mark.django_db

BEN = "ben@example.org"


def told(person: Person, who: str) -> None:
    services.remember(in_run(person, user_id=who), scope="user", key="k", value="green tea")


def ordered(person: Person, subject: str, **how: Any) -> Erasure:
    return order_erasure(
        at_door(person), subject=subject, confirmation=get_confirmation_text(subject), **how
    )


def again(row: Erasure) -> Erasure:
    with tenant([row.team_id]):
        return Erasure.objects.unscoped().get(pk=row.pk)


def test_ordered_erasure_is_carried_out_once_with_a_receipt(cast: Cast) -> None:
    told(cast.ada, BEN)
    row = ordered(cast.ada, BEN)
    assert (row.status, row.planned["tables"]["memory_entry"]) == ("waiting", 1)
    assert ordered(cast.ada, BEN).pk == row.pk

    done = [run_erasure(row.team_id, row.pk) for _ in range(2)]

    assert done == [1, 0]
    found = again(row)
    receipt = found.receipt or {}
    assert (found.status, found.problem) == ("done", "")
    assert receipt["tables"]["memory_entry"] == receipt["tables"]["memory_revision"] == 1
    assert set(receipt["left"].values()) == {0}
    assert set(receipt["left"]) >= set(receipt["tables"]) - {"elsewhere"}
    assert (receipt["asked_by"], receipt["subject"]) == (cast.ada.user.email, BEN)
    assert receipt["audit"]["intact"]
    assert audit.verify(cast.ada.team.pk).head == receipt["audit"]["head"]
    with tenant([row.team_id]):
        assert not Entry.objects.unscoped().exists()


def test_wrong_word_erases_nothing(alice: Person) -> None:
    own = str(alice.user.pk)
    told(alice, own)

    with pytest.raises(InvalidInput):
        order_erasure(at_door(alice), subject=own, confirmation="yes")

    assert get_confirmation_text(own) == alice.user.email
    assert list_erasures(at_door(alice)) == []


@pytest.mark.parametrize("name", ["bob", "vic", "carol"])
def test_nobody_without_the_right_plans_orders_or_reads(cast: Cast, name: str) -> None:
    told(cast.ada, BEN)
    row = ordered(cast.ada, BEN)
    person = cast.people[name]

    for act in (plan_erasure, ordered_by):
        with pytest.raises((NotFound, AccessDenied)):
            act(at_door(person), subject=BEN)
    with pytest.raises(NotFound):
        get_erasure(at_door(person), row.pk)
    assert list_erasures(at_door(person)) == []


def ordered_by(caller: Any, *, subject: str) -> Erasure:
    return order_erasure(caller, subject=subject, confirmation=subject)


def test_whom_it_was_about_sees_the_receipt(cast: Cast) -> None:
    told(cast.bob, str(cast.bob.user.pk))

    row = ordered(cast.alice, str(cast.bob.user.pk))

    assert get_erasure(at_door(cast.bob), row.pk).pk == row.pk
    with pytest.raises(NotFound):
        get_erasure(at_door(cast.ada), row.pk)


def test_who_lost_the_right_meanwhile_erases_nothing(cast: Cast) -> None:
    told(cast.ada, BEN)
    row = ordered(cast.ada, BEN)
    with tenant([row.team_id]):
        Membership.objects.unscoped().filter(user=cast.ada.user).update(role="editor")

    run_erasure(row.team_id, row.pk)

    found = again(row)
    assert (found.status, found.receipt) == ("failed", None)
    assert "User not found" in found.problem
    with tenant([row.team_id]):
        assert Entry.objects.unscoped().count() == 1


def test_run_that_goes_on_is_said_and_nothing_is_gone(alice: Person) -> None:
    own = str(alice.user.pk)
    told(alice, own)
    make_run(alice, make_workflow(alice), status="running")
    row = ordered(alice, own)

    run_erasure(row.team_id, row.pk)

    assert again(row).status == "failed"
    assert "in progress" in again(row).problem
    only_memory = ordered(alice, own, runs=False)
    run_erasure(row.team_id, only_memory.pk)
    assert again(only_memory).status == "done"


def test_sweep_finds_what_no_worker_heard_of_or_a_dead_one_left(cast: Cast) -> None:
    told(cast.ada, BEN)
    row = ordered(cast.ada, BEN)
    now = timezone.now()

    assert sweep_erasures(now) == 0
    with tenant([row.team_id]):
        Erasure.objects.unscoped().update(status="running", held_until=now + CLAIM_DURATION)
    assert sweep_erasures(now + timedelta(minutes=1)) == 0
    with tenant([row.team_id]):
        Erasure.objects.unscoped().update(held_until=now - timedelta(seconds=1))
    assert sweep_erasures(now + timedelta(minutes=1)) == 1
    assert again(row).status == "done"


@pytest.mark.django_db(transaction=True)
def test_erasure_that_takes_longer_than_it_is_held_keeps_its_receipt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada = make_cast().people["ada"]
    told(ada, BEN)
    with tenant([ada.team.pk]):
        row = Erasure.objects.unscoped().create(
            team_id=ada.team.pk, subject=BEN, asked_by=ada.user, planned={RUNS_KEY: True}
        )
    pool = ThreadPoolExecutor(2)
    others: list[Future[None]] = []
    claims: list[int] = []
    much_later = timezone.now() + 2 * CLAIM_DURATION

    def slowly(*asked: Any, **how: Any) -> Receipt:
        done = erase_here(*asked, **how)
        if not others:
            others.append(pool.submit(apart, carry_out_erasure, row.team_id, row.pk))
            claims.append(pool.submit(apart, sweep_erasures, much_later).result(30))
        return done

    monkeypatch.setattr(erasure_jobs, "erase_here", slowly)

    assert run_erasure(row.team_id, row.pk) == 1
    others[0].result(30)

    found = again(row)
    assert (found.status, found.attempts, claims) == ("done", 1, [0])
    assert (found.receipt or {})["tables"]["memory_entry"] == 1


def apart(work: Any, *given: Any) -> Any:
    """By a connection of its own."""
    try:
        return work(*given)
    finally:
        connection.close()


def test_member_is_named_by_address_and_a_stranger_is_not(cast: Cast) -> None:
    door = at_door(cast.alice)

    assert find_subject(door, " BOB@example.org ") == str(cast.bob.user.pk)
    assert find_subject(door, "carol@example.org") == "carol@example.org"


def test_programme_orders_no_erasure(cast: Cast, api_key: Any) -> None:
    from accounts.principals import KeyPrincipal
    from memory.services import MemoryCaller

    key = KeyPrincipal(api_key(cast.alice).key)

    with pytest.raises(AccessDenied):
        order_erasure(MemoryCaller(key, cast.team_a.pk), subject=BEN, confirmation=BEN)
