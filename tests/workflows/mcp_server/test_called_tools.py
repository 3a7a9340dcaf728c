"""A call looks up the tool that it names, and describes no other workflow."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.workflows.mcp_server.messages import ask
from workflows.engine.tool_calls import ToolSpec
from workflows.mcp_server import workflow_tools
from workflows.models import Run, Workflow


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the workflows that are described."""
    names: list[str] = []
    describe = workflow_tools.describe_workflow

    def note(workflow: Workflow) -> ToolSpec:
        names.append(workflow.name)
        return describe(workflow)

    monkeypatch.setattr(workflow_tools, "describe_workflow", note)
    monkeypatch.setattr(workflow_tools, "_follow", follow_nothing)
    return names


async def follow_nothing(*_arguments: object) -> None:
    """Wait for no run, since nobody carries them out."""


def call(client: KeyClient, tool: str) -> Any:
    return ask(client, "tools/call", name=tool, arguments={"text": "Hi"})


def test_call_describes_its_own_workflow_alone(
    cast: Cast, client: KeyClient, described: list[str]
) -> None:
    names = ["Echo", "Echo two", "总结"]
    for name in names:
        make_version(cast.alice, make_workflow(cast.alice, name))
    tools = {tool["title"]: tool["name"] for tool in ask(client, "tools/list")["result"]["tools"]}
    assert described == names

    for name in names:
        described.clear()
        answer = call(client, tools[name])["result"]

        assert "run_id" in answer["structuredContent"], answer
        assert described == [name]


def test_call_of_a_tool_that_is_not_offered_is_refused(
    cast: Cast, client: KeyClient, api_key: Callable[..., KeyClient], described: list[str]
) -> None:
    published, draft = make_workflow(cast.alice, "Echo"), make_workflow(cast.alice, "Draft")
    make_version(cast.alice, published)
    make_version(cast.carol, make_workflow(cast.carol, "Other"))
    reader = api_key(cast.alice, scopes={"workflows:read", "runs:read"})
    # A workflow has one name: that made from its id is for those whose own one models don't accept.
    made_name = f"workflow_{published.pk.hex[-12:]}"

    refused = [
        *(call(client, tool) for tool in (draft.slug, "other", made_name, "workflow_%")),
        call(reader, published.slug),
        call(reader, "get_run_result"),
    ]

    assert [each["error"]["code"] for each in refused] == [-32602] * 6
    assert described == []
    assert not Run.objects.unscoped().exists()
