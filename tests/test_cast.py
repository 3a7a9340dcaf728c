"""The cast that a test gets is the one that the services make."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry, Membership, Team, User
from accounts.tenancy import tenant
from tests.support.cast import Cast, RecordedCast, make_cast, signed_in


pytestmark = pytest.mark.django_db

# Without ids, times, the password that nobody has, and the chain of hashes over them.
COLUMNS: dict[Any, tuple[str, ...]] = {
    User: ("email", "name", "is_active", "is_staff", "is_superuser", "locale"),
    Team: ("slug", "name"),
    Membership: ("team__slug", "user__email", "role"),
    AuditEntry: ("seq", "action", "actor_kind", "success"),
}


def read_rows(cast: Cast) -> dict[str, list[tuple[Any, ...]]]:
    with tenant([cast.team_a.pk, cast.team_b.pk]):
        return {
            model.__name__: sorted(model._default_manager.values_list(*columns))
            for model, columns in COLUMNS.items()
        }


def test_repeated_cast_is_what_the_services_make(recorded_cast: RecordedCast) -> None:
    with transaction.atomic():
        made = read_rows(make_cast())
        transaction.set_rollback(True)

    assert read_rows(recorded_cast.repeat()) == made
    assert all(made.values())


def test_repeated_cast_has_ids_of_its_own(recorded_cast: RecordedCast) -> None:
    with transaction.atomic():
        first = recorded_cast.repeat()
        transaction.set_rollback(True)
    second = recorded_cast.repeat()

    assert first.alice.team is first.team_a is first.bob.team
    assert not {first.team_a.pk, first.alice.user.pk} & {second.team_a.pk, second.alice.user.pk}
    assert second.alice.principal.team_ids == {second.team_a.pk}


def test_browser_of_a_person_has_the_session_of_a_sign_in(cast: Cast) -> None:
    by_django = Client()
    by_django.force_login(cast.alice.user, "allauth.account.auth_backends.AuthenticationBackend")

    with CaptureQueriesContext(connection) as statements:
        browser = signed_in(cast.alice.user)

    assert len(statements) == 1
    assert dict(browser.session) == dict(by_django.session)
