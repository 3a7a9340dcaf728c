"""A web server is stopped and killed while many clients follow runs: each comes back and misses or repeats nothing."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client as Browser
from redis import Redis

from accounts.principals import KeyPrincipal
from bench._streams import Client
from tests.durability.conftest import ENDED, Cluster
from tests.durability.web_server import Web, web
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, make_key
from tests.support.database import worker_number
from tests.support.waiting import until_async
from workflows.models import Workflow
from workflows.services.catalog import importing
from workflows.services.runs.runs import start_run


__all__ = ["web"]  # a fixture

NODE_SECONDS = 0.5  # few and slow ones: the run is under way all the time, and costs little
RETRY_SECONDS = 0.2  # of a client; a browser's are those that the stream names
PATIENCE = 180.0  # seconds for what comes at once on a machine that has nothing else to do
NODES = tuple(f"n{number}" for number in range(30))
IDLE_EVENTS = 3  # one at first and one after each restart


@dataclass
class Follower:
    """A client that comes back whenever its stream ends, as a browser does, until its run has ended."""

    client: Client
    connections: int = 0  # that were answered with a stream
    is_done: asyncio.Event = field(default_factory=asyncio.Event)  # of runs that don't end

    async def follow(self) -> None:
        while not self._has_ended():
            with suppress(OSError):
                await self.client.connect()
                self.connections += await self._wait_for_head()
                await self._wait_until(self.client.is_closed.is_set)
            await self.client.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await self.is_done.wait()

    @property
    def is_back(self) -> bool:
        is_open = self.client.status == "200" and not self.client.is_closed.is_set()
        return self.client.has_finished or (self.connections > 0 and is_open)

    def _has_ended(self) -> bool:
        return self.client.has_finished or self.is_done.is_set()

    async def _wait_for_head(self) -> bool:
        await self._wait_until(lambda: bool(self.client.status) or self.client.is_closed.is_set())
        if self.client.status != "200":  # what a server says that is about to end
            await self.client.close()
        return self.client.status == "200"

    async def _wait_until(self, has_come: Callable[[], bool]) -> None:
        await until_async(
            lambda: has_come() or self._has_ended(), seconds=inf
        )  # as long as the test


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("client_count", "run_count"),
    [(8, 1), pytest.param(1_000, 50, marks=pytest.mark.nightly)],
)
def test_clients_of_a_restarted_server_come_back_and_miss_and_repeat_no_event(
    client_count: int, run_count: int, cluster: Cluster, web: Web, cast: Cast
) -> None:
    key, secret = make_key(cast, cast.alice)
    headers = [{"Authorization": f"Bearer {secret}"}, sign_in(cast.alice.user)]
    workflow = import_chain(cast)
    idle = [
        start_idle_run(cluster, KeyPrincipal(key), make_workflow(cast.alice))
        for _number in range(run_count)
    ]
    cluster.start("one", threads=run_count)
    web.start()
    active = [start_active_run(KeyPrincipal(key), workflow) for _number in range(run_count)]
    followers = [
        Follower(Client(web.port, (idle + active)[number % (2 * run_count)], headers[number % 2]))
        for number in range(client_count)
    ]

    subscriptions = asyncio.run(follow_through_restarts(web, followers, idle))

    cluster.until(lambda: {*read_runs(cluster, "status", active).values()} <= {*ENDED})
    last = read_runs(cluster, "last_seq", [*idle, *active])
    assert [each.client.numbers for each in followers] == [
        list(range(1, last[each.client.run_id] + 1)) for each in followers
    ]
    assert {*read_runs(cluster, "status", active).values()} == {"succeeded"}
    assert subscriptions == [1, 1]


async def follow_through_restarts(
    web: Web, followers: Sequence[Follower], idle: Sequence[UUID]
) -> list[int]:
    """Return the number of connections to the bus on which the server listened, after each of its restarts."""
    tasks = [asyncio.create_task(each.follow()) for each in followers]
    until = partial(until_async, seconds=PATIENCE)
    await until(lambda: all(each.client.arrivals for each in followers))
    subscriptions = []
    for how in (signal.SIGTERM, signal.SIGKILL):
        for each in followers:
            each.connections = 0
        await asyncio.to_thread(web.end, how)
        await asyncio.to_thread(web.start)
        await until(lambda: all(each.is_back for each in followers))
        # A stream may begin before the bus has confirmed the subscription.
        await until(lambda: count_subscribed() > 0)
        subscriptions.append(count_subscribed())
        await asyncio.to_thread(add_event, web.cluster, idle)
    await until(
        lambda: all(
            each.client.has_finished or each.client.numbers[-1:] == [IDLE_EVENTS]
            for each in followers
        )
    )
    for each in followers:
        each.is_done.set()
    await asyncio.gather(*tasks)
    return subscriptions


def sign_in(user: Any) -> dict[str, str]:
    browser = Browser()
    browser.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={browser.cookies[name].value}"}


def start_idle_run(cluster: Cluster, principal: KeyPrincipal, workflow: Workflow) -> UUID:
    """Start a run that nobody executes, with one event."""
    run = start_run(principal, workflow=workflow, inputs={"text": "hi"})
    cluster.db.execute("update workflows_run set status = 'paused' where id = %s", (run.pk,))
    add_event(cluster, [run.pk])
    return run.pk


def start_active_run(principal: KeyPrincipal, workflow: Workflow) -> UUID:
    mock = {"delay_s": NODE_SECONDS, "outputs": {"output": "x"}}
    return start_run(principal, workflow=workflow, inputs={}, mocks=dict.fromkeys(NODES, mock)).pk


def import_chain(cast: Cast) -> Workflow:
    """Import a workflow with the nodes, one after the other."""
    data = {"type": "template-transform", "template": "x", "variables": []}
    ids = ["start", *NODES, "end"]
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        *({"id": each, "data": {**data, "title": each}} for each in NODES),
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
    ]
    edges = [{"id": end, "source": start, "target": end} for start, end in pairwise(ids)]
    document = {"version": "0.1.0", "nodes": nodes, "edges": edges}
    return importing.import_document(
        cast.alice.principal, team_id=cast.team_a.pk, source=document, name="Chain"
    ).workflow


def add_event(cluster: Cluster, runs: Sequence[UUID]) -> None:
    """Store another event of each run, of which no message is sent."""
    cluster.db.execute(
        "with run as (update workflows_run set last_seq = last_seq + 1 where id = any(%s) returning id, team_id, last_seq)"
        " insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)"
        " select gen_random_uuid(), team_id, id, last_seq, 'step_edited', '{}', now() from run",
        (list(runs),),
    )


def read_runs(cluster: Cluster, column: str, runs: Sequence[UUID]) -> dict[UUID, Any]:
    query = f"select id, {column} from workflows_run where id = any(%s)"
    return dict(cluster.db.execute(query.encode(), (list(runs),)).fetchall())


def count_subscribed() -> int:
    """Return how many connections have subscribed to several channels, as a web server does. A worker has the one of cancels."""
    with Redis.from_url(settings.REDIS_URL) as server:
        clients = server.client_list(_type="pubsub")
    ours = [each for each in clients if each["db"] == str(worker_number())]
    return sum(int(each["sub"]) > 1 for each in ours)
