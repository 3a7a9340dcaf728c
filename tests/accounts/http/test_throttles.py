"""Requests to the API per minute: by key, person and team."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from django.core.cache import caches
from django.test import Client

from accounts.http import throttles
from accounts.http.throttles import count_request
from accounts.services import issue_key
from config.http.outage_cache import OutageCache


@pytest.fixture(autouse=True)
def limits(settings, monkeypatch):
    settings.API_REQUESTS_PER_MINUTE = 6
    settings.API_TEAM_REQUESTS_PER_MINUTE = 10
    caches["default"].clear()
    # In the middle of a minute: otherwise a test that meets its end would see two.
    monkeypatch.setattr(throttles.time, "time", lambda: 1_000_050.0)
    yield
    caches["default"].clear()


def make_key(cast, requests_per_minute=None):
    _key, secret = issue_key(
        principal=cast.ada.principal,
        team=cast.team_a,
        name="ci",
        scopes={"team:read"},
        limits={"requests_per_minute": requests_per_minute},
    )
    return secret


def ask(secret):
    return Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.django_db
def test_seventh_request_of_a_key_waits_and_is_told_how_long(cast):
    secret = make_key(cast)
    answers = [ask(secret) for _ in range(7)]

    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert [answer["X-RateLimit-Remaining"] for answer in answers] == [*"543210", "0"]
    refused = answers[-1]
    assert refused["X-RateLimit-Limit"] == "6"
    assert refused["Retry-After"] == refused["X-RateLimit-Reset"] == "30"
    assert refused.json()["error"]["type"] == "TooManyRequests"
    assert refused.json()["error"]["retryable"] is True


@pytest.mark.django_db
def test_key_may_have_a_lower_limit_of_its_own(cast):
    secret = make_key(cast, requests_per_minute=2)

    assert [ask(secret).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.django_db
def test_team_shares_a_limit_and_other_teams_are_not_affected(cast):
    first, second = make_key(cast), make_key(cast)
    statuses = [ask(secret).status_code for secret in (first, second) for _ in range(6)]

    assert statuses == [200] * 10 + [429] * 2
    assert cast.bob.client.get("/api/v1/me").status_code == 429
    assert cast.carol.client.get("/api/v1/me").status_code == 200


@pytest.mark.django_db
def test_person_is_limited_on_all_browsers_together(cast):
    statuses = [cast.bob.client.get("/api/v1/me").status_code for _ in range(7)]

    assert statuses == [200] * 6 + [429]


@pytest.fixture
def shared_cache(monkeypatch, valkey_url):
    shared = OutageCache(valkey_url, {"KEY_PREFIX": "throttle-test"})
    shared.clear()
    monkeypatch.setattr(throttles, "cache", shared)
    yield shared
    shared.clear()


def test_limit_is_exact_for_many_threads_with_a_real_server(shared_cache):
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda _n: count_request("key:1", 50, 1_000_050.0), range(80)))

    assert sum(not state.is_exceeded for state in states) == 50


def test_previous_minute_counts_in_part(shared_cache):
    for _ in range(60):
        count_request("key:1", 60, 1_000_000.0)

    states = [count_request("key:1", 60, 1_000_035.0 + 0.01) for _ in range(40)]

    # A quarter of the minute has passed: 45 of the 60 still count.
    assert math.isclose(sum(not state.is_exceeded for state in states), 15, abs_tol=1)


def test_request_is_counted_with_one_message_to_the_server(shared_cache, monkeypatch):
    count_request("key:1", 60, 1_000_000.0)  # connects
    sent = []
    send = redis.connection.AbstractConnection.send_packed_command

    def note(self, command, **options):
        sent.append(command)
        return send(self, command, **options)

    monkeypatch.setattr(redis.connection.AbstractConnection, "send_packed_command", note)

    state = count_request("key:1", 60, 1_000_000.0)

    assert (state.remaining, len(sent)) == (58, 1)


def test_count_of_a_minute_is_forgotten_after_the_next_one(shared_cache):
    count_request("key:1", 60, 1_000_000.0)

    (key,) = shared_cache._cache.get_client().keys("throttle-test:*")
    assert 60 <= shared_cache._cache.get_client().ttl(key) <= 120


def test_requests_are_served_while_the_server_of_the_limits_is_away(monkeypatch):
    away = OutageCache("redis://127.0.0.1:1/0", {})
    monkeypatch.setattr(throttles, "cache", away)

    states = [count_request("key:1", 1, 1_000_050.0) for _ in range(5)]

    assert [state.is_exceeded for state in states] == [False] * 5
    with pytest.raises(redis.exceptions.ConnectionError):
        away._cache.get_client().ping()
