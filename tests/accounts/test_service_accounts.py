"""A service account owns what its keys open: keys come and go, and nothing is lost or opened to another account."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.errors import InvalidChoice, NotAllowed, NotFound
from accounts.models import ApiKey, AuditEntry, ServiceAccount
from accounts.services import issue_key, list_service_accounts, revoke_key, rotate_key
from accounts.services.keys import authenticate_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

SCOPES = ["runs:read", "runs:write"]


def issue(person: Person, name: str = "web site", **options: Any) -> tuple[ApiKey, str]:
    return issue_key(
        principal=person.principal, team=person.team, name=name, scopes=SCOPES, **options
    )


def test_first_key_has_a_new_account_of_its_name(alice: Person) -> None:
    first, _secret = issue(alice)
    second, _secret = issue(alice)

    assert first.service_account_id != second.service_account_id
    with tenant([alice.team.id]):
        accounts = list_service_accounts(alice.principal, alice.team)
        assert [row.name for row in accounts] == ["web site", "web site"]


def test_keys_of_a_workflow_share_its_account(alice: Person) -> None:
    workflow, other = make_workflow(alice), make_workflow(alice)

    keys = [issue(alice, workflow_id=each.pk)[0] for each in (workflow, workflow, other)]

    accounts = [key.service_account_id for key in keys]
    assert (accounts[0] == accounts[1], accounts[0] == accounts[2]) == (True, False)


def test_account_is_chosen_by_its_id_and_only_for_the_same_workflow(
    alice: Person, cast: Cast
) -> None:
    first, _secret = issue(alice)
    chosen, _secret = issue(alice, "second", service_account_id=first.service_account_id)
    foreign, _secret = issue(cast.carol)

    assert chosen.service_account_id == first.service_account_id
    with pytest.raises(InvalidChoice):
        issue(
            alice,
            workflow_id=make_workflow(alice).pk,
            service_account_id=first.service_account_id,
        )
    with pytest.raises(NotFound):
        issue(alice, service_account_id=foreign.service_account_id)


def test_rotated_key_keeps_rights_limits_lifetime_and_account(alice: Person) -> None:
    ends = timezone.now() + dt.timedelta(days=90)
    old, old_secret = issue(alice, expires_at=ends, limits={"runs_per_day": 5}, history="client")

    with time_machine.travel(timezone.now() + dt.timedelta(days=60)):
        new, secret = rotate_key(alice.principal, key_id=old.pk)
        works = [authenticate_key(old_secret) is not None, authenticate_key(secret) is not None]

    assert works == [False, True]
    assert (new.name, new.scopes, new.runs_per_day) == (old.name, old.scopes, 5)
    assert new.history == "client"
    assert new.service_account_id == old.service_account_id
    assert new.expires_at is not None
    assert abs(new.expires_at - new.created_at - dt.timedelta(days=90)) < dt.timedelta(minutes=1)
    with tenant([alice.team.id]):
        entry = AuditEntry.objects.unscoped().filter(action="key.rotated").get()
        assert entry.subject == f"key:{old.pk}"


def test_overlap_of_more_than_a_month_is_refused_by_name(alice: Person) -> None:
    old, _secret = issue(alice)

    with pytest.raises(InvalidChoice, match="30 days at most") as refused:
        rotate_key(alice.principal, key_id=old.pk, overlap=dt.timedelta(days=31))

    assert refused.value.field == "overlap"


def test_replaced_key_works_for_the_overlap_and_then_ends(alice: Person) -> None:
    old, old_secret = issue(alice)

    rotate_key(alice.principal, key_id=old.pk, overlap=dt.timedelta(hours=24))

    assert authenticate_key(old_secret) is not None
    with time_machine.travel(timezone.now() + dt.timedelta(hours=25)):
        assert authenticate_key(old_secret) is None


def test_key_that_ended_cannot_be_rotated_nor_one_of_others(
    alice: Person, bob: Person, cast: Cast
) -> None:
    old, _secret = issue(alice)
    foreign, _secret = issue(cast.carol)
    with pytest.raises(NotAllowed):
        rotate_key(bob.principal, key_id=old.pk)
    with pytest.raises(NotFound):
        rotate_key(alice.principal, key_id=foreign.pk)
    revoke_key(alice.principal, key_id=old.pk)

    with pytest.raises(InvalidChoice):
        rotate_key(alice.principal, key_id=old.pk)


def test_account_of_a_workflow_goes_with_it(alice: Person) -> None:
    workflow = make_workflow(alice)
    issue(alice, workflow_id=workflow.pk)

    with tenant([alice.team.id]):
        workflow.delete()
        assert not ServiceAccount.objects.unscoped().filter(team=alice.team).exists()
