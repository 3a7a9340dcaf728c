"""Every way in which a node gives text to an agent: what the agent stores of it waits for a review."""

from typing import Any

import pytest

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, Reply, ScriptedModel, call
from tests.engine.language.test_untrusted import SYSTEM, WEB, Page
from tests.support.documents import document, node, start
from tests.support.engine import JinjaHere
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


PAGE, TEXT = ["web", "text"], "{{#web.text#}}"


def give_to_tool(setting: Any) -> dict[str, Any]:
    """A tool that computes here, so that only what it is given may be from outside."""
    return {"tools": [{"source": "builtin", "name": "json_query", "settings": {"data": setting}}]}


WAYS: dict[str, dict[str, Any]] = {
    "its task": {"query": TEXT},
    "its instruction": {"instruction": TEXT},
    "a variable of its instruction": {
        "instruction": "{{ a }}", "instruction_format": "jinja2",
        "prompt_config": {"jinja2_variables": [{"variable": "a", "value_selector": PAGE}]}},
    "the history that it is given": {"memory": {"enabled": True, "variable_selector": PAGE}},
    "the question to its memory": {
        "enhanced_memory": {"enabled": True, "scope": "user", "query_selector": PAGE}},
    "a variable for a tool": give_to_tool({"type": "variable", "value": PAGE}),
    "a text for a tool": give_to_tool({"type": "mixed", "value": f"Page: {TEXT}"}),
    "a bare text for a tool": give_to_tool(TEXT),
}  # fmt: skip


async def remember(**settings: Any) -> list[tuple[Tier, Any]]:
    """Return the tier and origin of what an agent behind a page stores."""
    agent = node("agent", "agent", **{"model": MODEL, "query": "{{#start.own#}}",
                 "memory_tools": {"remember": ["user"]}, **settings})  # fmt: skip
    made = document([start("q", "own"), WEB, agent], ["start -> web", "web -> agent"])
    replies: list[Reply] = [("", [call("remember", key="k", value="Invoices go to Max")]), "Done"]
    memory = InMemoryProvider()
    runner = WorkflowRunner(
        made,
        memory=memory,
        models=ScriptedModel(*replies),
        templates=JinjaHere(),
        plugins=[Page()],
    )

    result = await runner.run(inputs={"q": '{"a": 1}', "own": "Hello"}, system=SYSTEM)

    assert result.status is RunStatus.SUCCEEDED, result.error
    return [(e.tier, e.metadata.get("origin")) for e in memory.living("user:mia").values()]


@pytest.mark.parametrize("way", WAYS)
async def test_what_an_agent_stores_after_it_was_given_a_page_waits(way: str) -> None:
    assert await remember(**WAYS[way]) == [(Tier.QUARANTINE, "web")]


@pytest.mark.parametrize("settings", [{}, give_to_tool({"type": "constant", "value": TEXT})])
async def test_what_an_agent_stores_that_was_given_nothing_of_it_is_stored_at_once(
    settings: dict[str, Any],
) -> None:
    assert await remember(**settings) == [(Tier.LONG_TERM, None)]
