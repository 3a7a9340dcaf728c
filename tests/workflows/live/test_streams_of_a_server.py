"""Event streams of our own web server: what they leave free, what they leave behind, and who gets one."""

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.test import Client

from accounts.models import Membership
from accounts.principals import KeyPrincipal
from accounts.services import remove_member, revoke_key
from accounts.tenancy import lookup, tenant
from bench._streams import Client as StreamClient
from bench._streams import connect_all
from config.http import event_streams, handler
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, make_key
from tests.support.own_server import own_server
from tests.support.waiting import LIMIT, until, until_async
from workflows.execution.events import hub, run_feed
from workflows.models import Run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

Headers = dict[str, str]
VARYING = {"date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}


@pytest.fixture
def port(settings: Any, valkey_url: str) -> Iterator[int]:
    settings.REDIS_URL = valkey_url
    with own_server() as address:
        yield urlsplit(address).port or 0


@pytest.fixture
def by_key(cast: Cast) -> tuple[Any, Headers]:
    key, secret = make_key(cast, cast.alice)
    return KeyPrincipal(key), {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def run(cast: Cast, by_key: tuple[Any, Headers], port: int) -> Run:
    return start_run_with_event(by_key[0], make_workflow(cast.alice))


def start_run_with_event(principal: Any, workflow: Any) -> Run:
    """Start a run with an event, which nobody executes any further."""
    run = start_run(principal, workflow=workflow, inputs={"text": "hi"})
    with psycopg.connect(_owner(), autocommit=True) as db:
        db.execute("update workflows_run set last_seq = 1 where id = %s", (run.pk,))
        db.execute(
            "insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)"
            " values (gen_random_uuid(), %s, %s, 1, 'run_started', '{}', now())",
            (run.team_id, run.pk),
        )
    return run


def _owner() -> str:
    from tests.support import servers
    from tests.support.database import database_name

    return servers.postgres().build_url(name=database_name())


def _sign_in(user: Any) -> Headers:
    browser = Client()
    browser.force_login(user)
    name = django_settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={browser.cookies[name].value}"}


def count_database_connections() -> int:
    """Those in use or idle in a transaction are the ones that a stream could hold."""
    with psycopg.connect(_owner(), autocommit=True) as db:
        row = db.execute(
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid() and backend_type = 'client backend'"
        ).fetchone()
    return int(row[0]) if row else -1


def open_streams(port: int, run: Run, headers: list[Headers], then: Any) -> Any:
    """Open a stream with each of these headers, call ``then`` in a thread, and leave as closed pages do."""

    async def talk() -> Any:
        clients = [StreamClient(port, run.pk, each) for each in headers]
        await connect_all(clients)
        try:
            assert [client.status for client in clients] == ["200"] * len(clients)
            assert [client.numbers for client in clients] == [[1]] * len(clients)
            return await asyncio.to_thread(then)
        finally:
            await asyncio.gather(*(client.close() for client in clients))

    return asyncio.run(talk())


def get(port: int, path: str, headers: Headers) -> tuple[str, Headers]:
    """Return the status, and the headers that don't vary."""

    async def ask() -> tuple[str, Headers]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        fields = {"Host": f"127.0.0.1:{port}", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        async with asyncio.timeout(LIMIT):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        status, *rows = head.strip().split("\r\n")
        pairs = (row.split(": ", 1) for row in rows)
        found = {name.lower(): value for name, value in pairs if name.lower() not in VARYING}
        return status.split(" ")[1], found

    return asyncio.run(ask())


def record_streams_opened_by_views(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the path of each stream that isn't opened together with others."""
    paths: list[str] = []
    respond = handler.Handler._respond

    def record(self: handler.Handler, scope: Any, *arguments: Any) -> Any:
        paths.append(scope["path"])
        return respond(self, scope, *arguments)

    monkeypatch.setattr(handler.Handler, "_respond", record)
    return paths


def test_streams_hold_no_thread_and_no_connection_and_leave_none_behind(
    cast: Cast, port: int, run: Run, by_key: tuple[Any, Headers]
) -> None:
    session = _sign_in(cast.alice.user)
    get(port, "/workflows/", session)
    open_streams(port, run, [by_key[1], session], lambda: None)  # the threads and pools that stay
    threads, connections = threading.active_count(), count_database_connections()

    def look() -> tuple[int, int, set[str]]:
        statuses = {get(port, "/workflows/", session)[0] for _ in range(5)}
        statuses |= {get(port, "/livez", {})[0] for _ in range(5)}
        return threading.active_count(), count_database_connections(), statuses

    open_threads, open_connections, statuses = open_streams(
        port, run, [by_key[1], session] * 60, look
    )

    # Of 120 streams. The test's own loop and its thread are among them, and what the server keeps for other requests.
    assert open_threads <= threads + 50
    assert open_connections <= connections + 50
    # Streams that held all threads would keep others waiting for ever. How fast those are is measured by bench.live.
    assert statuses == {"200"}
    until(lambda: threading.active_count() <= threads + 50)
    until(lambda: count_database_connections() <= connections + 50)


@pytest.mark.parametrize(
    "path", ["/api/v1/runs/{run}/events", "/runs/{run}/events/"], ids=["API", "page"]
)
@pytest.mark.parametrize("kind", ["key", "session", "in Chinese", "person's language"])
def test_streams_opened_together_have_the_headers_of_the_view(
    cast: Cast,
    port: int,
    run: Run,
    by_key: tuple[Any, Headers],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    kind: str,
) -> None:
    if kind == "person's language":
        cast.alice.user.locale = "zh-hans"
        cast.alice.user.save()
    headers = by_key[1] if kind == "key" else _sign_in(cast.alice.user)
    if kind == "in Chinese":
        headers["Accept-Language"] = "zh-hans"
    address = path.format(run=run.pk)

    by_view = record_streams_opened_by_views(monkeypatch)

    together = [get(port, address, headers) for _ in range(2)]
    # A page doesn't accept keys, so its view answers.
    by_view_at_first, by_view[:] = list(by_view), []

    async def open_alone(*_arguments: Any) -> None:
        return None

    monkeypatch.setattr(handler.StreamOpener, "open_together", open_alone)
    alone = get(port, address, headers)

    assert by_view_at_first == ([address] * 2 if kind == "key" and "/api/" not in address else [])
    assert by_view == [address]
    assert together == [alone, alone]


def test_who_may_not_see_the_run_gets_the_answer_of_the_view(
    cast: Cast, port: int, run: Run, by_key: tuple[Any, Headers]
) -> None:
    address = f"/api/v1/runs/{run.pk}/events"
    _key, secret = make_key(cast, cast.carol)
    signed_out = _sign_in(cast.alice.user)
    Client(headers={"Cookie": signed_out["Cookie"]}).logout()
    gone = _sign_in(cast.bob.user)
    cast.bob.user.is_active = False
    cast.bob.user.save()

    statuses = {
        "stranger": get(port, address, _sign_in(cast.carol.user))[0],
        "stranger's key": get(port, address, {"Authorization": f"Bearer {secret}"})[0],
        "team-mate": get(port, address, _sign_in(cast.ada.user))[0],
        "nobody": get(port, address, {})[0],
        "wrong key": get(port, address, {"Authorization": "Bearer mf_wrong"})[0],
        "key and session": get(
            port, address, {"Authorization": "Bearer mf_wrong", **_sign_in(cast.alice.user)}
        )[0],
        "made-up session": get(
            port, address, {"Cookie": f"{django_settings.SESSION_COOKIE_NAME}=abc"}
        )[0],
        "inactive": get(port, address, gone)[0],
        "wrong host": get(port, address, {**by_key[1], "Host": "evil.example"})[0],
        "null character": get(port, f"{address}?a=%00", by_key[1])[0],
        "owner": get(port, address, by_key[1])[0],
    }

    assert statuses == {
        "stranger": "404",
        "stranger's key": "404",
        "team-mate": "404",
        "nobody": "401",
        "wrong key": "401",
        "key and session": "401",
        "made-up session": "401",
        "inactive": "401",
        "wrong host": "400",
        "null character": "400",
        "owner": "200",
    }


def test_client_that_takes_nothing_is_dropped_and_resumes_where_it_was(
    port: int, run: Run, by_key: tuple[Any, Headers], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 200  # 10 MB: more than all buffers on the way hold
    monkeypatch.setattr(event_streams, "SEND_SECONDS", 1.0)
    abort, is_dropped = event_streams._abort_connection, threading.Event()

    def drop(send: Any) -> None:
        abort(send)
        is_dropped.set()

    monkeypatch.setattr(event_streams, "_abort_connection", drop)
    with psycopg.connect(_owner(), autocommit=True) as db:
        db.execute(
            "insert into workflows_runevent (id, team_id, run_id, seq, name, data, at)"
            " select gen_random_uuid(), %s, %s, n, 'step_edited',"
            " json_build_object('text', repeat('x', 50000)), now() from generate_series(2, %s) n",
            (run.team_id, run.pk, count),
        )

    async def talk() -> tuple[bool, list[int]]:
        client = StreamClient(port, run.pk, by_key[1])
        await client.connect(receive_buffer=4096)
        assert client.transport is not None
        client.transport.pause_reading()
        await until_async(is_dropped.is_set)
        monkeypatch.setattr(event_streams, "SEND_SECONDS", 120.0)  # now it may be slow
        client.transport.resume_reading()
        await until_async(client.is_closed.is_set)
        was_incomplete = len(client.arrivals) < count
        await client.connect()
        await until_async(lambda: len(client.arrivals) >= count)
        await client.close()
        return was_incomplete, client.numbers

    was_incomplete, numbers = asyncio.run(talk())

    assert was_incomplete
    assert numbers == list(range(1, count + 1))


def test_limits_of_requests_apply_to_streams_that_are_opened_together(
    port: int, run: Run, by_key: tuple[Any, Headers]
) -> None:
    key = by_key[0].key
    key.requests_per_minute = 5
    with tenant([key.team_id]):
        key.save()
    address = f"/api/v1/runs/{run.pk}/events"

    async def ask_together() -> list[tuple[str, Headers]]:
        return list(
            await asyncio.gather(
                *(asyncio.to_thread(get, port, address, by_key[1]) for _ in range(12))
            )
        )

    responses = asyncio.run(ask_together())

    # The minute may end between them.
    assert 5 <= [status for status, _headers in responses].count("200") < 12
    refused = [headers for status, headers in responses if status == "429"]
    assert all(int(headers["retry-after"]) > 0 for headers in refused)
    assert {headers["x-ratelimit-limit"] for _status, headers in responses} == {"5"}


@pytest.mark.parametrize("kind", ["key is revoked", "session ends", "member leaves"])
def test_stream_ends_when_its_reader_may_not_see_the_run_any_more(
    cast: Cast, port: int, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    checks = count_checks(monkeypatch)
    key, secret = make_key(cast, cast.bob)
    by_key, session = {"Authorization": f"Bearer {secret}"}, _sign_in(cast.bob.user)
    headers = by_key if kind == "key is revoked" else session
    principal = KeyPrincipal(key) if kind == "key is revoked" else cast.bob.principal
    workflow = make_workflow(cast.alice)
    own = start_run_with_event(principal, workflow)
    others, alice = start_run_with_event(cast.alice.principal, workflow), _sign_in(cast.alice.user)
    takes_away: dict[str, Callable[[], object]] = {
        "key is revoked": lambda: revoke_key(cast.alice.principal, key_id=key.pk),
        "session ends": lambda: Client(headers=session).post("/accounts/logout/"),
        "member leaves": lambda: remove_member(
            cast.alice.principal, membership_id=find_membership(cast.bob.user)
        ),
    }

    def take_away() -> None:
        takes_away[kind]()
        connections.close_all()

    async def talk() -> tuple[bool, bool]:
        # So that the connection ends with the stream, and not when it was idle for some seconds.
        loses = StreamClient(port, own.pk, {**headers, "Connection": "close"})
        keeps = StreamClient(port, others.pk, alice)
        await connect_all([loses, keeps])
        seen = len(checks)
        await until_async(lambda: len(checks) >= seen + 2)  # one may have begun before
        were_open = not loses.is_closed.is_set() and not keeps.is_closed.is_set()
        await asyncio.to_thread(take_away)
        await until_async(loses.is_closed.is_set)
        stays_open = not keeps.is_closed.is_set()
        await asyncio.gather(keeps.close(), loses.close())
        return were_open, stays_open

    assert asyncio.run(talk()) == (True, True)


def count_checks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Let each poll of the server check who may still read, soon, and return a list that gets an entry after each check."""
    checks: list[None] = []
    end_refused = run_feed.RunFeed.end_refused

    async def check(self: run_feed.RunFeed) -> None:
        await end_refused(self)
        checks.append(None)

    monkeypatch.setattr(hub, "POLL_WITH_BUS", 0.05)
    monkeypatch.setattr(run_feed, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(run_feed.RunFeed, "end_refused", check)
    return checks


def find_membership(user: Any) -> UUID:
    with lookup(str(user.pk)):
        return Membership.objects.unscoped().get(user=user).pk


@pytest.mark.timed
def test_edit_is_answered_quickly_while_many_streams_are_abandoned(
    cast: Cast, port: int, run: Run, by_key: tuple[Any, Headers]
) -> None:
    workflow = make_workflow(cast.alice)

    def rename(title: str) -> float:
        body = {"ops": [{"op": "rename", "id": "end", "title": title}]}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1/workflows/{workflow.pk}/draft",
            json.dumps(body).encode(),
            {**by_key[1], "Content-Type": "application/json"},
            method="PATCH",
        )
        start = time.perf_counter()
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.status == 200
        return time.perf_counter() - start

    async def talk() -> list[float]:
        clients = [StreamClient(port, run.pk, by_key[1]) for _ in range(300)]
        await connect_all(clients)
        for client in clients:
            assert client.transport is not None
            client.transport.pause_reading()  # as a laptop that was closed
        await asyncio.gather(*(client.close() for client in clients[:150]))
        try:
            return await asyncio.to_thread(
                lambda: [rename(f"Name {number}") for number in range(5)]
            )
        finally:
            await asyncio.gather(*(client.close() for client in clients[150:]))

    seconds = asyncio.run(talk())

    assert sorted(seconds)[2] < 1  # ten times
