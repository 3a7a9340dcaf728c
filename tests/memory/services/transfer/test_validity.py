"""When an entry holds, and what it replaced, leave and come back with a file."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from tests.memory.services.conftest import at_door
from tests.memory.services.exchanging import SHARED, entry, exported, file_of, space
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

MOVED = datetime(2026, 5, 1, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def file(alice: Person) -> bytes:
    """The export of a home that changed."""
    door = at_door(alice)
    old = services.remember(door, namespace=SHARED, key="berlin", value="Berlin")
    new = services.remember(
        door, namespace=SHARED, key="lyon", value="Lyon", valid_from=MOVED, replaces=old.id
    )
    services.edit(door, entry_id=old.id, if_revision=1, valid_until=MOVED, replaced_by=new.id)
    return exported(services.export_namespace(door, namespace=SHARED))


def bring(person: Person, data: bytes, to: str, on_conflict: str = "theirs") -> Any:
    report = services.import_file(
        at_door(person), io.BytesIO(data), into={SHARED: to}, on_conflict=on_conflict, dry_run=False
    )
    assert (report.problems, report.refusals) == ([], [])
    (target,) = report.targets
    return target


def homes(person: Person, namespace: str) -> tuple[Entry, Entry]:
    with tenant([person.team.id]):
        rows = Entry.objects.unscoped().filter(namespace__text=namespace, deleted_at=None)
        old, new = rows.order_by("key")
    return old, new


def test_entries_point_to_each_other_where_they_are_brought(alice: Person, file: bytes) -> None:
    bring(alice, file, "global:new")

    old, new = homes(alice, "global:new")
    assert (old.valid_from, old.valid_until) == (None, MOVED)
    assert (new.valid_from, new.valid_until) == (MOVED, None)
    assert (old.replaced_by, new.replaces) == (str(new.pk), str(old.pk))
    found = services.recall(at_door(alice), namespace="global:new")
    assert [hit.key for hit in found] == ["lyon"]


def test_file_that_is_brought_again_changes_nothing(alice: Person, file: bytes) -> None:
    bring(alice, file, "global:new")

    for namespace in ("global:new", SHARED):
        target = bring(alice, file, namespace)
        assert (target.same_count, target.overwritten_count, target.new_count) == (2, 0, 0)
        old, new = homes(alice, namespace)
        assert (old.replaced_by, new.replaces) == (str(new.pk), str(old.pk))


def test_entry_whose_key_exists_is_pointed_to_by_its_own_id(alice: Person, file: bytes) -> None:
    here = services.remember(at_door(alice), namespace="global:new", key="berlin", value="Bonn")

    bring(alice, file, "global:new")

    old, new = homes(alice, "global:new")
    assert str(old.pk) == here.id == new.replaces
    assert (old.value, old.valid_until, old.replaced_by) == ("Berlin", MOVED, str(new.pk))


REFUSED = [
    ({"valid_from": "2026-05-01T10:00:00"}, "valid_from"),
    ({"valid_until": "12345-01-01T00:00:00Z"}, "valid_until"),
    ({"valid_from": "2026-05-02T00:00:00Z", "valid_until": "2026-05-01T00:00:00Z"}, "valid_until"),
    ({"replaces": "a sentence"}, "replaces"),
    ({"replaced_by": None}, "replaced_by"),
]


@pytest.mark.parametrize(("changes", "field"), REFUSED)
def test_validity_that_makes_no_sense_is_named_by_line(
    alice: Person, changes: dict[str, Any], field: str
) -> None:
    file = file_of(space(), entry(**changes))

    report = services.import_file(at_door(alice), file, dry_run=True)

    assert [(problem.line, problem.field) for problem in report.problems] == [(3, field)]
