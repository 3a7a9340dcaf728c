"""The Idempotency-Key of a call that starts a run: whoever isn't sure whether it arrived sends it again."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.workflows.mcp_server.messages import ask_new, list_tool_names
from workflows.mcp_server import workflow_tools
from workflows.models import Run


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


def call(client: KeyClient, tool: str, key: str | None, text: str = "a", **headers: str) -> Any:
    if key is not None:
        headers["Idempotency-Key"] = key
    options: dict[str, Any] = {"capabilities": POLLING, "headers": headers}
    return ask_new(client, "tools/call", **options, name=tool, arguments={"text": text})


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


async def follow_nothing(*_: object) -> None:
    pass


def refuse(*_: object, **__: object) -> None:
    raise workflow_tools.NotFound
