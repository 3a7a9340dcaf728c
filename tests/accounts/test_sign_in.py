"""Signing in and out: one answer for all, and sessions that end. ``test_sign_in_delays`` has the limits."""

import pytest
from django.contrib.auth.hashers import identify_hasher
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accounts.models import Role, User
from accounts.principals import TEAM_IN_SESSION
from accounts.tenancy import tenant


pytestmark = pytest.mark.django_db

PASSWORD = "four plain words here"


@pytest.fixture
def ana(db) -> User:
    return User.objects.create_user("ana@example.org", PASSWORD, name="Ana")


def sign_in(email, password, client=None):
    return (client or Client()).post(
        reverse("account_login"), {"login": email, "password": password}
    )


def text_of(answer):
    """What the form says, without the token that differs on each page."""
    return [str(error) for errors in answer.context["form"].errors.values() for error in errors]


def test_right_password_signs_in_whatever_the_case_of_the_address(ana):
    answer = sign_in("Ana@Example.org", PASSWORD)

    assert answer.status_code == 302


def test_wrong_password_and_unknown_person_get_the_same_answer(ana):
    wrong, unknown = sign_in("ana@example.org", "no"), sign_in("nobody@example.org", "no")

    assert (wrong.status_code, text_of(wrong)) == (unknown.status_code, text_of(unknown))
    assert text_of(wrong) != []


def test_sign_out_ends_the_session_on_the_server(ana):
    browser = Client()
    sign_in("ana@example.org", PASSWORD, browser)
    stolen = browser.cookies["mnemoflow_session"].value

    browser.post(reverse("account_logout"))

    assert not Session.objects.filter(session_key=stolen).exists()
    thief = Client()
    thief.cookies["mnemoflow_session"] = stolen
    assert thief.get("/api/v1/me").status_code == 401


def test_sign_in_gives_the_session_a_new_key(ana):
    browser = Client()
    browser.get(reverse("account_login"))
    session = browser.session
    session["kept"] = 1
    session.save()
    before = session.session_key

    sign_in("ana@example.org", PASSWORD, browser)

    assert browser.session.session_key != before


def test_sign_out_by_get_does_nothing(ana):
    browser = Client()
    sign_in("ana@example.org", PASSWORD, browser)

    browser.get(reverse("account_logout"))

    assert "_auth_user_id" in browser.session


def test_password_is_stored_with_argon2(settings, db):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]

    user = User.objects.create_user("dan@example.org", PASSWORD)

    assert identify_hasher(user.password).algorithm == "argon2"


def test_person_of_two_teams_switches_between_them(cast):
    from accounts.services import add_member

    add_member(team=cast.team_b, user=cast.bob.user, role=Role.VIEWER)
    browser = cast.bob.client
    seen = []
    for team in (cast.team_b, cast.team_a):
        browser.post(reverse("accounts:switch_team"), {"team": str(team.id)})
        seen.append(browser.get("/api/v1/me").json()["current_team"])

    assert seen == [str(cast.team_b.id), str(cast.team_a.id)]


def test_team_chosen_and_then_left_is_no_longer_current(cast):
    from accounts.services import add_member

    row = add_member(team=cast.team_b, user=cast.bob.user, role=Role.VIEWER)
    browser = cast.bob.client
    browser.post(reverse("accounts:switch_team"), {"team": str(cast.team_b.id)})
    with tenant([cast.team_b.id]):
        row.delete()

    me = browser.get("/api/v1/me").json()

    assert browser.session[TEAM_IN_SESSION] == str(cast.team_b.id)
    assert me["current_team"] == str(cast.team_a.id)


def test_switch_to_an_address_elsewhere_is_not_followed(cast):
    answer = cast.bob.client.post(
        reverse("accounts:switch_team"),
        {"team": str(cast.team_a.id), "next": "https://evil.example/"},
    )

    assert answer["Location"] == "/"
