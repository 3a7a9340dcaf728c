"""A thousand clients of event streams on one web process: `python -m bench.live [--json FILE]`.

The server runs as with `make run`, and its worker executes real runs: some are active and commit an event of a node
every half second, with ten clients each; each of the other clients follows a run of its own that waits for a person.
All clients connect at the same moment, half of them with API keys and half with sessions of different people.
Meanwhile health checks and a page are requested. Then connections are dropped and reopened, one client takes nothing
for so long that the server disconnects it, and at last all clients vanish, which must leave nothing behind.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.request import urlopen
from uuid import UUID

from bench._common import Bar, compute_percentile, report
from bench._services import make_scratch_folder, run_server
from bench._streams import (
    Client,
    Probe,
    Watch,
    connect_all,
    find_process,
    read_cpu_seconds,
    read_figure,
    reconnect_some,
)


Json = dict[str, Any]

PORT = 8797
ACTIVE_RUNS, CLIENTS_PER_RUN = 50, 10
NODE_SECONDS = 0.5
PEOPLE = 50
RECONNECTS = 100
SLOW_SECONDS = (
    20  # a client that takes nothing is disconnected after, see config.http.event_streams
)
LARGE_EVENTS = 400  # of 50 kB each: more than the buffers of a connection hold


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20, help="time of the steady measurement")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with make_scratch_folder() as scratch, run_server(scratch, PORT) as start_url:
        home = str(Path(scratch) / "home")
        urlopen(start_url).close()
        with patch.dict(
            os.environ, {"MNEMOFLOW_HOME": home, "DJANGO_SETTINGS_MODULE": "config.settings"}
        ):
            import django

            django.setup()
            stage = _set_up(options.clients, options.seconds)
            bars, measured = asyncio.run(_measure(stage, home, options.seconds))
    return report(bars, measured, options.json)


@dataclass
class Stage:
    """The runs, and the clients that will follow them."""

    active: list[Client]
    paused: list[Client]
    slow: Client
    page_headers: dict[str, str]

    @property
    def clients(self) -> list[Client]:
        return self.active + self.paused


def _set_up(client_count: int, seconds: float) -> Stage:
    """Create people with sessions and keys, and start their runs. Wait until all runs that wait for a person do so."""
    people = _create_people()
    node_count = int((seconds + 90) / NODE_SECONDS)
    delay = {"delay_s": NODE_SECONDS, "outputs": {"output": "x"}}
    chain, pause = (
        _import_workflow(people[0], document)
        for document in (_build_chain(node_count), _build_pause())
    )
    active_count = min(ACTIVE_RUNS, client_count // 2 // CLIENTS_PER_RUN)
    waiting_people = [
        people[number % PEOPLE] for number in range(client_count - active_count * CLIENTS_PER_RUN)
    ]
    paused = [
        Client(PORT, _start(person, pause), person.get_headers(number // PEOPLE))
        for number, person in enumerate(waiting_people)
    ]
    large_run_id = _start(people[0], pause)
    _wait_until_paused(len(paused) + 1)
    _add_large_events(large_run_id)
    active = []
    for person in (people * active_count)[:active_count]:  # last, because they begin at once
        run_id = _start(person, chain, {f"n{n}": delay for n in range(node_count)})
        active += [Client(PORT, run_id, person.get_headers(n)) for n in range(CLIENTS_PER_RUN)]
    slow = Client(PORT, large_run_id, people[0].get_headers(0))
    return Stage(active, paused, slow, people[0].get_headers(1))


@dataclass(frozen=True)
class Person:
    """A member of the team with an API key, which starts the runs, and a session. Both may see these runs."""

    principal: Any
    team: Any
    by_key: dict[str, str]
    by_session: dict[str, str]

    def get_headers(self, number: int) -> dict[str, str]:
        return self.by_session if number % 2 else self.by_key


def _create_people() -> list[Person]:
    from accounts.models import Role, User
    from accounts.principals import KeyPrincipal, load_user_principal
    from accounts.roles import SCOPES
    from accounts.services import add_member, issue_key
    from bench._services import create_operator

    _owner, team = create_operator()
    people = []
    for number in range(PEOPLE):
        user = User.objects.create_user(f"person-{number}@example.org", name=f"Person {number}")
        add_member(team=team, user=user, role=Role.ADMIN)
        principal = load_user_principal(user)
        key, secret = issue_key(principal=principal, team=team, name="Bench", scopes=set(SCOPES))
        by_key = {"Authorization": f"Bearer {secret}"}
        people.append(Person(KeyPrincipal(key), team, by_key, _sign_in(user)))
    return people


def _sign_in(user: Any) -> dict[str, str]:
    from django.conf import settings
    from django.test import Client as Browser

    browser = Browser()
    browser.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={browser.cookies[name].value}"}


def _import_workflow(person: Person, document: Json) -> Any:
    from workflows.services.catalog import importing

    return importing.import_document(
        person.principal, team_id=person.team.pk, source=document, name="Bench"
    ).workflow


def _start(person: Person, workflow: Any, mocks: Json | None = None) -> UUID:
    from workflows.services.runs.runs import start_run

    run = start_run(person.principal, workflow=workflow, inputs={}, mocks=mocks)
    return run.pk  # type: ignore[no-any-return]


def _build_chain(count: int) -> Json:
    ids = [f"n{number}" for number in range(count)]
    data = {"type": "template-transform", "template": "x", "variables": []}
    return _build_document([{"id": id_, "data": {**data, "title": id_}} for id_ in ids])


def _build_pause() -> Json:
    return _build_document(
        [
            {
                "id": "ask",
                "data": {
                    "type": "human-input",
                    "title": "Ask",
                    "form_content": "Who are you?",
                    "inputs": [],
                    "user_actions": [{"id": "yes", "title": "Yes"}],
                    "timeout": 1,
                    "timeout_unit": "day",
                },
            }
        ]
    )


def _build_document(nodes: list[Json]) -> Json:
    """Return a document in which these nodes follow each other."""
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}
    end = {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}}
    nodes = [start, *nodes, end]
    edges: list[Json] = []
    for source, target in pairwise(nodes):
        handle = {"sourceHandle": "yes"} if source["id"] == "ask" else {}
        edges.append({"id": target["id"], "source": source["id"], "target": target["id"], **handle})
    return {"version": "0.1.0", "nodes": nodes, "edges": edges}


def _add_large_events(run_id: UUID) -> None:
    statement = """
        with run as (
            update workflows_run set last_seq = last_seq + %s where id = %s returning id, team_id, last_seq
        )
        insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)
        select gen_random_uuid(), team_id, id, last_seq - n, 'step_edited',
            json_build_object('text', repeat('x', 50000)), now()
        from run, generate_series(%s - 1, 0, -1) n returning seq
    """
    _query(statement, LARGE_EVENTS, run_id, LARGE_EVENTS)


def _wait_until_paused(count: int) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        rows = _query("select count(*) from workflows_run where status = 'paused'")
        if rows[0][0] >= count:
            return
        time.sleep(0.5)
    raise RuntimeError("the runs did not pause")


def _query(statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that the database's owner executes, who sees the rows of all teams."""
    import psycopg

    from config.postgres.conninfo import build_conninfo

    with psycopg.connect(build_conninfo("owner"), autocommit=True) as connection:
        return connection.execute(statement.encode(), values).fetchall()


async def _measure(stage: Stage, home: str, seconds: float) -> tuple[list[Bar], Json]:
    pid = find_process(home, "config.asgi:application")
    watch = Watch(pid)
    probes = {
        "/livez": Probe(PORT, "/livez"),
        "/healthz": Probe(PORT, "/healthz"),
        "a page": Probe(PORT, "/workflows/", stage.page_headers),
    }
    for probe in probes.values():
        await probe.ask()  # the first request also loads templates
    before = {"threads": read_figure(pid, "Threads"), "kB": read_figure(pid, "VmRSS")}
    _take_seconds(probes)
    tasks = [asyncio.create_task(each.run()) for each in (watch, *probes.values())]
    server_cpu, own_cpu = read_cpu_seconds(pid), time.process_time()
    await connect_all(stage.clients)
    cpu = {"server": read_cpu_seconds(pid) - server_cpu, "clients": time.process_time() - own_cpu}
    firsts = [client.first_event_after or 60.0 for client in stage.clients]
    while_connecting = _take_seconds(probes)
    lags = await _measure_lags(stage, seconds)
    steady = _take_seconds(probes)
    full = {
        "threads": watch.threads,
        "kB": read_figure(pid, "VmRSS"),
        "connections": _count_connections(),
    }
    await reconnect_some(stage.active, RECONNECTS)
    await asyncio.sleep(5)
    faults = _count_faults(stage.clients)
    is_resumed = await _drop_slow_client(stage.slow)
    await asyncio.gather(*(client.close() for client in stage.clients))
    await asyncio.sleep(3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    after = {"threads": read_figure(pid, "Threads"), "connections": _count_connections()}
    statuses = [status for probe in probes.values() for status in probe.statuses]
    statuses += [client.status for client in stage.clients]
    bars = [
        Bar("threads", full["threads"], 60),
        Bar("first event, p95", compute_percentile(firsts, 95), 2, " s"),
        Bar("commit → client, p95", compute_percentile(lags, 95), 0.1, " s"),
        *(Bar(f"{name}, p95", compute_percentile(steady[name], 95), 0.2, " s") for name in probes),
        Bar(f"gaps or repeats after {RECONNECTS} reconnects", faults, 0),
        Bar("slow client dropped and resumed", is_resumed, 1, at_least=True),
        Bar("kinds of responses other than 200", len({*statuses} - {"200"}), 0),
        Bar("threads after all clients left", after["threads"], before["threads"] + 8),
    ]
    measured = {
        "clients": len(stage.clients),
        "load": os.getloadavg()[0],
        "first_event": _summarize(firsts),
        "cpu_seconds_while_connecting": cpu,
        "statuses": dict(Counter(statuses)),
        "commit_to_client": {**_summarize(lags), "events": len(lags)},
        "steady": _summarize_all(steady),
        "while_connecting": _summarize_all(while_connecting),
        "server": {"before": before, "full": full, "after": after},
        "kB_per_client": (full["kB"] - before["kB"]) / len(stage.clients),
    }
    return bars, measured


def _summarize_all(seconds_by_probe: dict[str, list[float]]) -> Json:
    return {name: _summarize(seconds) for name, seconds in seconds_by_probe.items()}


async def _measure_lags(stage: Stage, seconds: float) -> list[float]:
    await asyncio.sleep(1)
    since = time.time()
    await asyncio.sleep(seconds)
    return _compute_lags(stage.active, since, time.time() - 2)


def _take_seconds(probes: dict[str, Probe]) -> dict[str, list[float]]:
    """Return what the probes have measured since the last call."""
    seconds_by_probe = {name: list(probe.seconds) for name, probe in probes.items()}
    for probe in probes.values():
        probe.seconds.clear()
    return seconds_by_probe


def _compute_lags(clients: list[Client], since: float, until: float) -> list[float]:
    """Return the seconds from the write of each event to its arrival at each client."""
    run_ids = list({client.run_id for client in clients})
    rows = _query(
        "select run_id, seq, extract(epoch from at)::float from workflows_runevent where run_id = any(%s)",
        run_ids,
    )
    written_at = {(run_id, seq): at for run_id, seq, at in rows}
    arrivals = [(client.run_id, *arrival) for client in clients for arrival in client.arrivals]
    return [
        arrived_at - written_at[run_id, seq]
        for run_id, seq, arrived_at in arrivals
        if since < written_at[run_id, seq] < until
    ]


def _count_faults(clients: list[Client]) -> int:
    """Return how many clients have not every event of their run once and in order."""
    rows = _query("select id, last_seq from workflows_run")
    last = dict(rows)
    faults = 0
    for client in clients:
        is_in_order = client.numbers == list(range(1, len(client.numbers) + 1))
        # The newest events may be on their way.
        faults += not is_in_order or len(client.numbers) < last[client.run_id] - 4
    return faults


async def _drop_slow_client(client: Client) -> bool:
    """Return whether the server disconnects a client that takes nothing, which then gets all it has missed."""
    await client.connect(receive_buffer=4096)
    transport = client.transport
    if transport is None:
        return False
    transport.pause_reading()
    await asyncio.sleep(SLOW_SECONDS + 10)
    transport.resume_reading()
    try:
        async with asyncio.timeout(10):
            await client.is_closed.wait()
    except TimeoutError:
        return False
    count = dict(_query("select id, last_seq from workflows_run"))[client.run_id]
    was_dropped = len(client.arrivals) < count
    await client.connect()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and len(client.arrivals) < count:
        await asyncio.sleep(0.1)
    await client.close()
    return was_dropped and client.numbers == list(range(1, count + 1))


def _count_connections() -> int:
    """Return the connections to the database except for the worker's and our own."""
    statement = """
        select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    """
    return int(_query(statement)[0][0])


def _summarize(values: list[float]) -> Json:
    if not values:
        return {}
    values = values * 2  # a percentile needs two values
    cuts = {name: compute_percentile(values, n) for name, n in {"p50": 50, "p95": 95}.items()}
    return {**cuts, "max": max(values)}


if __name__ == "__main__":
    sys.exit(main())
