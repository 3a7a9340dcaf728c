"""What used to end in a deadlock, by real connections at the same moment; and what is tried again if one happens all the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from threading import Barrier
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection

from accounts.audit import verify
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from config.retry import RETRY_DELAYS, find_conflict, retry_on_conflict
from memory import services
from memory.core.errors import ProviderError
from memory.models import Entry, Policy
from memory.providers.postgres import rows
from memory.services.access.quotas import Limits, change_limits
from memory.services.erasure import erasure_jobs
from memory.services.gateway import gateway
from memory.services.review import review_decisions
from memory.upkeep.erasure import run_erasure
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.exchanging import brought, entry, file_of, space
from tests.support.cast import Person, make_cast
from tests.support.waiting import LIMIT


pytestmark = pytest.mark.django_db(transaction=True)

erasing = import_module(
    "memory.services.erasure.erase"
)  # the package has the function by that name
ONE, TWO = "global:one", "global:two"
ROUNDS = 8


def at_the_same_time(*acts: Callable[[], Any], rounds: int = ROUNDS) -> list[BaseException]:
    """Each in a thread with a connection of its own, side by side again and again. What went wrong."""
    together = Barrier(len(acts))

    def over_and_over(act: Callable[[], Any]) -> list[BaseException]:
        wrong: list[BaseException] = []
        try:
            for _ in range(rounds):
                together.wait(LIMIT)
                try:
                    act()
                except Exception as error:
                    wrong.append(error)
        finally:
            connection.close()
        return wrong

    with ThreadPoolExecutor(len(acts)) as pool:
        return [error for found in pool.map(over_and_over, acts) for error in found]


def in_a_request(person: Person, act: Callable[[], Any]) -> Callable[[], Any]:
    """In one transaction that somebody else began: nothing is tried again in there."""

    def request() -> None:
        with tenant([person.team.pk]):
            act()

    return request


@pytest.fixture
def ann() -> Person:
    person: Person = make_cast().alice
    for place in (ONE, TWO):
        services.remember(at_door(person), namespace=place, key="k", value="v")
    return person


def living(person: Person) -> int:
    with tenant([person.team.pk]):
        return Entry.objects.unscoped().filter(deleted_at=None).count()


def test_two_who_look_and_write_in_opposite_places_both_get_through(ann: Person) -> None:
    def across(first: str, second: str) -> Callable[[], None]:
        def act() -> None:
            services.get_knowledge_base(at_door(ann), namespace=first)
            services.write_pages(at_door(ann), namespace=second, pages=[{"title": "Bees"}])

        return act

    one = in_a_request(ann, across(ONE, ONE))
    two = in_a_request(ann, across(TWO, ONE))
    wrong = at_the_same_time(one, one, two)

    assert wrong == []
    assert verify(ann.team.pk).intact


def test_reviews_of_the_same_places_from_both_ends_get_through(ann: Person) -> None:
    def held(first: str, second: str) -> list[list[UUID]]:
        found = []
        for number in range(ROUNDS):
            pair = []
            for place in (first, second):
                key = f"{first}{number}"
                made = services.remember(at_door(ann), namespace=place, key=key, value=key)
                services.move(at_door(ann), move="quarantine", entry_ids=[made.id])
                pair.append(UUID(made.id))
            found.append(pair)
        return found

    def accepts(pairs: list[list[UUID]]) -> Callable[[], Any]:
        return in_a_request(
            ann, lambda: review_decisions.accept_many(at_door(ann), item_ids=pairs.pop())
        )

    wrong = at_the_same_time(accepts(held(ONE, TWO)), accepts(held(TWO, ONE)))

    assert wrong == []
    assert living(ann) == 2 + 4 * ROUNDS
    assert verify(ann.team.pk).intact


def test_imports_and_stores_in_opposite_places_get_through(ann: Person) -> None:
    def imports(first: str, second: str, dry_run: bool) -> Callable[[], Any]:
        told = [
            line
            for number, place in enumerate((first, second), 1)
            for line in (space(place), entry(f"told{number}", number, namespace=place))
        ]
        return lambda: brought(ann, file_of(*told), dry_run=dry_run)

    def stores() -> None:
        for place in (TWO, ONE):
            services.remember(at_door(ann), namespace=place, key="mine", value=1)

    wrong = at_the_same_time(imports(ONE, TWO, False), imports(TWO, ONE, True), stores)

    assert wrong == []
    assert verify(ann.team.pk).intact


def test_rehearsed_import_holds_nobody_up_who_writes_elsewhere(ann: Person) -> None:
    """The team's trail is one: who holds it while a file is read has everybody wait."""
    told = file_of(space(ONE), entry("told", namespace=ONE))
    done: list[str] = []

    def elsewhere() -> None:
        try:
            made = services.remember(at_door(ann), namespace=TWO, key="meanwhile", value=1)
            done.append(made.key)
        finally:
            connection.close()

    with tenant([ann.team.pk]):
        brought(ann, told, dry_run=True)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(elsewhere).result(LIMIT)

    assert done == ["meanwhile"]


def _crossed(person: Person, first: str, second: str, both: Barrier) -> Callable[[], int]:
    """Locks one, waits until the other has locked the other, and wants that: a deadlock for sure, the first time."""
    tries = 0

    def act() -> int:
        nonlocal tries
        tries += 1
        with tenant([person.team.pk]):
            rows.lock_namespace(person.team.pk, first)
            if tries == 1:
                both.wait(LIMIT)
            rows.lock_namespace(person.team.pk, second)
        return tries

    return act


def test_deadlock_ends_one_and_that_one_is_tried_again(ann: Person) -> None:
    both = Barrier(2)
    acts = [retry_on_conflict(_crossed(ann, *pair, both)) for pair in ((ONE, TWO), (TWO, ONE))]

    def run(act: Callable[[], int]) -> int:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        tries = list(pool.map(run, acts))

    assert sorted(tries) == [1, 2]


def test_inside_somebody_elses_transaction_nothing_is_tried_again(ann: Person) -> None:
    both = Barrier(2)
    acts = [retry_on_conflict(_crossed(ann, *pair, both)) for pair in ((ONE, TWO), (TWO, ONE))]

    def run(act: Callable[[], int]) -> int | str | None:
        try:
            with tenant([ann.team.pk]):
                return act()
        except OperationalError as error:
            return find_conflict(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        tries = list(pool.map(run, acts))

    assert sorted(tries, key=str) == [1, "deadlock"]


def test_other_failures_and_the_last_deadlock_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.retry.time.sleep", lambda _seconds: None)
    tries = 0

    @retry_on_conflict
    def fails(error: Exception) -> None:
        nonlocal tries
        tries += 1
        raise OperationalError from error

    with pytest.raises(OperationalError):
        fails(RuntimeError("the server is gone"))
    assert tries == 1

    class Lost(Exception):
        sqlstate = "40001"

    with pytest.raises(OperationalError):
        fails(Lost())
    assert tries == 1 + len(RETRY_DELAYS) + 1


def test_first_limits_saved_twice_at_once_are_both_saved(ann: Person) -> None:
    def saves(most: int) -> Callable[[], Any]:
        apps = iter(f"app{number}" for number in range(ROUNDS))
        return lambda: change_limits(at_door(ann), Limits(max_entries=most), app_id=next(apps))

    wrong = at_the_same_time(saves(5), saves(7))

    assert wrong == []
    with tenant([ann.team.pk]):
        assert Policy.objects.unscoped().count() == ROUNDS
        told = AuditEntry.objects.unscoped().filter(action="memory.policy_changed")
        assert told.count() == 2 * ROUNDS


class Lost(Exception):
    sqlstate = "40P01"


def losing_once(work: Callable[..., Any]) -> Callable[..., Any]:
    """Works, and then the transaction is lost, the first time."""
    tries: list[None] = []

    def losing(*args: Any, **kwargs: Any) -> Any:
        done = work(*args, **kwargs)
        tries.append(None)
        if len(tries) == 1:
            raise OperationalError from Lost()
        return done

    return losing


@pytest.mark.usefixtures("in_redis")
def test_what_was_changed_elsewhere_is_not_changed_again_when_the_transaction_is_lost(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = in_run(ann, workflow_id="w1", group_id="g")
    remembers = partial(services.remember, run, scope="workflow", key="k", value="tea")
    forgets = partial(services.forget, run, scope="workflow", key="k")
    clears = partial(services.clear, run, scope="workflow")
    page = [{"title": "Tea", "content": "Green tea is best at eighty degrees."}]
    writes = partial(services.write_pages, run, scope="workflow", pages=page)
    record = gateway.record

    def lost(act: Callable[[], Any]) -> None:
        monkeypatch.setattr(gateway, "record", losing_once(record))
        with pytest.raises(ProviderError, match="could not be written into the trail"):
            act()
        monkeypatch.setattr(gateway, "record", record)

    lost(remembers)
    assert remembers().revision == 2
    lost(writes)
    lost(forgets)
    (found,) = services.recall(run, scope="workflow")
    assert (found.category, found.revision) == ("page", 1)
    remembers()
    lost(clears)
    assert services.recall(run, scope="workflow") == []
    monkeypatch.setattr(gateway, "record", losing_once(record))
    assert clears().count == 0  # nothing went: tried again, as ever


class Cleared:
    """A provider that has three memories of each namespace, once."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def clear_namespace(self, text: str) -> int:
        known = text in self.seen
        self.seen.add(text)
        return 0 if known else 3


@pytest.mark.parametrize("where", ["inside", "around"])
def test_receipt_counts_what_went_elsewhere_before_the_transaction_was_lost(
    ann: Person, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    services.remember(in_run(ann, user_id="ben@example.org"), scope="user", key="k", value="tea")
    there = Cleared()
    monkeypatch.setattr(
        erasing, "find_external_provider", lambda *_: SimpleNamespace(provider=there)
    )
    if where == "inside":
        monkeypatch.setattr(erasing, "_erase_namespaces", losing_once(erasing._erase_namespaces))
        receipt = erasing.erase(at_door(ann), subject="ben@example.org")
        assert receipt.tables["elsewhere"] == 3
        return
    monkeypatch.setattr(erasure_jobs, "_build_receipt", losing_once(erasure_jobs._build_receipt))
    row = erasure_jobs.order_erasure(
        at_door(ann),
        subject="ben@example.org",
        confirmation=erasure_jobs.get_confirmation_text("ben@example.org"),
    )
    run_erasure(row.team_id, row.pk)
    found = erasure_jobs.get_erasure(at_door(ann), row.pk)
    assert (found.status, (found.receipt or {})["tables"]["elsewhere"]) == ("done", 3)
