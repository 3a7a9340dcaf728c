"""Taking back an act some of whose entries came to their end since: that is nobody's change."""

from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.logic.review.proposal_execution import OutdatedProposal
from memory.models import Entry
from memory.services.entries.bulk import BulkAction, Selection, apply_action
from memory.services.entries.bulk_edit import Amendment
from memory.services.recall.search import EntrySearch
from memory.upkeep.expiry import expire_all_teams
from tests.memory.services.conftest import at_door
from tests.memory.services.exchanging import SHARED, brought, entry, file_of, space
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

DAY = Amendment(sets_expiry=True, lives_seconds=86_400)
SOON = timedelta(hours=12)
LATER = timedelta(days=2)


def after(time: timedelta) -> Any:
    return mock.patch(
        "memory.services.gateway.gateway.timezone.now", return_value=timezone.now() + time
    )


def told(moment: datetime) -> str:
    return moment.isoformat()


def living(person: Person) -> list[tuple[str, Any]]:
    with tenant([person.team.pk]):
        found = Entry.objects.unscoped().filter(deleted_at=None).order_by("key")
        return list(found.values_list("key", "value"))


def store(person: Person, key: str, value: str = "v") -> None:
    services.remember(at_door(person), namespace=SHARED, key=key, value=value)


def given_a_day(person: Person, count: int) -> str:
    chosen = Selection(SHARED, search=EntrySearch())
    made = apply_action(
        at_door(person), action=BulkAction.EXPIRY, selection=chosen, expected=count, amendment=DAY
    )  # fmt: skip
    return str(made)


@pytest.mark.parametrize("swept", [True, False])
def test_import_of_which_one_ended_is_undone(alice: Person, swept: bool) -> None:
    store(alice, "mine")
    tomorrow = told(timezone.now() + timedelta(days=1))
    file = file_of(space(), entry("stays"), entry("ends", 2, expires_at=tomorrow))
    report = brought(alice, file)
    assert len(living(alice)) == 3
    if swept:
        assert expire_all_teams(timezone.now() + LATER) == 1

    with after(LATER):
        services.undo_import(at_door(alice), changes=report.changes)

    assert living(alice) == [("mine", "v")]


def test_act_over_many_of_which_some_ended_is_undone_but_for_what_was_replaced(
    alice: Person,
) -> None:
    for key in ("a", "b", "c"):
        store(alice, key)
    change = given_a_day(alice, 3)
    assert expire_all_teams(timezone.now() + LATER) == 3
    with after(LATER):
        store(alice, "b", "anew")

        services.undo(at_door(alice), change_id=change)

    assert living(alice) == [("a", "v"), ("b", "anew"), ("c", "v")]
    with tenant([alice.team.pk]):
        assert not Entry.objects.unscoped().filter(deleted_at=None).exclude(expires_at=None)


def test_act_is_not_undone_where_somebody_changed_what_ended_then(alice: Person) -> None:
    store(alice, "a")
    store(alice, "b")
    change = given_a_day(alice, 2)
    with after(SOON):
        services.remember(
            at_door(alice), namespace=SHARED, key="a", value="else", ttl_seconds=3600
        )  # fmt: skip
    assert expire_all_teams(timezone.now() + LATER) == 2

    with after(LATER), pytest.raises(OutdatedProposal, match="a"):
        services.undo(at_door(alice), change_id=change)

    assert living(alice) == []


def test_what_is_over_already_is_no_longer_imported(alice: Person) -> None:
    over = told(timezone.now() - timedelta(days=1))
    file = file_of(space(), entry("over", expires_at=over), entry("new", 2))

    report = brought(alice, file)

    assert (report.new_count, report.refused_count) == (1, 1)
    assert [(one.key, one.why) for one in report.refusals] == [("over", "Already expired.")]
    assert living(alice) == [("new", "v")]
