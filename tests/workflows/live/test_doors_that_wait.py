"""Whoever waits at one of our doors for a run holds no connection, however slow the models and servers of the run are.

A door is a route that answers only when the run has ended, or sends its events until then.
"""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as django_settings
from django.db import connections
from django.test import Client

from accounts.tenancy import tenant
from config.postgres.base import DatabaseWrapper
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, make_key
from tests.support.own_server import own_server
from tests.support.waiting import LIMIT, until
from tests.workflows.dify_api.apps import build_chat, build_workflow, make_app_key
from tests.workflows.mcp_server.messages import ADDRESS, NEW, list_tool_names
from workflows.dify_api import starting
from workflows.models import Run, Workflow
from workflows.services.public_pages.settings import change_page
from workflows.services.runs.runs import cancel_run


pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE: Final = 3  # who wait at the same door
Headers = Mapping[str, str]


@dataclass(frozen=True)
class Knock:
    """A request at a door, which starts a run, or follows one that was started before."""

    path: str
    body: Any = None  # JSON; None for a GET request
    headers: Headers = field(default_factory=dict)

    def send(self, port: int, statuses: list[int]) -> None:
        """Add the status when the whole answer is there."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        body = None if self.body is None else json.dumps(self.body)
        headers = {"Content-Type": "application/json", **self.headers}
        connection.request("GET" if body is None else "POST", self.path, body, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        statuses.append(answer.status)


@dataclass(frozen=True)
class House:
    """A team with a published workflow and a published chat, and who calls them."""

    cast: Cast
    workflow: Workflow
    chat: Workflow
    port: int

    @property
    def by_key(self) -> Headers:
        return {"Authorization": f"Bearer {make_key(self.cast, self.cast.alice)[1]}"}

    def bring_app_key(self, workflow: Workflow) -> Headers:
        return {"Authorization": f"Bearer {make_app_key(self.cast.alice, workflow)[1]}"}


def call_own_api(house: House) -> Knock:
    body = {"inputs": {}, "response_mode": "blocking", "wait_seconds": 60}
    return Knock(f"/api/v1/workflows/{house.workflow.pk}/runs", body, house.by_key)


def follow_by_api(house: House) -> Knock:
    path = f"/api/v1/workflows/{house.workflow.pk}/runs"
    started = house.cast.alice.client.post(
        path, {"inputs": {}, "response_mode": "async"}, content_type="application/json"
    )
    session = read_session(house.cast.alice.client)
    return Knock(f"/api/v1/runs/{started.json()['id']}/events", headers=session)


def follow_on_page(house: House) -> Knock:
    client = house.cast.alice.client
    client.post(f"/chat/{house.chat.pk}/say/", {"query": "Hello?"}, headers={"HX-Request": "true"})
    return Knock(f"/runs/{find_runs(house)[0].pk}/events/", headers=read_session(client))


def follow_as_visitor(house: House) -> Knock:
    """The public page, which is also what an embedded chat shows."""
    page, client = (
        change_page(house.cast.alice.principal, workflow=house.chat, access="link"),
        Client(),
    )
    root = f"/p/{page.token}/"
    client.get(root)
    client.post(f"{root}say/", {"query": "Hello?"}, headers={"HX-Request": "true"})
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return Knock(f"{root}turns/{find_runs(house)[0].pk}/events/", headers={"Cookie": cookies})


def call_openai(house: House, *, is_streamed: bool) -> Knock:
    messages = [{"role": "user", "content": "Hello?"}]
    body = {"model": house.chat.slug, "messages": messages, "stream": is_streamed}
    return Knock("/openai/v1/chat/completions", body, house.by_key)


def call_dify_chat(house: House, *, mode: str) -> Knock:
    body = {"inputs": {}, "query": "Hello?", "user": "u", "response_mode": mode}
    return Knock("/v1/chat-messages", body, house.bring_app_key(house.chat))


def call_dify_workflow(house: House, *, mode: str) -> Knock:
    body = {"inputs": {}, "user": "u", "response_mode": mode}
    return Knock("/v1/workflows/run", body, house.bring_app_key(house.workflow))


def call_mcp(house: House, *, revision: str) -> Knock:
    client = Client(headers=dict(house.by_key))
    name = next(each for each in list_tool_names(client) if each.startswith("works"))
    params: dict[str, Any] = {"name": name, "arguments": {}}
    headers = {**house.by_key, "Accept": "application/json, text/event-stream"}
    if revision == NEW:
        headers |= {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": name}
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Knock(ADDRESS, body, headers)


DOORS: Final[Mapping[str, Callable[[House], Knock]]] = {
    "own API": call_own_api,
    "events of the own API": follow_by_api,
    "events of a page": follow_on_page,
    "events of a public page": follow_as_visitor,
    "OpenAI": partial(call_openai, is_streamed=False),
    "OpenAI, streamed": partial(call_openai, is_streamed=True),
    "Dify chat": partial(call_dify_chat, mode="blocking"),
    "Dify chat, streamed": partial(call_dify_chat, mode="streaming"),
    "Dify workflow": partial(call_dify_workflow, mode="blocking"),
    "Dify workflow, streamed": partial(call_dify_workflow, mode="streaming"),
    "MCP": partial(call_mcp, revision="2025-06-18"),
    "MCP 2026-07-28": partial(call_mcp, revision=NEW),
}


@pytest.fixture
def house(cast: Cast, settings: Any, valkey_url: str) -> Iterator[House]:
    settings.REDIS_URL = valkey_url
    workflow = make_workflow(cast.alice, "Works", build_workflow())
    chat = make_workflow(cast.alice, "Chats", build_chat())
    for each in (workflow, chat):
        make_version(cast.alice, each)
    with own_server() as address:
        yield House(cast, workflow, chat, urlsplit(address).port or 0)


def read_session(client: Client) -> Headers:
    name = django_settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={client.cookies[name].value}"}


def find_runs(house: House) -> list[Run]:
    with tenant([house.cast.team_a.pk]):
        return list(Run.objects.unscoped().select_related("api_key").order_by("-created_at"))


def count_held_connections() -> int:
    """Return how many connections of the pool are in use, without that of the test."""
    connections["default"].close()
    statistics = DatabaseWrapper._connection_pools["default"].get_stats()
    return int(statistics["pool_size"] - statistics["pool_available"])


@pytest.mark.parametrize("door", DOORS)
def test_who_waits_at_a_door_holds_no_connection(house: House, door: str) -> None:
    """Nobody executes the run, as if its model never answered."""
    knock, statuses = DOORS[door](house), list[int]()
    count = AT_ONCE if knock.body is not None else 1
    threads = [
        threading.Thread(target=knock.send, args=(house.port, statuses), daemon=True)
        for _number in range(AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(find_runs(house)) == count or statuses, why="no run was started")
    until(lambda: not count_held_connections() or statuses, why="a connection is held")
    assert statuses == []

    for run in find_runs(house):
        cancel_run(house.cast.alice.principal, run)
    for thread in threads:
        thread.join(LIMIT)

    assert len(statuses) == AT_ONCE


def test_door_that_holds_a_connection_is_found_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    def hold(team_id: Any) -> None:
        with tenant([team_id]):
            list(Run.objects.unscoped()[:1])
            may_go_on.wait(LIMIT)

    async def wait_holding(run: Run, _seconds: float) -> None:
        await sync_to_async(hold)(run.team_id)

    monkeypatch.setattr(starting, "wait_until_ended", wait_holding)
    knock, statuses = DOORS["Dify chat"](house), list[int]()
    thread = threading.Thread(target=knock.send, args=(house.port, statuses), daemon=True)
    thread.start()
    try:
        until(lambda: find_runs(house))
        until(count_held_connections)
    finally:
        may_go_on.set()
        thread.join(LIMIT)

    assert len(statuses) == 1
    until(lambda: not count_held_connections())
