"""The Idempotency-Key of a call that starts a run: whoever isn't sure whether it arrived sends it again."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from accounts.tenancy import tenant
from config import net
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.support.own_server import own_server
from tests.workflows.mcp_server.messages import ask_new, list_tool_names
from workflows.mcp_server import workflow_tools
from workflows.models import Run
from workflows.models.run import RunStatus
from workflows.tools.mcp import IDEMPOTENCY_META, REPLAYED_META
from workflows.tools.mcp.session import Server, call_tool, list_tools


pytestmark = pytest.mark.django_db(transaction=True)

POLLING: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def client(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


@pytest.fixture
def tool(cast: Cast, client: KeyClient, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tool of a published workflow, whose runs nobody carries out or waits for."""
    monkeypatch.setattr(workflow_tools, "_follow", follow_nothing)
    make_version(cast.alice, make_workflow(cast.alice))
    return next(name for name in list_tool_names(client) if name.startswith("echo"))


def call(client: KeyClient, tool: str, key: str | None, text: str = "a", **options: Any) -> Any:
    """Call the tool, with the key in the header. ``meta`` is what else the message says of itself."""
    meta, status = options.pop("meta", None), options.pop("status", 200)
    capabilities = options.pop("capabilities", POLLING)
    headers = dict(options, **({} if key is None else {"Idempotency-Key": key}))
    return ask_new(
        client, "tools/call", capabilities=capabilities, headers=headers, meta=meta, status=status,
        name=tool, arguments={"text": text},
    )  # fmt: skip


def list_runs(cast: Cast) -> list[str]:
    with tenant([cast.team_a.pk]):
        return [str(run.pk) for run in Run.objects.unscoped()]


def test_repeated_call_gets_the_run_of_the_first_one(
    client: KeyClient, cast: Cast, tool: str
) -> None:
    tasks = [call(client, tool, "k")["taskId"] for _ in range(3)]

    assert list(dict.fromkeys(tasks)) == list_runs(cast)
    assert len(list_runs(cast)) == 1


def test_another_call_with_the_same_key_is_refused(
    client: KeyClient, cast: Cast, tool: str
) -> None:
    call(client, tool, "k")

    refused = [
        call(client, tool, "k", text="b"),
        call(client, tool, "k", **{"X-Mnemoflow-User": "mia"}),
        call(client, tool, "x" * 256),
    ]

    assert [each["isError"] for each in refused] == [True] * 3
    assert "another request" in refused[0]["content"][0]["text"]
    assert len(list_runs(cast)) == 1


def test_refused_call_leaves_its_key_free_and_without_one_each_call_starts_a_run(
    client: KeyClient, cast: Cast, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(workflow_tools, "start_run", refuse)
        refused = call(client, tool, "k")
    tasks = [call(client, tool, key)["taskId"] for key in ("k", None, None)]

    assert refused["isError"]
    assert len(set(tasks)) == len(list_runs(cast)) == 3


def test_key_in_the_call_itself_counts_as_the_one_in_the_header_does(
    client: KeyClient, cast: Cast, tool: str
) -> None:
    tasks = [
        call(client, tool, header, meta={IDEMPOTENCY_META: key} if key else None)["taskId"]
        for header, key in (("k", None), (None, "k"), ("k", "k"))
    ]

    assert list(dict.fromkeys(tasks)) == list_runs(cast)


@pytest.mark.parametrize(
    ("key", "message"),
    [("other", "Idempotency-Key and mnemoflow/idempotencyKey name different keys"), (7, "must be text")],
)  # fmt: skip
def test_key_that_contradicts_the_header_or_is_no_text_is_an_error_and_starts_nothing(
    client: KeyClient, cast: Cast, tool: str, key: Any, message: str
) -> None:
    error = call(client, tool, "k", meta={IDEMPOTENCY_META: key}, status=400)

    assert message in error["message"]
    assert list_runs(cast) == []


def test_repeated_call_says_that_it_is_one_whatever_its_result_is(
    client: KeyClient, cast: Cast, tool: str
) -> None:
    results = [
        call(client, tool, key, capabilities=capabilities)
        for capabilities in (POLLING, {})
        for key in (f"k{len(capabilities)}", f"k{len(capabilities)}", None)
    ]

    assert [each.get("_meta", {}).get(REPLAYED_META) for each in results] == [None, True, None] * 2
    assert [each["resultType"] for each in results] == ["task"] * 3 + ["complete"] * 3


def test_repeated_call_of_a_run_that_has_failed_says_that_it_is_one(
    client: KeyClient, cast: Cast, tool: str
) -> None:
    call(client, tool, "k")
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().update(status=RunStatus.FAILED, finished_at=timezone.now())

    result = call(client, tool, "k")

    assert (result["isError"], result["_meta"][REPLAYED_META]) == (True, True)


async def test_call_of_our_own_client_that_is_repeated_gets_the_run_of_the_first_one(
    client: KeyClient, cast: Cast, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    header = ("Authorization", f"Bearer {client.secret}")
    with own_server() as url:
        server = Server(f"{url}/mcp/", header=header)
        listing = await list_tools(server)
        operation = next(each for each in listing.operations if each.name == tool)
        results = [
            await call_tool(server, operation, {"text": "a"}, idempotency_key=key)
            for key in ("step 1", "step 1", "step 2")
        ]
    runs = [result.data[0]["run_id"] for result in results]

    assert runs[0] == runs[1] != runs[2]
    assert sorted(set(runs)) == sorted(await sync_to_async(list_runs)(cast))


async def follow_nothing(*_: object) -> None:
    pass


def refuse(*_: object, **__: object) -> None:
    raise workflow_tools.NotFound
