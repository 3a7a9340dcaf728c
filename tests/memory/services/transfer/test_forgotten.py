"""What was forgotten here stays forgotten when a file is imported, unless somebody asks for it."""

import io

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Erasure
from memory.services.erasure.erasure_jobs import order_erasure
from memory.upkeep.erasure import run_erasure
from tests.memory.services.conftest import at_door
from tests.memory.services.exchanging import SHARED, brought, entry, exported, file_of, space
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

GATES = [f"gate{number}" for number in range(1, 6)]


@pytest.fixture
def file(alice: Person) -> bytes:
    """The export of five entries, of which two are forgotten afterwards."""
    for key in GATES:
        services.remember(at_door(alice), namespace=SHARED, key=key, value=f"{key} opens")
    data = exported(services.export_namespace(at_door(alice), namespace=SHARED))
    for key in ("gate2", "gate4"):
        services.forget(at_door(alice), namespace=SHARED, key=key)
    return data


def keys(person: Person, namespace: str = SHARED) -> list[str]:
    return sorted(hit.key for hit in services.recall(at_door(person), namespace=namespace))


@pytest.mark.parametrize("on_conflict", ["newer", "mine", "theirs"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_entries_forgotten_since_the_export_stay_forgotten_and_are_named(
    alice: Person, file: bytes, on_conflict: str, dry_run: bool
) -> None:
    report = brought(alice, io.BytesIO(file), on_conflict=on_conflict, dry_run=dry_run)

    assert (report.new_count, report.same_count, report.forgotten_count) == (0, 3, 2)
    named = {refusal.key: refusal.why for refusal in report.refusals}
    assert sorted(named) == ["gate2", "gate4"]
    assert all(why.startswith("Forgotten here on ") for why in named.values())
    assert keys(alice) == ["gate1", "gate3", "gate5"]


def test_entries_come_back_where_somebody_asks_for_it(alice: Person, file: bytes) -> None:
    report = brought(alice, io.BytesIO(file), restore=True)

    assert (report.new_count, report.forgotten_count, report.refusals) == (2, 0, [])
    assert keys(alice) == GATES


def test_copy_in_another_namespace_knows_what_was_forgotten_there(
    alice: Person, file: bytes
) -> None:
    into = {SHARED: "global:copy"}
    assert brought(alice, io.BytesIO(file), into=into).new_count == 5
    services.forget(at_door(alice), namespace="global:copy", key="gate1")

    report = brought(alice, io.BytesIO(file), into=into)

    assert [refusal.key for refusal in report.refusals] == ["gate1"]
    assert keys(alice, "global:copy") == GATES[1:]


def test_import_that_was_undone_can_be_made_again(alice: Person, file: bytes) -> None:
    into = {SHARED: "global:copy"}
    first = brought(alice, io.BytesIO(file), into=into)
    services.undo_import(at_door(alice), changes=first.changes)
    assert keys(alice, "global:copy") == []

    assert brought(alice, io.BytesIO(file), into=into).new_count == 5
    assert keys(alice, "global:copy") == GATES


def test_another_entry_with_that_key_which_was_written_later_is_new(
    alice: Person, file: bytes
) -> None:
    at = "2126-01-01T00:00:00Z"
    later = entry("gate2", 7, value="opens at night", created_at=at, updated_at=at)

    report = brought(alice, file_of(space(), later))

    assert (report.new_count, report.forgotten_count) == (1, 0)
    assert "gate2" in keys(alice)


def test_erased_person_comes_back_only_where_somebody_asks_for_it(
    cast: Cast,
) -> None:
    owner, ben = at_door(cast.alice), "user:ben@example.org"
    line = entry("k", 1, namespace=ben)
    data = file_of(space(ben) | {"scope": "user"}, line)
    into = {ben: f"user:{cast.alice.user.pk}"}
    brought(cast.alice, data, into=into)
    order_erasure(owner, subject=str(cast.alice.user.pk), confirmation=cast.alice.user.email)
    with tenant([cast.team_a.pk]):
        row = Erasure.objects.unscoped().get()
    run_erasure(row.team_id, row.pk)

    kept_out = brought(cast.alice, data, into=into)
    restored = brought(cast.alice, data, into=into, restore=True)

    assert (kept_out.new_count, kept_out.forgotten_count) == (0, 1)
    assert kept_out.refusals[0].why.startswith("The person was erased here on ")
    assert (restored.new_count, restored.forgotten_count) == (1, 0)
