"""How quick pages are while nothing outside answers, and for many readers: `python -m bench.outside [--json FILE]`.

The product runs as with `make run`. First a few people read pages, which is the measure of the rest. Then fifty people at
once press what calls outside (tries of tools and of servers, tests of models, runs with an HTTP node, for some of which they
wait, and chats over the OpenAI API), and none of these calls is answered for a minute; the same people open pages meanwhile. At last 200 people read for a
minute. Whoever reads opens a page, looks at it for ``--think`` seconds, and opens the next one.
"""

import argparse
import asyncio
import http.client
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle, islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from bench._common import Bar, compute_percentile, report
from bench._services import make_scratch_folder, run_server


PORT: Final = 8798
OUTSIDE_PORT: Final = 8799
PEOPLE: Final = 50
PEOPLE_PER_TEAM: Final = 5
IDLE_READERS: Final = 5
PRESSES_AT_ONCE: Final = 2  # of one person, so that a team reaches its limit of outside calls
PAGE_BAR, HEALTH_BAR, READERS_BAR = 1.0, 0.2, 10.0
HEALTH_PAUSE: Final = 0.25  # seconds between two health checks
TIMEOUT: Final = 150.0  # longer than anything that the product waits for


@dataclass(frozen=True)
class Person:
    """A member of a team, who reads with a session and presses buttons by a key."""

    by_key: dict[str, str]
    by_session: dict[str, str]
    pages: Sequence[str]
    presses: Sequence[tuple[str, str]]  # path and body of a POST


@dataclass
class Answers:
    """The seconds of all answers, and how often each status came; 0 stands for no answer."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def faults(self) -> int:
        return sum(count for status, count in self.statuses.items() if status in {0, 500})

    @property
    def p95(self) -> float:
        return compute_percentile(self.seconds, 95)

    def request(self, method: str, path: str, headers: dict[str, str], body: str = "") -> None:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT)
        begin = time.perf_counter()
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except OSError:
            status = 0
        finally:
            connection.close()
        self.seconds.append(time.perf_counter() - begin)
        self.statuses[status] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="time of each measurement")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--think", type=float, default=5, help="seconds between two pages")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    allowed = {"NET_ALLOW": f"127.0.0.1:{OUTSIDE_PORT}"}
    with (
        make_scratch_folder() as scratch,
        patch.dict(os.environ, allowed),
        run_hanging_server(options.seconds),
        run_server(scratch, PORT) as start_url,
    ):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT)
        connection.request("GET", start_url.partition(str(PORT))[2])
        connection.getresponse().read()
        home = {
            "MNEMOFLOW_HOME": str(Path(scratch) / "home"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        with patch.dict(os.environ, home):
            import django

            django.setup()
            people = create_people(f"http://127.0.0.1:{OUTSIDE_PORT}")
        return _measure(people, options)


@contextmanager
def run_hanging_server(seconds: float) -> Iterator[None]:
    """Run a server that accepts every connection, and closes it after so many seconds without a word."""

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        asyncio.start_server(hang, "127.0.0.1", OUTSIDE_PORT, backlog=1024)
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _measure(people: Sequence[Person], options: argparse.Namespace) -> int:
    idle, _ = measure(people[:IDLE_READERS], options, think=1.0)
    pressed = Answers()
    pages, health = measure(people, options, pressed=pressed)
    many = [*islice(cycle(people), options.readers)]
    readers, _ = measure(many, options)
    bars = [
        Bar("page, p95, while nothing outside answers", pages.p95, PAGE_BAR, " s"),
        Bar("answers with status 500, or none", float(pages.faults + pressed.faults + health.faults), 0),
        Bar("/livez meanwhile, the longest", max(health.seconds), HEALTH_BAR, " s"),
        Bar(f"p95 of {options.readers} readers, times that of {IDLE_READERS}", readers.p95 / idle.p95, READERS_BAR, "×"),
        Bar(f"faults for {options.readers} readers", float(readers.faults), 0),
    ]  # fmt: skip
    measured = {
        "idle_p95_s": idle.p95,
        "idle_pages": len(idle.seconds),
        "beside_pages": len(pages.seconds),
        "pressed": {str(status): count for status, count in sorted(pressed.statuses.items())},
        "readers_p95_s": readers.p95,
        "readers_pages": len(readers.seconds),
    }
    return report(bars, measured, options.json)


def measure(
    people: Sequence[Person],
    options: argparse.Namespace,
    *,
    pressed: Answers | None = None,
    think: float | None = None,
) -> tuple[Answers, Answers]:
    """Let people read pages, and press buttons if ``pressed`` is given. Return the answers of pages and of health checks."""
    pages, stop, jobs = Answers(), threading.Event(), list[Job]()
    pause = options.think if think is None else think
    for number, person in enumerate(people):
        jobs.append(Job(partial(read, pages, person), pause, pause * number / len(people)))
        if pressed is not None:
            jobs += [
                Job(partial(press, pressed, person, number + first), 1.0)
                for first in range(PRESSES_AT_ONCE)
            ]
    threads = [threading.Thread(target=job.repeat, args=(stop,), daemon=True) for job in jobs]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as monitor:
        monitor.submit(check_health, 0.0).result()  # it is there before anybody reads
        for thread in threads:
            thread.start()
        health = Answers(*monitor.submit(check_health, options.seconds).result())
        stop.set()
        for thread in threads:
            thread.join(TIMEOUT)
    return pages, health


def check_health(seconds: float) -> tuple[list[float], Counter[int]]:
    """Check for so long whether the server lives, and return the fields of the answers.

    As a load balancer, it is a process of its own: among the threads of the readers it would wait for these, and not for
    the server.
    """
    health, end = Answers(), time.monotonic() + seconds
    while time.monotonic() < end:
        health.request("GET", "/livez", {})
        time.sleep(HEALTH_PAUSE)
    return health.seconds, health.statuses


@dataclass(frozen=True)
class Job:
    """A person does this again and again, with a pause in seconds between, after a delay."""

    act: Callable[[int], None]
    pause: float
    delay: float = 0.0

    def repeat(self, stop: threading.Event) -> None:
        stop.wait(self.delay)
        for turn in count():
            if stop.is_set():
                return
            self.act(turn)
            stop.wait(self.pause)


def read(answers: Answers, person: Person, turn: int) -> None:
    answers.request("GET", person.pages[turn % len(person.pages)], person.by_session)


def press(answers: Answers, person: Person, first: int, turn: int) -> None:
    path, body = person.presses[(first + turn) % len(person.presses)]
    answers.request("POST", path, {**person.by_key, "Content-Type": "application/json"}, body)


def create_people(outside: str) -> list[Person]:
    """Create teams of five whose model, tools and embedding model lie at the address ``outside``, and a workflow that calls it."""
    from accounts.models import Role, User
    from accounts.principals import load_user_principal
    from accounts.services import add_member
    from bench._services import create_operator

    people = []
    for number in range(PEOPLE // PEOPLE_PER_TEAM):
        owner, team = create_operator()
        members = [owner]
        for member in range(1, PEOPLE_PER_TEAM):
            address = f"person-{number}-{member}@example.org"
            members.append(User.objects.create_user(address, name=f"Person {member}"))
            add_member(team=team, user=members[-1], role=Role.ADMIN)
        pages, presses = _furnish(load_user_principal(owner), team, outside)
        people += [_sign_in(user, team, pages, presses) for user in members]
    return people


def _sign_in(
    user: Any, team: Any, pages: Sequence[str], presses: Sequence[tuple[str, str]]
) -> Person:
    from django.conf import settings
    from django.test import Client as Browser

    from accounts.principals import load_user_principal
    from accounts.roles import SCOPES
    from accounts.services import issue_key

    principal = load_user_principal(user)
    _key, secret = issue_key(
        principal=principal, team=team, name="Bench", scopes={*SCOPES, "credentials:write"}
    )
    browser = Browser()
    browser.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return Person(
        by_key={"Authorization": f"Bearer {secret}"},
        by_session={"Cookie": f"{name}={browser.cookies[name].value}"},
        pages=pages,
        presses=presses,
    )


def _furnish(principal: Any, team: Any, outside: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Give a team what calls outside, and return the pages that its people read and the presses that call."""
    from django.urls import reverse

    from workflows.services import credentials
    from workflows.services.catalog.importing import import_document
    from workflows.services.publishing import publish

    provider = credentials.create_provider(
        principal,
        team_id=team.pk,
        name="outside",
        base_url=f"{outside}/v1",
        secret="sk-bench-0123456789",
        default_model="slow",
    )
    workflow = import_document(
        principal, team_id=team.pk, source=_build_document(outside), name="Asks outside"
    ).workflow
    chat = import_document(
        principal, team_id=team.pk, source=_build_chat(provider.name), name="Asks a model"
    ).workflow
    publish(principal, workflow=chat)
    embedding, connections = _connect(team, provider, outside)
    presses = _list_presses(provider, embedding, connections, workflow, chat)
    pages = [
        reverse("home"),
        reverse("workflows:list"),
        reverse("workflows:detail", args=[workflow.pk]),
        reverse("workflows:runs"),
        reverse("workflows:providers"),
        reverse("memory:list"),
    ]
    return pages, presses


def _list_presses(
    provider: Any, embedding: Any, connections: dict[str, Any], workflow: Any, chat: Any
) -> list[tuple[str, str]]:
    """Return the path and the body of each request that calls outside."""
    api = "/api/v1"
    tries = [
        (f"{api}/tools/connections/{row.pk}/try", '{"operation": "read"}')
        for row in connections.values()
    ]
    return [
        *tries,
        (f"{api}/providers/{provider.pk}/test", "{}"),
        (f"{api}/providers/{provider.pk}/models/{embedding.pk}/test", "{}"),
        (
            f"{api}/workflows/{workflow.pk}/runs",
            '{"inputs": {}, "version": "draft", "response_mode": "async"}',
        ),
        (
            f"{api}/workflows/{workflow.pk}/runs",
            '{"inputs": {}, "version": "draft", "response_mode": "blocking", "wait_seconds": 60}',
        ),
        (
            "/openai/v1/chat/completions",
            json.dumps(
                {
                    "model": chat.slug,
                    "messages": [{"role": "user", "content": "Hello?"}],
                    "stream": True,  # a failed run is status 500 otherwise
                }
            ),
        ),
        (f"{api}/tools/connections/{connections['mcp_http'].pk}/refresh", "{}"),
    ]


def _connect(team: Any, provider: Any, outside: str) -> tuple[Any, dict[str, Any]]:
    """Return an embedding model, and a connection of each kind of tool, at the address ``outside``."""
    from accounts.tenancy import tenant
    from workflows.models import ProviderModel, ToolConnection

    operation = {
        "name": "read",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
        "call": {"method": "GET", "path": "/read", "arguments": {}, "body_type": "", "name": "read"},
    }  # fmt: skip
    with tenant([team.pk]):
        embedding = ProviderModel.objects.create(
            team=team, provider=provider, type="embedding", name="slow", is_default=True, dimensions=5
        )  # fmt: skip
        connections = {
            kind: ToolConnection.objects.create(
                team=team,
                name=kind,
                slug=kind.replace("_", "-"),
                kind=kind,
                url=outside,
                document_url=outside,
                operations=[operation],
                enabled_operations=["read"],
                authentication={"type": "bearer", "name": ""},
            )
            for kind in ("openapi", "mcp_http")
        }
    return embedding, connections


def _build_chat(provider: str) -> dict[str, Any]:
    """Return a chat that gives the answer of its model."""
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}
    ask = {
        "id": "ask",
        "data": {
            "type": "llm",
            "title": "Ask",
            "model": {"provider": provider, "name": "slow", "mode": "chat"},
            "prompt_template": [{"role": "user", "text": "{{#sys.query#}}"}],
        },
    }
    answer = {
        "id": "answer",
        "data": {"type": "answer", "title": "Answer", "answer": "{{#ask.text#}}"},
    }
    return _connect_nodes(start, ask, answer)


def _build_document(outside: str) -> dict[str, Any]:
    """Return a workflow of one HTTP node."""
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}
    ask = {
        "id": "ask",
        "data": {
            "type": "http-request",
            "title": "Ask",
            "method": "get",
            "url": outside,
            "authorization": {"type": "no-auth"},
            "headers": "",
            "params": "",
            "body": {"type": "none", "data": []},
        },
    }
    end = {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}}
    return _connect_nodes(start, ask, end)


def _connect_nodes(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the workflow that goes from each node to the next."""
    edges = [
        {"id": str(number), "source": source["id"], "target": target["id"]}
        for number, (source, target) in enumerate(pairwise(nodes), 1)
    ]
    return {"version": "0.1.0", "nodes": [*nodes], "edges": edges}


if __name__ == "__main__":
    raise SystemExit(main())
