"""The warning of an agent that gets memories from a workflow that it calls, and reads text from outside."""

from typing import Any

import pytest

from tests.support.cast import Person
from tests.workflows.test_tool_problems import MODEL, end, import_nodes
from workflows.services.editor.drafts import list_problems, load_draft
from workflows.services.publishing import publish


pytestmark = pytest.mark.django_db

WEB = {"source": "builtin", "name": "web_page"}
NOTES = {"source": "workflow", "provider": "notes", "name": "notes"}
RECALL = {"id": "r", "data": {"type": "memory-recall", "title": "Recall", "scope": "user"}}
REMEMBER = {"id": "r", "data": {
    "type": "memory-store", "title": "Remember", "scope": "user", "key": "k", "value_selector": ["start", "q"]}}  # fmt: skip
ASKS = {"id": "r", "data": {
    "type": "llm", "title": "Ask", "model": MODEL, "prompt_template": [{"role": "user", "text": "?"}],
    "enhanced_memory": {"enabled": True, "scope": "user"}}}  # fmt: skip
CALLS = {"id": "r", "data": {"type": "sub-workflow", "title": "Call", "workflow": "inner"}}


def publish_nodes(person: Person, name: str, *nodes: dict[str, Any]) -> None:
    publish(person.principal, workflow=import_nodes(person, *nodes, end(), name=name))


def list_warnings(person: Person, **data: Any) -> list[tuple[str | None, str]]:
    agent = {"type": "agent", "title": "Agent", "model": MODEL, "query": "x", **data}
    workflow = import_nodes(person, {"id": "agent", "data": agent}, end("agent", "text"))
    return [
        (problem.field, problem.message)
        for problem in list_problems(workflow, load_draft(workflow))
        if problem.code == "agent.outside"
    ]


@pytest.mark.parametrize("node", [RECALL, ASKS])
def test_agent_that_calls_a_recalling_workflow_and_reads_outside_is_warned_of(
    alice: Person, node: dict[str, Any]
) -> None:
    publish_nodes(alice, "Notes", node)

    message = (
        "notes gives the agent memories, and text from outside reaches it through web_page:"
        " let a person allow each call of these tools"
    )
    assert list_warnings(alice, tools=[NOTES, WEB]) == [("tools", message)]
    assert len(list_warnings(alice, tools=[WEB], merge=["notes"])) == 1


def test_workflow_that_a_called_workflow_runs_counts(alice: Person) -> None:
    publish_nodes(alice, "Inner", RECALL)
    publish_nodes(alice, "Notes", CALLS)

    assert len(list_warnings(alice, tools=[NOTES, WEB])) == 1


@pytest.mark.parametrize(
    ("node", "tools"),
    [
        (REMEMBER, [NOTES, WEB]),
        (RECALL, [NOTES]),
        (RECALL, [WEB]),
        (RECALL, [NOTES, {**WEB, "needs_approval": True}]),
        (RECALL, [NOTES, {**WEB, "enabled": False}]),
    ],
)
def test_other_agents_are_not_warned_of(
    alice: Person, node: dict[str, Any], tools: list[dict[str, Any]]
) -> None:
    publish_nodes(alice, "Notes", node)

    assert list_warnings(alice, tools=tools) == []
