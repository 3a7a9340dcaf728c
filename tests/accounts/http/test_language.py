"""Whose word counts for a page's language: the person's, then the browser's cookie, then its headers."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

CHINESE: dict[str, Any] = {"headers": {"accept-language": "zh-CN"}}
ENGLISH: dict[str, Any] = {"headers": {"accept-language": "en"}}


@pytest.fixture
def alice(cast):
    return cast.alice


def speak(person, locale):
    person.user.locale = locale
    person.user.save(update_fields=["locale"])


def language_of(answer):
    return answer.headers[
        "Content-Language"
    ], f'<html lang="{answer.headers["Content-Language"]}"' in markup_of(answer)


def choose(client, language, following="/profile/"):
    return client.post(reverse("set_language"), {"language": language, "next": following})


@pytest.mark.parametrize(
    ("locale", "browser", "expected"),
    [
        ("", ENGLISH, "en"),
        ("", CHINESE, "zh-hans"),
        ("zh-hans", ENGLISH, "zh-hans"),
        ("en", CHINESE, "en"),
        ("xx", CHINESE, "zh-hans"),
    ],
)
def test_page_of_a_person_speaks_the_profiles_language_before_the_browsers(
    alice, locale, browser, expected
):
    speak(alice, locale)

    answer = alice.client.get(reverse("accounts:profile"), **browser)

    assert language_of(answer) == (expected, True)


def test_page_with_another_language_in_the_cookie_speaks_the_profiles(alice):
    speak(alice, "zh-hans")
    client = alice.client
    client.cookies["django_language"] = "en"

    assert language_of(client.get(reverse("accounts:profile"))) == ("zh-hans", True)


def test_button_pressed_by_a_member_changes_page_and_profile(alice):
    speak(alice, "en")
    client = alice.client

    answer = choose(client, "zh-hans")

    assert answer.headers["Location"] == "/profile/"
    assert language_of(client.get("/profile/", **ENGLISH)) == ("zh-hans", True)
    alice.user.refresh_from_db()
    assert alice.user.locale == "zh-hans"


def test_button_pressed_by_a_visitor_changes_the_sign_in_page():
    client = Client()
    page = reverse("account_login")
    before = markup_of(client.get(page, **ENGLISH))

    choose(client, "zh-hans", page)

    after = client.get(page, **ENGLISH)
    assert "中文" in before
    assert language_of(after) == ("zh-hans", True)
    assert "登录" in markup_of(after)


def test_button_with_a_language_nobody_speaks_changes_no_profile(alice):
    speak(alice, "en")

    choose(alice.client, "de")

    alice.user.refresh_from_db()
    assert alice.user.locale == "en"


def test_page_that_is_not_there_speaks_the_profiles_language(alice):
    speak(alice, "zh-hans")

    answer = alice.client.get("/no/such/page/", **ENGLISH)

    assert answer.status_code == 404
    assert "此页面不存在。" in markup_of(answer)


def test_dates_are_written_as_the_language_does(alice):
    speak(alice, "zh-hans")
    page = markup_of(alice.client.get(reverse("accounts:team")))

    assert f"{alice.user.date_joined:%Y}年" in page
