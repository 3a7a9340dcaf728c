"""Django's admin of accounts: what a role may not see on the pages, its holder doesn't see there either."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import reverse

from accounts.services import create_invitation
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["invitation", "apikey", "auditentry", "audithead"])
@pytest.mark.parametrize(("who", "sees"), [("ada", True), ("bob", False), ("vic", False)])
def test_what_admins_manage_is_shown_to_them_alone(
    cast: Cast, api_key: object, name: str, who: str, sees: bool
) -> None:
    create_invitation(cast.ada.principal, team=cast.team_a, role="viewer", email="")
    api_key(cast.ada)  # type: ignore[operator]  # a fixture's function
    person = cast.people[who]
    person.user.is_staff = person.user.is_superuser = True
    person.user.save()

    listed = person.client.get(reverse(f"admin:accounts_{name}_changelist"))

    assert (listed.status_code, listed.context["cl"].result_count > 0) == (200, sees)


def test_admin_has_our_models_alone() -> None:
    """Whose rows a library keeps, no wall of ours guards: an address added there is a way into an account."""
    for app in apps.get_app_configs():
        if app.label not in ("accounts", "memory", "workflows"):
            assert [one for one in app.get_models() if admin.site.is_registered(one)] == []


def test_address_of_an_account_is_not_changed_there(cast: Cast) -> None:
    cast.ada.user.is_staff = cast.ada.user.is_superuser = True
    cast.ada.user.save()
    page = reverse("admin:accounts_user_change", args=[cast.bob.user.pk])

    done = cast.ada.client.post(page, {"email": "mine@example.org", "name": "Bob", "locale": "", "is_active": "on"})  # fmt: skip

    cast.bob.user.refresh_from_db()
    assert (done.status_code, cast.bob.user.email) == (302, "bob@example.org")
