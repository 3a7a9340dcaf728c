"""Failed sign-ins are slowed down, and nobody can lock out anybody."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import argon2
import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from accounts.errors import SignInDelayed
from accounts.models import SignInFailures, User
from accounts.services import sign_in
from accounts.services.sign_in import SignInAttempt, delete_old_failures, reserve_attempt


PASSWORD = "four plain words here"
ANA = "ana@example.org"


@pytest.fixture
def ana(db) -> User:
    return User.objects.create_user(ANA, PASSWORD, name="Ana")


def try_password(password, *, email=ANA, network="198.51.100.7", client=None):
    return (client or Client()).post(
        reverse("account_login"), {"login": email, "password": password}, REMOTE_ADDR=network
    )


def fail(times, **where):
    for _ in range(times):
        try_password("wrong", **where)


def pass_time(**duration):
    SignInFailures.objects.update(last_at=F("last_at") - dt.timedelta(**duration))


def take_no_time():
    """Let the failures so far have happened just now, however long a busy machine took for them."""
    SignInFailures.objects.update(last_at=Now())


def is_signed_in(answer):
    return answer.status_code == 302 and "_auth_user_id" in answer.client.session


def test_sixth_attempt_has_to_wait_and_says_how_long(ana):
    fail(5)
    take_no_time()

    answer = try_password(PASSWORD)

    assert answer.status_code == 429
    assert answer["Retry-After"] == "2"
    assert "Try again in 2 seconds" in answer.content.decode()
    assert 'data-wait="2"' in answer.content.decode()
    assert "data-wait" not in Client().get(reverse("account_login")).content.decode()


def test_wait_doubles_with_each_failure_up_to_a_quarter_of_an_hour(ana):
    fail(5)
    waits = []
    for _ in range(11):
        take_no_time()
        waits.append(int(try_password("wrong")["Retry-After"]))
        pass_time(seconds=waits[-1])
        fail(1)

    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


def test_right_password_after_the_wait_signs_in_and_ends_the_delays(ana):
    fail(5)
    pass_time(seconds=2)

    first, again = try_password(PASSWORD), try_password("wrong")

    assert is_signed_in(first)
    assert again.status_code == 200


def test_hundred_failures_elsewhere_lock_nobody_out(ana):
    fail(100)

    assert is_signed_in(try_password(PASSWORD, network="203.0.113.9"))


def test_failures_from_many_networks_lock_nobody_out_and_leave_each_one_guess(ana):
    for number in range(60):
        fail(1, network=f"10.0.0.{number}")

    take_no_time()
    second_guess = try_password("wrong", network="10.0.0.1")

    assert second_guess.status_code == 429
    assert is_signed_in(try_password(PASSWORD, network="203.0.113.9"))


def test_known_device_is_exempt_from_the_delays_of_its_network(ana):
    browser = Client()
    try_password(PASSWORD, client=browser)
    browser.post(reverse("account_logout"))
    fail(100)

    take_no_time()
    assert try_password(PASSWORD).status_code == 429
    assert is_signed_in(try_password(PASSWORD, client=browser))


def test_stolen_cookie_of_a_device_gives_no_more_guesses(ana):
    browser = Client()
    try_password(PASSWORD, client=browser)
    browser.post(reverse("account_logout"))
    fail(5, client=browser)
    take_no_time()

    assert try_password(PASSWORD, client=browser).status_code == 429


def test_forged_cookie_of_a_device_is_worth_nothing(ana):
    browser = Client()
    browser.cookies["mnemoflow_device"] = "WyJkZXZpY2UiXQ:1vOabc:forged"
    fail(5, client=browser)
    take_no_time()

    assert try_password(PASSWORD, client=browser).status_code == 429


def test_one_network_can_try_few_addresses_only(db):
    answers = [try_password("wrong", email=f"p{number}@example.org") for number in range(21)]

    assert [answer.status_code for answer in answers] == [200] * 20 + [429]


def test_addresses_of_one_ipv6_network_count_together(ana):
    for number in range(5):
        fail(1, network=f"2001:db8:1:2::{number + 1}")

    assert try_password(PASSWORD, network="2001:db8:1:2:ffff::1").status_code == 429


def test_own_account_does_not_reset_the_count_of_the_network(ana):
    User.objects.create_user("eve@example.org", PASSWORD)
    for number in range(20):
        fail(1, email=f"p{number}@example.org")
        if number < 19:
            try_password(PASSWORD, email="eve@example.org")

    take_no_time()
    assert try_password("wrong", email="p99@example.org").status_code == 429


def test_many_attempts_at_once_get_no_more_guesses(transactional_db):
    attempt = SignInAttempt(ANA, "198.51.100.7")

    def guess(_number):
        try:
            reserve_attempt(attempt)
        except SignInDelayed:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        passed = sum(pool.map(guess, range(40)))

    assert passed == sign_in.FREE_ATTEMPTS


def test_failures_are_forgotten_after_a_day(ana):
    fail(12)
    pass_time(days=1, seconds=1)

    fail(1)

    assert set(SignInFailures.objects.values_list("count", flat=True)) == {1}
    pass_time(days=1, seconds=1)
    assert delete_old_failures() == 3


def test_table_contains_no_address(ana):
    fail(1)

    with connection.cursor() as cursor:
        cursor.execute("select accounts_signinfailures::text from accounts_signinfailures")
        text = str(cursor.fetchall())

    assert "ana" not in text
    assert "198.51" not in text


def test_admin_has_no_form_of_its_own(ana):
    answer = Client().post("/admin/login/?next=/admin/", {"username": ANA, "password": PASSWORD})

    assert answer.status_code == 302
    assert answer["Location"] == f"{reverse('account_login')}?next=/admin/"


UNKNOWN = "nobody@example.org"


def read_errors(answer):
    return answer.status_code, [*map(str, answer.context["form"].non_field_errors())]


def test_hundred_wrong_passwords_give_few_guesses_and_the_same_answers_to_unknown_people(ana):
    """S11 of the specification. Each has a network of its own, because both would wait for that of the other."""
    known = [read_errors(try_password("wrong")) for _ in range(100)]
    unknown = [
        read_errors(try_password("wrong", email=UNKNOWN, network="10.0.0.1")) for _ in "123456"
    ]

    assert [status for status, _errors in known].count(200) < 10
    assert known[:6] == unknown
    assert [status for status, _errors in unknown] == [200] * 5 + [429]


@pytest.fixture
def hashes(monkeypatch):
    """The time, memory and lanes of each password hash that is computed."""
    computed: list[tuple[int, int, int]] = []
    encode, verify = argon2.low_level.hash_secret, argon2.PasswordHasher.verify

    def watch_encoding(*arguments, **costs):
        computed.append((costs["time_cost"], costs["memory_cost"], costs["parallelism"]))
        return encode(*arguments, **costs)

    def watch_verifying(hasher, encoded, password):
        costs = argon2.extract_parameters(encoded)
        computed.append((costs.time_cost, costs.memory_cost, costs.parallelism))
        return verify(hasher, encoded, password)

    monkeypatch.setattr(argon2.low_level, "hash_secret", watch_encoding)
    monkeypatch.setattr(argon2.PasswordHasher, "verify", watch_verifying)
    return computed


def test_unknown_person_is_answered_at_the_same_speed(ana, settings, hashes):
    """Nearly all the time of an answer is that of the hash, so as many are computed, and as long ones."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    ana.set_password(PASSWORD)
    ana.save()
    computed = {}
    for email in (ANA, UNKNOWN):
        hashes.clear()
        try_password("wrong", email=email)
        computed[email] = [*hashes]

    assert len(computed[ANA]) == 1
    assert computed[UNKNOWN] == computed[ANA]
