"""The scenarios: each puts runs through one kind of failure and returns its bars."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from random import Random
from threading import Event, Thread
from typing import Any
from uuid import UUID

from bench._common import Bar
from bench.chaos.invariants import Outcome, check, count_unfinished
from bench.chaos.ledger import Ledger
from bench.chaos.system import System, find_port, say
from bench.chaos.workload import Application


SETTLE_SECONDS = 60.0  # after the last failure, every run must have ended
WORKERS = ("worker-1", "worker-2")


@dataclass
class Setting:
    """Holds what every scenario needs; the numbers of runs continue from one scenario to the next."""

    system: System
    ledger: Ledger
    application: Application
    random: Random
    last_number: int = 0
    measured: dict[str, object] = field(default_factory=dict)

    def next_number(self) -> int:
        self.last_number += 1
        return self.last_number


def kill_workers(setting: Setting, runs: int, kills: int) -> list[Bar]:
    """Kill workers and single children while runs arrive evenly, and start killed workers again at once."""
    system, random = setting.system, setting.random
    interval = 3.0  # mean seconds between two kills
    with feed_runs(setting, runs, kills * interval, setting.application.start) as started:
        killed: Counter[str] = Counter()
        while killed.total() < kills:
            time.sleep(random.uniform(0.5, 1.5) * interval)
            name = random.choice(WORKERS)
            if random.random() < 0.2 and system.kill_child(name, random.choice):
                killed["child"] += 1
                continue
            system.kill(name)
            killed["worker"] += 1
            system.start_worker(name)
    return settle(
        setting, "kills", dict(started), {"killed": dict(killed)}, max_repeated=kills * 24
    )


def restart_database(setting: Setting, runs: int, restarts: int) -> list[Bar]:
    """Stop PostgreSQL without a checkpoint and start it again while the API starts runs, then send 200 requests."""
    port = find_port()
    setting.system.start_web(port)
    client = _Client(port, setting.application.key)
    client.wait_until_ready()
    interval = 4.0
    path = f"/api/v1/workflows/{setting.application.workflow.pk}/runs"
    statuses: Counter[int] = Counter()
    slowest: list[float] = [0.0]

    def start(number: int) -> Any:
        """Start a run through the API, again after a refusal that says so."""
        while True:
            began = time.monotonic()
            status, body = client.post(
                path,
                {"inputs": {"number": number}, "response_mode": "async", "version": "draft"},
            )
            statuses[status] += 1
            if status != 503:
                slowest[0] = max(slowest[0], time.monotonic() - began)
                return UUID(body["id"]) if status == 202 else None
            time.sleep(0.5)

    with feed_runs(setting, runs, restarts * interval, start) as started:
        for _number in range(restarts):
            time.sleep(setting.random.uniform(0.7, 1.3) * interval)
            setting.system.restart_postgres()
    after = Counter(client.get("/api/v1/runs?limit=1")[0] for _number in range(200))
    accepted_runs = {number: run for number, run in started.items() if run is not None}
    bars = settle(
        setting, "restarts", accepted_runs,
        {"starts": dict(statuses), "requests after": dict(after), "slowest start": slowest[0]},
        max_repeated=0,
    )  # fmt: skip
    error_count = sum(count for status, count in statuses.items() if status not in (202, 503))
    return [
        *bars,
        Bar("restarts: starts answered neither 202 nor 503", error_count, 0),
        Bar("restarts: of 200 requests afterwards not 200", 200 - after[200], 0),
    ]


def lose_broker(setting: Setting, runs: int, away_seconds: float) -> list[Bar]:
    """Empty the broker, kill it, and keep it away for a while."""
    system = setting.system
    with feed_runs(setting, runs, away_seconds + 6, setting.application.start) as started:
        for _number in range(4):
            time.sleep(1)
            system.wipe_broker()
        system.kill_broker()
        time.sleep(away_seconds)
        system.start_broker()
    return settle(setting, "broker", dict(started), {}, max_repeated=0)


@contextmanager
def feed_runs(
    setting: Setting, runs: int, seconds: float, start: Callable[[int], Any]
) -> Iterator[dict[int, Any]]:
    """Start runs evenly over the seconds in a thread of its own; the block causes the failures. Wait for both."""
    started: dict[int, Any] = {}
    stopping = Event()

    def feed() -> None:
        from django.db import connections

        began = time.monotonic()
        for index in range(runs):
            delay = began + seconds * index / runs - time.monotonic()
            if stopping.wait(max(delay, 0)):
                break
            number = setting.next_number()
            run = start(number)
            started[number] = getattr(run, "pk", run)
        connections.close_all()

    thread = Thread(target=feed, name="feed")
    thread.start()
    try:
        yield started
        thread.join()
    finally:
        stopping.set()


def settle(
    setting: Setting,
    name: str,
    started: dict[int, Any],
    measured: dict[str, object],
    *,
    max_repeated: int,
) -> list[Bar]:
    """Wait until all runs have ended, and check what must hold."""
    began = time.monotonic()
    ids = list(started.values())
    while (
        open_runs := count_unfinished(setting.system, ids)
    ) and time.monotonic() - began < SETTLE_SECONDS * 3:
        time.sleep(0.5)
    seconds = time.monotonic() - began
    outcome = check(setting.system, setting.ledger, started)
    say(f"{name}: {outcome}, settled in {seconds:.1f} s, {measured}")
    setting.measured[name] = {
        **asdict(outcome),
        "settled_seconds": seconds,
        "open": open_runs,
        **measured,
    }
    return [
        *_build_bars(name, outcome, max_repeated),
        Bar(f"{name}: settled", seconds, SETTLE_SECONDS, " s"),
    ]


def _build_bars(name: str, outcome: Outcome, max_repeated: int) -> list[Bar]:
    zero = ("lost", "failed", "parked", "wrong_outputs", "gaps", "doubled_steps", "repeated_after_end", "other_keys", "held_leases")  # fmt: skip
    bars = [Bar(f"{name}: {field.replace('_', ' ')}", getattr(outcome, field), 0) for field in zero]
    return [*bars, Bar(f"{name}: repeated calls", outcome.repeated_calls, max_repeated)]


class _Client:
    """Requests to the API, each on a connection of its own."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._headers = port, {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> tuple[int, Any]:
        return self._request("GET", path, None)

    def post(self, path: str, body: object) -> tuple[int, Any]:
        return self._request("POST", path, json.dumps(body))

    def wait_until_ready(self) -> None:
        for _attempt in range(600):
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise RuntimeError("The web server did not start.")

    def _request(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            headers = {**self._headers, "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
            is_json = "json" in response.headers.get("Content-Type", "")
            return response.status, json.loads(text) if is_json else None
        finally:
            connection.close()
