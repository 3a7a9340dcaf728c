"""Who waits for test cases over HTTP: a real server, a real worker, a key."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.journeys.test_http_journey import answer, client_with_a_key
from tests.support.stack import LiveStack
from tests.support.waiting import LIMIT


ECHO = {
    "version": "0.1.0",
    "nodes": [
        {
            "id": "start",
            "data": {"type": "start", "variables": [{"variable": "q", "type": "string"}]},
        },
        {
            "id": "end",
            "data": {"type": "end", "outputs": [{"variable": "o", "value_selector": ["start", "q"]}]},
        },
    ],
    "edges": [{"id": "e", "source": "start", "target": "end"}],
}  # fmt: skip
# The longest times that may be asked for. The client gives up earlier: what it gets came before the time was up.
CASES_WAIT, RUN_WAIT = 120.0, 300.0


@pytest.fixture
def api(live_stack: LiveStack) -> Iterator[httpx2.Client]:
    with client_with_a_key(live_stack, f"waits-{uuid4().hex}") as client:
        client.timeout = httpx2.Timeout(LIMIT)
        yield client


@pytest.fixture
def tests_of(api: httpx2.Client) -> str:
    """The address of a workflow's cases, of which one passes and one fails."""
    made = answer(api.post("/workflows", json={"document": ECHO}), 201)
    address = f"/workflows/{made['workflow']['id']}/tests"
    for name, expected in (("Right", "hi"), ("Wrong", "ho")):
        checks = [{"of": "output.o", "value": expected}]
        case = {"name": name, "turns": [{"inputs": {"q": "hi"}, "checks": checks}]}
        answer(api.post(address, json={"case": case}), 201)
    return address


def run_cases(api: httpx2.Client, address: str, seconds: float) -> list[str]:
    """Run the cases, wait as long as this for their results, and return their states."""
    results: list[dict[str, Any]] = answer(
        api.post(f"{address}/run", json={"wait_seconds": seconds}), 202
    )
    return sorted(one["status"] for one in results)


def test_cases_waited_for_are_answered_as_soon_as_they_are_done(
    api: httpx2.Client, tests_of: str
) -> None:
    assert run_cases(api, tests_of, CASES_WAIT) == ["failed", "passed"]


@pytest.fixture
def without_worker(live_stack: LiveStack) -> Iterator[None]:
    live_stack.kill_worker()
    yield
    live_stack.start_worker()


@pytest.mark.timed
@pytest.mark.usefixtures("without_worker")
def test_cases_nobody_drives_are_answered_queued_when_the_time_is_up(
    api: httpx2.Client, tests_of: str
) -> None:
    began = time.monotonic()

    statuses = run_cases(api, tests_of, 0.6)

    assert statuses == ["queued", "queued"]
    assert 0.6 <= time.monotonic() - began < 6


def test_run_blocked_for_is_answered_with_its_end(api: httpx2.Client, tests_of: str) -> None:
    body = {"inputs": {"q": "hi"}, "response_mode": "blocking", "wait_seconds": RUN_WAIT}

    ended = answer(api.post(tests_of.replace("/tests", "/runs"), json={**body, "version": "draft"}))

    assert (ended["status"], ended["outputs"]) == ("succeeded", {"o": "hi"})


@pytest.mark.parametrize("place", ["/tests/run", "/runs"])
def test_wait_longer_than_anybody_may_is_refused_by_field_with_the_limit(
    api: httpx2.Client, tests_of: str, place: str
) -> None:
    said = answer(api.post(tests_of.replace("/tests", place), json={"wait_seconds": 3600}), 422)

    (problem,) = said["error"]["problems"]
    assert problem["field"].endswith("wait_seconds")
    assert "less than or equal to" in problem["message"]
