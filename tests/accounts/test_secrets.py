"""What lets somebody in: invitations, API keys, start links."""

import datetime as dt

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext
from psycopg.errors import UndefinedTable

from accounts import services
from accounts.access import can
from accounts.errors import InvalidChoice, InvitationUnusable, NotAllowed, StartTokenUnusable
from accounts.models import ApiKey, AuditEntry, StartToken, Team, User
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def invite(cast, **options):
    return services.create_invitation(
        cast.ada.principal, team=cast.team_a, role="viewer", **options
    )


def later(**delta):
    return time_machine.travel(timezone.now() + dt.timedelta(**delta), tick=False)


def test_invitation_accepted_makes_a_member_once(cast):
    _row, token = invite(cast)

    made = services.accept_invitation(user=cast.carol.user, token=token)

    assert (made.team_id, made.role) == (cast.team_a.id, "viewer")
    with pytest.raises(InvitationUnusable):
        services.accept_invitation(user=User.objects.create_user("dan@example.org"), token=token)


def test_invitation_expired_is_refused(cast):
    _row, token = invite(cast)

    with later(days=8), pytest.raises(InvitationUnusable):
        services.accept_invitation(user=cast.carol.user, token=token)


def test_invitation_revoked_is_refused(cast):
    row, token = invite(cast)

    services.revoke_invitation(cast.ada.principal, invitation_id=row.id)

    with pytest.raises(InvitationUnusable):
        services.accept_invitation(user=cast.carol.user, token=token)


def test_invitation_with_a_wrong_token_is_refused(cast):
    with pytest.raises(InvitationUnusable):
        services.find_invitation("x" * 43)


def test_invitation_for_one_address_refuses_another(cast):
    _row, token = invite(cast, email="dan@example.org")

    with pytest.raises(NotAllowed, match="a different email address"):
        services.accept_invitation(user=cast.carol.user, token=token)


def test_invitation_as_owner_by_an_admin_is_refused(cast):
    with pytest.raises(NotAllowed):
        services.create_invitation(cast.ada.principal, team=cast.team_a, role="owner")


def test_sign_up_without_an_invitation_is_closed(cast, settings):
    settings.SIGNUP_OPEN = False

    answer = Client().post(reverse("account_signup"), SIGN_UP)

    assert "account/signup_closed.html" in [t.name for t in answer.templates]
    assert not User.objects.filter(email=SIGN_UP["email"]).exists()


SIGN_UP = {
    "name": "Dan",
    "email": "Dan@example.org",
    "password1": "four plain words here",
    "password2": "four plain words here",
}


def test_sign_up_with_an_invitation_joins_its_team(cast, settings):
    settings.SIGNUP_OPEN = False
    _row, token = invite(cast)
    browser = Client()
    browser.get(reverse("accounts:invitation", args=[token]))

    answer = browser.post(reverse("account_signup"), SIGN_UP)

    user = User.objects.get(email="dan@example.org")
    assert (answer.status_code, user.name, user.is_superuser) == (302, "Dan", False)
    with tenant([cast.team_a.id]):
        assert [m.role for m in user.memberships.all()] == ["viewer"]


def test_audit_trail_names_the_network_of_a_start_link(db):
    path = services.prepare_first_run()

    Client().get(path, REMOTE_ADDR="2001:db8:1:2::7")

    user = User.objects.get()
    team_ids = load_user_principal(user).team_ids
    with tenant(team_ids):
        entry = AuditEntry.objects.unscoped().get(action="signin.start_token")
    assert entry.detail == {"network": "2001:db8:1:2::/64"}


def test_first_sign_in_puts_the_names_of_the_demo_into_the_language_of_the_browser(
    db, monkeypatch: pytest.MonkeyPatch
):
    words = {"Demo user": "演示用户", "My team": "我的团队"}
    monkeypatch.setattr("accounts.services.firstrun.gettext", words.__getitem__)
    Client().get(services.prepare_first_run())

    user = User.objects.get()
    assert (user.name, Team.objects.get().name) == ("演示用户", "我的团队")


def test_later_sign_in_changes_no_name(db, monkeypatch: pytest.MonkeyPatch):
    Client().get(services.prepare_first_run())
    monkeypatch.setattr("accounts.services.firstrun.gettext", str.upper)
    Client().get(services.prepare_first_run())

    user = User.objects.get()
    assert (user.name, Team.objects.get().name) == ("Demo user", "My team")


@pytest.mark.parametrize("is_open", [False, True])
def test_whoever_comes_first_to_a_site_without_an_owner_gets_no_account(db, settings, is_open):
    settings.SIGNUP_OPEN = is_open

    answer = Client().post(reverse("account_signup"), SIGN_UP)

    assert "account/signup_closed.html" in [t.name for t in answer.templates]
    assert not User.objects.exists()


def test_page_to_sign_in_says_that_there_is_no_owner_and_later_how_to_get_a_new_link(db):
    before = Client().get(reverse("account_login")).content.decode()
    services.prepare_first_run()
    after = Client().get(reverse("account_login")).content.decode()

    without_owner, without_password = "This site has no owner yet.", "No password yet?"
    assert [before.count(text) for text in (without_owner, without_password)] == [1, 0]
    assert [after.count(text) for text in (without_owner, without_password)] == [0, 1]
    assert [page.count("manage.py owner_link") for page in (before, after)] == [1, 1]


def test_command_says_that_the_database_has_no_tables(monkeypatch: pytest.MonkeyPatch):
    def fail() -> str:
        raise ProgrammingError from UndefinedTable("relation does not exist")

    monkeypatch.setattr("accounts.management.commands.owner_link.prepare_first_run", fail)

    with pytest.raises(CommandError, match=r"no tables yet: run manage\.py migrate"):
        call_command("owner_link")


def test_command_prints_a_link_that_makes_the_owner_once(db, capsys):
    call_command("owner_link", url="https://flows.example.org/")

    link = capsys.readouterr().out.strip()
    path = link.removeprefix("https://flows.example.org")
    browser, late = Client(), Client()
    statuses = [visitor.get(path).status_code for visitor in (browser, late)]
    assert statuses == [302, 410]
    assert browser.get(reverse("accounts:welcome")).status_code == 200
    assert User.objects.get().is_superuser


def test_command_prints_the_address_of_the_site_that_runs(db, settings, capsys, monkeypatch):
    monkeypatch.setattr(
        "config.embedded.address.read_running_address", lambda locks: "http://127.0.0.1:8311"
    )

    call_command("owner_link")

    assert capsys.readouterr().out.startswith("http://127.0.0.1:8311/")


def test_person_who_signs_up_at_an_open_site_is_no_administrator(db, settings):
    settings.SIGNUP_OPEN = True
    services.prepare_first_run()

    Client().post(reverse("account_signup"), SIGN_UP)

    assert not User.objects.get(email="dan@example.org").is_superuser


def test_key_secret_is_stored_as_a_hash_only(cast):
    key, secret = services.issue_key(
        principal=cast.ada.principal, team=cast.team_a, name="ci", scopes={"runs:read"}
    )

    with tenant([cast.team_a.id]), connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM accounts_apikey k WHERE id = %s", [key.id])
        stored = cursor.fetchone()[0]
    assert secret.startswith("mf_")
    assert len(secret) >= 46
    assert secret not in stored
    assert secret[3:] not in stored
    assert key.prefix == secret[:9]


def test_key_used_acts_for_its_team_within_its_scopes(cast):
    key, secret = services.issue_key(
        principal=cast.ada.principal, team=cast.team_a, name="ci", scopes={"runs:read"}
    )

    principal = services.authenticate_key(secret)

    assert principal is not None
    assert (principal.actor, principal.team_ids) == (
        f"key:{key.id}",
        frozenset({cast.team_a.id}),
    )
    assert can(principal, "run.view", cast.team_a)
    assert not can(principal, "run.cancel", cast.team_a)
    assert not can(principal, "key.manage", cast.team_a)
    assert not can(principal, "run.view", cast.team_b)


def test_key_used_notes_when(cast):
    key, secret = services.issue_key(
        principal=cast.ada.principal, team=cast.team_a, name="ci", scopes={"runs:read"}
    )

    services.authenticate_key(secret)

    with tenant([cast.team_a.id]):
        assert ApiKey.objects.unscoped().get(pk=key.id).last_used_at is not None


def test_key_expired_is_nobody(cast):
    _key, secret = services.issue_key(
        principal=cast.ada.principal,
        team=cast.team_a,
        name="ci",
        scopes={"runs:read"},
        expires_at=timezone.now() + dt.timedelta(hours=1),
    )

    assert services.authenticate_key(secret) is not None
    with later(hours=2):
        assert services.authenticate_key(secret) is None


def test_key_revoked_is_nobody(cast, api_key):
    client = api_key(cast.alice)
    before = client.get("/api/v1/me").status_code

    services.revoke_key(cast.ada.principal, key_id=client.key.id)

    assert (before, client.get("/api/v1/me").status_code) == (200, 401)


@pytest.mark.parametrize(
    "secret", ["", "mf_", "mf_" + "x" * 43, "x" * 43, "mf_\u00e9", "app-", "app-" + "x" * 24]
)
def test_key_that_is_none_is_nobody(cast, secret):
    assert services.authenticate_key(secret) is None


@pytest.mark.parametrize("scopes", [set(), {"everything"}, {"runs:read", "root"}])
def test_key_with_scopes_that_are_none_is_refused(cast, scopes):
    with pytest.raises(InvalidChoice):
        services.issue_key(principal=cast.ada.principal, team=cast.team_a, name="x", scopes=scopes)


def test_key_refused_beside_a_session_is_not_the_session(cast):
    browser = cast.alice.client

    answer = browser.get("/api/v1/me", headers={"Authorization": "Bearer mf_wrong"})

    assert answer.status_code == 401


def test_session_writing_to_the_api_needs_the_csrf_token(cast):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(
        cast.alice.user, backend="allauth.account.auth_backends.AuthenticationBackend"
    )

    answer = browser.patch(
        f"/api/v1/teams/{cast.team_a.id}", {"name": "x"}, content_type="application/json"
    )

    assert answer.status_code == 403


def test_key_page_shows_the_secret_once(cast):
    browser = cast.ada.client

    made = browser.post(
        reverse("accounts:keys"), {"name": "ci", "scopes": ["runs:read"], "days": "30"}
    )
    again = browser.get(reverse("accounts:keys"))

    secret = made.context["secret"]
    assert secret.encode() in made.content
    assert secret.encode() not in again.content
    assert secret[:9].encode() in again.content


def test_first_run_makes_an_owner_and_a_link_that_works_once(db):
    path = services.prepare_first_run()
    browser = Client()

    first, second = browser.get(path), Client().get(path)

    owner = User.objects.get()
    assert (first.status_code, second.status_code) == (302, 410)
    assert browser.session["_auth_user_id"] == str(owner.pk)
    assert not owner.has_usable_password()
    assert str(owner) == "Demo user"  # others see this beside what they do, not an address


def test_first_run_again_makes_a_new_link_and_ends_the_old(db):
    old = services.prepare_first_run()
    new = services.prepare_first_run()

    assert (User.objects.count(), StartToken.objects.count()) == (1, 1)
    assert (Client().get(old).status_code, Client().get(new).status_code) == (410, 302)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_start_link_used_up_says_what_to_do(db, language):
    address = services.prepare_first_run()
    Client().get(address)

    answer = Client(headers={"accept-language": language}).get(address)

    page = markup_of(answer)
    with translation.override(language):
        words = [gettext("This link no longer works"), gettext("Sign in"), "<pre", "make run"]
    assert (answer.status_code, answer["Content-Language"]) == (410, language)
    assert [word for word in words if word not in page] == []
    assert f'href="{reverse("account_login")}"' in page


def test_start_link_used_up_leads_on_whom_it_signed_in(db):
    browser = Client()
    address = services.prepare_first_run()
    browser.get(address)

    answer = browser.get(address)

    page = markup_of(answer)
    assert answer.status_code == 410
    assert "you are already signed in" in page
    assert 'href="/samples/"' in page
    assert "make run" not in page


def test_start_link_expired_is_refused(db):
    token = services.prepare_first_run().split("/")[-2]

    with later(hours=13), pytest.raises(StartTokenUnusable):
        services.redeem_start_token(token)


def test_welcome_form_gives_the_demo_owner_a_password(db):
    browser = Client()
    browser.get(services.prepare_first_run())

    answer = browser.post(
        reverse("accounts:welcome"),
        {"name": "Ana", "email": "Ana@example.org", "password": "four plain words here"},
    )

    owner = User.objects.get()
    assert (answer.status_code, owner.email, owner.name) == (302, "ana@example.org", "Ana")
    assert owner.check_password("four plain words here")
    assert browser.session["_auth_user_id"] == str(owner.pk)


def test_key_is_told_what_it_is_and_may(cast, api_key):
    me = api_key(cast.alice, scopes={"memory:read"}).get("/api/v1/me").json()

    assert (me["kind"], me["teams"][0]["name"]) == ("key", cast.team_a.name)
    assert me["name"] == me["key"]["name"]
    assert (me["key"]["scopes"], me["key"]["expires_at"]) == (["memory:read"], None)
    assert "secret" not in me["key"]
    assert cast.alice.client.get("/api/v1/me").json()["key"] is None
