"""Whoever waits for a model, a server or a page holds no connection, and only a few wait at once."""

import ast
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.db import connections
from django.urls import reverse

from accounts.errors import ConnectionInUse, NotFound
from accounts.request_transaction import (
    RequestTransaction,
    list_open_blocks,
    without_connection,
)
from accounts.tenancy import tenant
from config import net
from tests.factories.workflows import make_workflow, within
from tests.fakes.serving import serving
from tests.support.cast import Cast, Person
from tests.workflows.dify_api.apps import build_chat, publish
from tests.workflows.views.chat.test_follow_ups import answer
from workflows.errors import TooManyCallsOutside
from workflows.llm.presets import find_preset
from workflows.models import ModelProvider, ProviderModel, Run, ToolConnection
from workflows.services import credentials
from workflows.services.models import local_servers as model_servers
from workflows.services.models.mappings import set_default
from workflows.services.outside_calls import (
    PERSON_CALLS,
    TEAM_CALLS,
    call_outside,
    lock_row,
    take_places,
)
from workflows.services.tools import local_servers as tool_servers


ROOT = Path(__file__).parents[2]
JSON: dict[str, Any] = {"content_type": "application/json"}  # Any: options of the client


class Outside:
    """A server that answers nothing useful, and notes at each call whether the caller's thread holds a connection."""

    def __init__(self) -> None:
        caller = connections["default"]
        outside = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outside.held.append(caller.connection is not None)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET  # noqa: N815 - the name that http.server looks for

            def log_message(self, *args: object) -> None:
                """Write nothing."""

        self.held: list[bool] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Outside]:
    settings.MEMORY_EMBEDDER_SECONDS = (
        30  # on a busy machine even this server may need more than two
    )
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    server = Outside()
    settings.LOCAL_MCP = settings.LOCAL_MODELS = True
    preset = find_preset("ollama")
    monkeypatch.setattr(tool_servers, "ADDRESSES", [server.url])
    monkeypatch.setattr(model_servers, "list_candidates", lambda: [(preset, f"{server.url}/v1")])
    with serving(server.server):
        yield server


def make_provider(person: Person, url: str) -> ModelProvider:
    return credentials.create_provider(
        person.principal,
        team_id=person.team.pk,
        name="acme",
        base_url=f"{url}/v1",
        secret="sk-canary-0123456789",
        default_model="big",
    )


def make_model(person: Person, url: str, type_: str, **more: Any) -> ProviderModel:
    provider = make_provider(person, url)
    with within(person):
        return ProviderModel.objects.create(
            team=person.team, provider=provider, type=type_, name="small", **more
        )


def make_connection(person: Person, url: str, kind: str) -> ToolConnection:
    operation = {
        "name": "read",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
        "call": {
            "method": "GET",
            "path": "/read",
            "arguments": {},
            "body_type": "",
            "name": "read",
        },
    }
    with within(person):
        return ToolConnection.objects.create(
            team=person.team,
            name="There",
            slug="there",
            kind=kind,
            url=url,
            document_url=url,
            operations=[operation],
            enabled_operations=["read"],
            authentication={"type": "bearer", "name": ""},
        )


def connect_tools(person: Person, url: str, kind: str) -> Any:
    field = "document_url" if kind == "openapi" else "url"
    return person.client.post("/api/v1/tools/connections", {"kind": kind, field: url}, **JSON)


def try_tool(person: Person, url: str, kind: str) -> Any:
    row = make_connection(person, url, kind)
    return person.client.post(
        f"/api/v1/tools/connections/{row.pk}/try", {"operation": "read"}, **JSON
    )


def refresh_tools(person: Person, url: str, kind: str) -> Any:
    row = make_connection(person, url, kind)
    return person.client.post(f"/api/v1/tools/connections/{row.pk}/refresh", {}, **JSON)


def check_provider(person: Person, url: str) -> Any:
    row = make_provider(person, url)
    return person.client.post(f"/api/v1/providers/{row.pk}/test", {}, **JSON)


def add_model(person: Person, url: str, type_: str) -> Any:
    row = make_provider(person, url)
    body = {"type": type_, "name": "small"}
    return person.client.post(f"/api/v1/providers/{row.pk}/models", body, **JSON)


def check_model(person: Person, url: str, type_: str) -> Any:
    row = make_model(person, url, type_)
    return person.client.post(
        f"/api/v1/providers/{row.provider_id}/models/{row.pk}/test", {}, **JSON
    )


def post_page(person: Person, page: str, /, *args: object, **data: str) -> Any:
    return person.client.post(reverse(f"workflows:{page}", args=args), data)


def draft(person: Person, url: str) -> Any:
    make_provider(person, url)
    words = {"start": "description", "description": "A bot that helps.", "name": "Helper"}
    return post_page(person, "new", **words, mode="workflow")


def search_memory(person: Person, url: str) -> Any:
    make_model(person, url, "embedding", is_default=True, dimensions=5)
    body = {"namespace": f"user:{person.user.pk}", "key": "tea", "value": "green"}
    person.client.post("/api/v1/memory/entries", body, **JSON)
    query = {"namespace": body["namespace"], "query_text": "What do I drink?"}
    return person.client.post("/api/v1/memory/recall", query, **JSON)


def fetch_page(person: Person, url: str) -> Any:
    args = ("try_local_tool", "builtin", "http_request")
    return post_page(person, *args, **{"argument-url": url, "argument-method": "GET"})


def list_offered_models(person: Person, url: str) -> Any:
    return post_page(
        person, "offered_models", name="acme", base_url=f"{url}/v1", secret="sk-canary"
    )


def add_model_by_page(person: Person, url: str) -> Any:
    row = make_provider(person, url)
    return post_page(person, "add_model", row.pk, type="rerank", name="small")


def check_model_by_page(person: Person, url: str) -> Any:
    row = make_model(person, url, "rerank")
    return post_page(person, "test_model", row.provider_id, row.pk)


def end_chat(person: Person, url: str) -> Run:
    """Return a turn of a chat that has ended, about which the team's model is to suggest what to ask next."""
    set_default(
        person.principal,
        team_id=person.team.pk,
        provider=make_provider(person, url),
        model="big",
    )
    return answer(person.principal, publish(person, build_chat()))


def suggest(person: Person, url: str) -> Any:
    conversation = end_chat(person, url).conversation
    assert conversation is not None
    return person.client.get("/api/v1/suggested-questions", {"conversation_id": conversation.key})


def suggest_by_page(person: Person, url: str) -> Any:
    run = end_chat(person, url)
    return person.client.get(reverse("workflows:chat_follow_ups", args=[run.pk]))


def with_server(page: str, *args: str) -> Callable[[Person, str], Any]:
    """Return what posts to a page of a connection to an MCP server."""
    return lambda person, url: post_page(
        person, page, make_connection(person, url, "mcp_http").pk, *args
    )


# Every route that calls something outside, and the number of its answer when nothing useful comes back.
ROUTES: dict[str, Callable[[Person, str], Any]] = {
    "api connects an address": lambda person, url: connect_tools(person, url, "openapi"),
    "api connects an MCP server": lambda person, url: connect_tools(person, url, "mcp_http"),
    "api tries an operation": lambda person, url: try_tool(person, url, "openapi"),
    "api tries a tool of a server": lambda person, url: try_tool(person, url, "mcp_http"),
    "api reads an address again": lambda person, url: refresh_tools(person, url, "openapi"),
    "api lists a server again": lambda person, url: refresh_tools(person, url, "mcp_http"),
    "api tests a provider": check_provider,
    "api adds an embedding model": lambda person, url: add_model(person, url, "embedding"),
    "api adds a reranking model": lambda person, url: add_model(person, url, "rerank"),
    "api tests an embedding model": lambda person, url: check_model(person, url, "embedding"),
    "api tests a reranking model": lambda person, url: check_model(person, url, "rerank"),
    "api recalls by meaning": search_memory,
    "page connects an address": lambda person, url: post_page(
        person, "connect_tools", "openapi", document_url=url
    ),
    "page connects a server": lambda person, url: post_page(
        person, "connect_tools", "mcp_http", url=url
    ),
    "page tries an operation": lambda person, url: post_page(
        person, "try_tool", make_connection(person, url, "openapi").pk, "read"
    ),
    "page tries a built-in tool": fetch_page,
    "page connects a provider": lambda person, url: post_page(
        person, "providers", name="acme", base_url=url, default_model="big"
    ),
    "page tries a tool of a server": with_server("try_tool", "read"),
    "page lists a server again": with_server("refresh_tools"),
    "page begins a sign-in": with_server("sign_in_tools"),
    "page looks for servers of tools": lambda person, _url: person.client.get(
        reverse("workflows:local_tool_servers")
    ),
    "page looks for servers of models": lambda person, _url: person.client.get(
        reverse("workflows:local_models")
    ),
    "page lists what a provider offers": list_offered_models,
    "page tests a provider": lambda person, url: post_page(
        person, "test_provider", make_provider(person, url).pk
    ),
    "page adds a model": add_model_by_page,
    "page tests a model": check_model_by_page,
    "page drafts a workflow": draft,
    "api suggests what to ask next": suggest,
    "page suggests what to ask next": suggest_by_page,
}


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.django_db(transaction=True)
def test_route_that_waits_for_what_is_outside_holds_no_connection(
    name: str, ada: Person, outside: Outside
) -> None:
    answer = ROUTES[name](ada, outside.url)

    assert answer.status_code < 500 or name == "page drafts a workflow", answer.content[:500]
    assert outside.held, answer.content[:500]
    assert not any(outside.held)


class WaitsForOutside(ast.NodeVisitor):
    """Finds calls of what is asynchronous, which is outside, that no ``with`` of ours encloses."""

    DOORS: ClassVar = {"call_outside", "without_connection"}
    WAITS: ClassVar = {"async_to_sync", "asyncio.run"}

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.depth = 0

    def visit_With(self, node: ast.With) -> None:
        calls = [item.context_expr for item in node.items]
        is_door = any(
            isinstance(call, ast.Call) and _name(call.func) in self.DOORS for call in calls
        )
        self.depth += is_door
        self.generic_visit(node)
        self.depth -= is_door

    def visit_Call(self, node: ast.Call) -> None:
        is_wait = ast.unparse(node.func) in self.WAITS
        if is_wait and not self.depth:
            self.lines.append(node.lineno)
        self.generic_visit(node)


def _name(node: ast.AST) -> str:
    return ast.unparse(node).rpartition(".")[2]


# Modules that wait without a door, with the reason.
EXCEPTIONS = {
    "workflows/services/models/connecting.py": "run_test: threads of local_servers call it, too; its callers open the door",
    "workflows/services/tools/listing.py": "fetch_document: its caller opens the door",
    "workflows/services/catalog/drafting.py": "_ask: its caller opens the door",
    "workflows/services/samples/node_trials.py": "a command of the tests of samples, which no request calls",
    "memory/providers/http/provider.py": "memory.routing opens the door for whoever calls a provider that is outside",
}


def test_code_of_requests_and_workers_waits_only_through_the_doors() -> None:
    packages = ("accounts", "memory", "workflows")
    layers = (
        *("services", "views", "api", "openai_api", "dify_api", "hooks_api", "mcp_server"),
        *("execution", "upkeep", "providers", "embedding", "files"),
    )
    found = set()
    for package in packages:
        for layer in layers:
            for path in (ROOT / package / layer).rglob("*.py"):
                visitor = WaitsForOutside()
                visitor.visit(ast.parse(path.read_text()))
                if visitor.lines:
                    found.add(str(path.relative_to(ROOT)))

    assert found == EXCEPTIONS.keys()


# What may wait for memory at another installation, for a bucket or for a mail server.
WAITING = {
    *("open_for_query", "open_embedded", "embed_for", "open_run_book"),
    *("remember", "recall", "recall_query", "write_pages"),
    *(
        "clear_namespace",
        "measure",
        "create_file",
        "upload_file",
        "store_original",
        "read_original",
    ),
    "send_mails",
}


def test_no_transaction_that_can_not_pause_is_around_what_waits_for_stores() -> None:
    """They pause a ``pausable_tenant``; inside a ``tenant`` they would hold its connection."""
    found = []
    for package in ("accounts", "memory", "workflows"):
        for path in (ROOT / package).rglob("*.py"):
            for block in ast.walk(ast.parse(path.read_text())):
                if isinstance(block, ast.With) and _is_fixed(block):
                    calls = (each for each in ast.walk(block) if isinstance(each, ast.Call))
                    waits = [_name(each.func) for each in calls if _name(each.func) in WAITING]
                    found += [(str(path.relative_to(ROOT)), block.lineno, name) for name in waits]

    assert found == []


def _is_fixed(block: ast.With) -> bool:
    calls = [item.context_expr for item in block.items]
    names = {ast.unparse(call.func) for call in calls if isinstance(call, ast.Call)}
    return not names.isdisjoint({"tenant", "transaction.atomic"})


@pytest.mark.django_db
def test_person_and_team_wait_for_a_few_calls_at_once(cast: Cast) -> None:
    team_id = cast.team_a.pk
    with ExitStack() as places:
        for _number in range(PERSON_CALLS):
            places.enter_context(take_places(cast.ada.principal, team_id))
        with pytest.raises(TooManyCallsOutside):
            places.enter_context(take_places(cast.ada.principal, team_id))
        with (
            take_places(cast.bob.principal, team_id),
            take_places(cast.carol.principal, cast.team_b.pk),
        ):
            pass
        people = (cast.alice, cast.bob, cast.vic)
        for number in range(TEAM_CALLS - PERSON_CALLS):
            places.enter_context(take_places(people[number % len(people)].principal, team_id))
        with pytest.raises(TooManyCallsOutside):
            places.enter_context(take_places(cast.vic.principal, team_id))

    with take_places(cast.ada.principal, team_id):
        pass


@pytest.mark.django_db
def test_try_without_a_place_is_429_and_calls_nobody(ada: Person, outside: Outside) -> None:
    row = make_connection(ada, outside.url, "openapi")
    with ExitStack() as places:
        for _number in range(PERSON_CALLS):
            places.enter_context(take_places(ada.principal, ada.team.pk))

        answer = ada.client.post(
            f"/api/v1/tools/connections/{row.pk}/try", {"operation": "read"}, **JSON
        )

    assert (answer.status_code, answer.json()["error"]["type"]) == (429, "TooManyCallsOutside")
    assert int(answer["Retry-After"]) > 0
    assert outside.held == []


@pytest.mark.django_db
def test_call_inside_the_transaction_of_a_service_is_refused(ada: Person) -> None:
    with tenant([ada.team.pk]), pytest.raises(ConnectionInUse), without_connection():
        pass
    with tenant([ada.team.pk]), without_connection(is_required=False):
        assert len(list_open_blocks()) == 1
    with call_outside(ada.principal, ada.team.pk):
        assert list_open_blocks() == []


@pytest.mark.django_db
def test_row_that_was_changed_or_deleted_during_a_call_is_read_again(ada: Person) -> None:
    row = make_connection(ada, "http://there.example", "openapi")
    with within(ada):
        ToolConnection.objects.unscoped().filter(pk=row.pk).update(enabled_operations=[])
        lock_row(row)
        enabled = row.enabled_operations
        ToolConnection.objects.unscoped().filter(pk=row.pk).delete()
        with pytest.raises(NotFound):
            lock_row(row)

    assert enabled == []


@pytest.mark.django_db
def test_what_a_request_did_before_a_call_stays_and_rows_are_visible_after_it(ada: Person) -> None:
    """The request's transaction is another one after the call, for the same teams."""
    request = RequestTransaction([ada.team.pk])
    request.open()
    workflow = make_workflow(ada)
    with without_connection():
        assert list_open_blocks() == []
    blocks = len(list_open_blocks())
    with tenant([ada.team.pk]), pytest.raises(ConnectionInUse), without_connection():
        pass
    seen = type(workflow).objects.unscoped().filter(pk=workflow.pk).exists()
    request.close(is_rolled_back=True)

    assert (blocks, seen) == (1, True)
    with within(ada):
        assert type(workflow).objects.unscoped().filter(pk=workflow.pk).exists()
