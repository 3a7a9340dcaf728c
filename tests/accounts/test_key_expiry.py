"""Keys that are about to expire are told of in time: on the home page, and once by mail."""

import datetime as dt
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from accounts.models import ApiKey
from accounts.services import issue_key, list_expiring_keys, rotate_key
from accounts.services.key_expiry import mail_expiring_keys
from accounts.tenancy import tenant
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_server(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PUBLIC_URL = "https://mnemo.example"


def issue(person: Person, days: float | None, name: str = "web site") -> ApiKey:
    ends = None if days is None else timezone.now() + dt.timedelta(days=days)
    return issue_key(
        principal=person.principal,
        team=person.team,
        name=name,
        scopes=["runs:read"],
        expires_at=ends,
    )[0]


def expiring(person: Person) -> list[str]:
    with tenant([person.team.id]):
        return [key.name for key in list_expiring_keys(person.principal, person.team.id)]


def test_only_keys_that_end_soon_are_shown_and_only_to_those_who_may_replace_them(
    alice: Person, bob: Person
) -> None:
    issue(alice, 13, "soon")
    issue(alice, 15, "later")
    issue(alice, None, "never")
    replaced = issue(alice, 5, "replaced")
    rotate_key(alice.principal, key_id=replaced.pk, overlap=dt.timedelta(days=1))

    # The lifetime of the new one is as short as that of the old one.
    assert expiring(alice) == ["replaced", "soon"]
    assert expiring(bob) == []


def test_creator_is_mailed_once_with_the_link_that_replaces_the_key(alice: Person) -> None:
    key = issue(alice, 3)

    assert (mail_expiring_keys(), mail_expiring_keys()) == (1, 0)

    (message,) = mail.outbox
    assert message.to == [alice.user.email]
    assert "web site" in message.subject
    assert f"https://mnemo.example/team/keys/{key.pk}/rotate/" in message.body


def test_those_who_manage_keys_are_mailed_if_the_creator_may_not_any_more(
    alice: Person, cast: Cast
) -> None:
    key = issue(alice, 3)
    with tenant([alice.team.id]):
        ApiKey.objects.unscoped().filter(pk=key.pk).update(created_by=cast.bob.user)

    mail_expiring_keys()

    receivers = {address for message in mail.outbox for address in message.to}
    assert alice.user.email in receivers
    assert cast.bob.user.email not in receivers


def test_mail_that_fails_is_sent_again_and_none_without_a_mail_server(
    alice: Person, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue(alice, 3)

    def fail(self: object) -> int:
        raise OSError("refused")

    with monkeypatch.context() as patch:
        patch.setattr("accounts.mail.EmailMessage.send", fail)
        assert mail_expiring_keys() == 0
    settings.PUBLIC_URL = ""
    assert mail_expiring_keys() == 0
    settings.PUBLIC_URL = "https://mnemo.example"

    assert mail_expiring_keys() == 1


def test_home_leads_to_the_page_that_replaces_the_key(alice: Person) -> None:
    key = issue(alice, 3)

    page = alice.client.get("/").content.decode()

    assert f"/team/keys/{key.pk}/rotate/" in page
    assert "API key “web site”" in page
