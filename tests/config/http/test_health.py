"""The health checks are answered in front of Django: see the test of outages for a real one."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from config.embedded.start_times import WORKER_START_SECONDS
from config.http.health import (
    CHECK_SECONDS,
    MAX_AGE,
    OLD_AGE,
    HealthChecks,
    Readiness,
    check_broker,
    check_database,
)


async def _django(_scope: object, _receive: object, send: Any) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def ask(
    path: str, readiness: Readiness, method: str = "GET"
) -> tuple[int, dict[str, str], Any]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"host", b"a-load-balancer")],
    }
    communicator = ApplicationCommunicator(HealthChecks(_django, readiness), scope)
    start = await communicator.receive_output(timeout=90)
    body = await communicator.receive_output(timeout=90)
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, json.loads(body["body"])


async def fine() -> str:
    return "ok"


async def refused() -> str:
    raise ConnectionRefusedError


async def hanging() -> str:
    await asyncio.Event().wait()  # which nobody sets
    return "ok"


@pytest.mark.parametrize("path", ["/readyz", "/healthz"])
@pytest.mark.parametrize(
    ("database", "broker", "status", "parts"),
    [
        (fine, fine, 200, {"database": "ok", "broker": "ok"}),
        (refused, fine, 503, {"database": "unreachable", "broker": "ok"}),
        (hanging, fine, 503, {"database": "unreachable", "broker": "ok"}),
        # Workers then poll the database.
        (fine, refused, 200, {"database": "ok", "broker": "unreachable"}),
    ],
)
async def test_readyz_names_each_part_within_a_second(path, database, broker, status, parts):
    readiness = Readiness({"database": database, "broker": broker})

    # It answers at all: the part that hangs would take for ever.
    answered, headers, body = await ask(path, readiness)

    assert (answered, body["parts"], headers.get("retry-after")) == (
        status,
        parts,
        "2" if status == 503 else None,
    )
    assert CHECK_SECONDS < 1


async def missing() -> str:
    return "missing"


async def test_worker_is_starting_at_first_and_missing_if_it_does_not_come():
    """The worker comes up after the web server."""
    readiness = Readiness({"workers": missing})

    before = readiness.worker_notice
    await readiness.read_states()
    at_start = readiness.worker_notice
    readiness._started_at -= WORKER_START_SECONDS
    later = readiness.worker_notice

    assert (before, at_start, later) == ("", "starting", "missing")


async def test_worker_that_was_there_and_is_gone_is_missing_at_once():
    states = ["ok", "missing"]

    async def find_worker() -> str:
        return states.pop(0)

    readiness = Readiness({"workers": find_worker})
    notices = []
    for _number in range(2):
        await readiness.read_states()
        notices.append(readiness.worker_notice)
        readiness._checked_at = float("-inf")

    assert notices == ["", "missing"]


async def test_page_that_says_a_worker_is_missing_checks_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("config.http.health.PAGE_WAIT", 60.0)  # for a busy machine
    states = ["missing", "ok"]

    async def find_worker() -> str:
        return states.pop(0)

    readiness = Readiness({"workers": find_worker})
    notices = []
    for _number in range(2):
        await ask("/runs/", readiness)
        notices.append(readiness.worker_notice)
        readiness._checked_at -= MAX_AGE  # far less than where nothing is wrong

    assert notices == ["starting", ""]


async def test_first_page_after_a_quiet_time_knows_that_the_worker_is_missing(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("config.http.health.PAGE_WAIT", 60.0)  # for a busy machine
    states = ["ok", "missing", "ok"]

    async def find_worker() -> str:
        return states.pop(0)

    readiness = Readiness({"workers": find_worker})
    said = []
    for _number in range(3):
        await ask("/runs/", readiness)
        said.append(readiness.worker_notice)
        readiness._checked_at -= OLD_AGE + 1

    assert said == ["", "missing", ""]


async def test_page_does_not_wait_for_an_outage(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("config.http.health.CHECK_SECONDS", 600.0)
    readiness = Readiness({"workers": hanging})

    status, _headers, _body = await ask("/runs/", readiness)

    assert status == 418
    assert readiness._refresh is not None
    assert readiness._refresh.cancel(), "the page has waited for the check"


async def test_pages_check_for_a_worker_in_the_background_and_seldom():
    calls = 0

    async def count() -> str:
        nonlocal calls
        calls += 1
        return "ok"

    readiness = Readiness({"workers": count})
    for _number in range(5):
        await ask("/memory/", readiness)
        await asyncio.sleep(0)

    assert calls == 1


async def test_readyz_of_the_real_database_and_broker(
    valkey_url: str, settings: Any, owner_db: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("config.http.health.CHECK_SECONDS", 60.0)  # for a busy machine
    settings.REDIS_URL = valkey_url
    readiness = Readiness({"database": check_database, "broker": check_broker})

    status, _headers, body = await ask("/readyz", readiness)

    assert (status, body) == (200, {"status": "ok", "parts": {"database": "ok", "broker": "ok"}})


async def test_readyz_of_many_requests_costs_one_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("config.http.health.MAX_AGE", 600.0)  # for a busy machine
    calls = 0

    async def count() -> str:
        nonlocal calls
        calls += 1
        return "ok"

    readiness = Readiness({"database": count})
    await asyncio.gather(*(ask("/readyz", readiness) for _ in range(20)))
    once = calls
    readiness._checked_at -= 601
    await ask("/readyz", readiness)

    assert (once, calls) == (1, 2)


async def test_livez_is_ok_whatever_is_down():
    status, _headers, body = await ask("/livez", Readiness({"database": refused}))

    assert (status, body) == (200, {"status": "ok", "parts": {"web": "ok"}})


async def test_health_checks_are_read_only_and_pass_everything_else_on():
    readiness = Readiness({"database": fine})

    posted, headers, _body = await ask("/readyz", readiness, method="POST")
    other, _headers, _body = await ask("/readyz/more", readiness)

    assert (posted, headers["allow"], other) == (405, "GET, HEAD", 418)


@pytest.mark.parametrize(
    ("token", "sent", "address", "public", "status"),
    [
        (None, None, "127.0.0.1", None, 200),
        (None, None, "10.0.0.9", None, 403),
        (None, None, "127.0.0.1", "https://flows.example.org", 403),
        ("m" * 16, None, "127.0.0.1", None, 403),
        ("m" * 16, "Bearer wrong", "127.0.0.1", None, 403),
        ("m" * 16, "Bearer " + "m" * 16, "10.0.0.9", None, 200),
    ],
)
def test_metrics_are_for_this_machine_or_the_token(settings, token, sent, address, public, status):
    settings.METRICS_TOKEN, settings.PUBLIC_URL = token, public
    headers = {"Authorization": sent} if sent else {}

    assert Client(headers=headers, REMOTE_ADDR=address).get("/metrics").status_code == status
