"""Two workers whose runs need the same expired token: one renews it, and the other takes over if that one dies."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from starlette.responses import Response

from config import net
from tests.durability.conftest import Cluster
from tests.factories.workflows import make_workflow
from tests.fakes.mcp_sign_in import SignInServer, serve_sign_in
from tests.support.cast import Cast
from tests.workflows.tools.signed_in.conftest import change_sign_in, connect, reload, sign_in
from tests.workflows.tools.signed_in.test_in_run import DOCUMENT
from workflows.models import Run, ToolConnection
from workflows.services import tools
from workflows.services.runs.runs import start_run


RUNS = 6
RENEWAL = "POST /token"


@pytest.fixture
def server() -> Iterator[SignInServer]:
    with serve_sign_in() as server:
        yield server


@pytest.fixture
def connection(
    cluster: Cluster, cast: Cast, server: SignInServer, monkeypatch: pytest.MonkeyPatch
) -> ToolConnection:
    """A connection to which Ada has signed in, and whose token has expired since."""
    cluster.environment["NET_ALLOW"] = "127.0.0.1:*"
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    connection = connect(cast, server)
    sign_in(cast.ada, connection, server)
    connection = reload(connection)
    tools.choose_operations(
        cast.ada.principal, connection=connection, enabled={"add"}, approvals=set()
    )
    change_sign_in(connection, expires_at=timezone.now())
    return connection


def start_runs(cast: Cast, count: int) -> list[Run]:
    workflow = make_workflow(cast.alice, source=DOCUMENT)
    return [start_run(cast.alice.principal, workflow=workflow, inputs={}) for _ in range(count)]


def count_busy_workers(cluster: Cluster) -> int:
    rows = cluster.db.execute(
        "select count(distinct worker) from workflows_run where status = 'running'"
    )
    row: Any = rows.fetchone()
    return int(row[0])


def hold(server: SignInServer, answer: Response | None) -> Callable[[], None]:
    """Let requests for tokens wait until the returned function is called, and then get this answer, or the server's if it is None."""
    is_open = threading.Event()

    async def wait() -> Response | None:
        await asyncio.to_thread(is_open.wait)
        return answer

    def build() -> Awaitable[Response | None]:
        return wait()

    def release() -> None:
        is_open.set()
        del server.on_request["/token"]

    server.on_request["/token"] = build
    return release


def keep_renewal(connection: ToolConnection) -> None:
    """Let the time of the renewal that goes on not end before the test says so, however slow the machine is."""
    change_sign_in(connection, renewed_until=timezone.now() + timedelta(hours=1))


def read_outcomes(cluster: Cluster, runs: list[Run]) -> list[tuple[str, Any]]:
    rows = [cluster.until_ended(run) for run in runs]
    return [(row["status"], row["outputs"]) for row in rows]


def test_token_is_renewed_once_for_the_runs_of_two_workers(
    cluster: Cluster, cast: Cast, server: SignInServer, connection: ToolConnection
) -> None:
    count = server.requests.count(RENEWAL)
    release = hold(server, None)
    cluster.start("one", threads=RUNS // 2)
    cluster.start("two", threads=RUNS // 2)
    runs = start_runs(cast, RUNS)
    cluster.until(lambda: server.requests.count(RENEWAL) == count + 1)
    keep_renewal(connection)
    cluster.until(lambda: count_busy_workers(cluster) == 2)

    release()

    assert read_outcomes(cluster, runs) == [("succeeded", {"text": "3"})] * RUNS
    assert server.requests.count(RENEWAL) == count + 1
    assert len({call.key for call in server.mcp.calls}) == len(server.mcp.calls) == RUNS


def test_renewal_of_a_killed_worker_is_taken_over_when_its_time_is_up(
    cluster: Cluster, cast: Cast, server: SignInServer, connection: ToolConnection
) -> None:
    count = server.requests.count(RENEWAL)
    release = hold(server, Response(status_code=503))  # the renewal of the first never succeeds
    cluster.start("one", threads=1)
    runs = start_runs(cast, 1)
    cluster.until(lambda: server.requests.count(RENEWAL) == count + 1)
    keep_renewal(connection)
    cluster.start("two", threads=RUNS)
    runs += start_runs(cast, 2)
    cluster.until(lambda: count_busy_workers(cluster) == 2)

    cluster.kill("one")
    release()
    cluster.expire_leases()
    waiting = server.requests.count(RENEWAL) - count
    change_sign_in(connection, renewed_until=timezone.now() - timedelta(seconds=1))

    assert read_outcomes(cluster, runs) == [("succeeded", {"text": "3"})] * 3
    assert (waiting, server.requests.count(RENEWAL) - count) == (1, 2)
    assert len({call.key for call in server.mcp.calls}) == len(server.mcp.calls) == 3
