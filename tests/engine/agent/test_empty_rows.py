"""A row of the form of an agent in which nothing was chosen yet breaks nothing."""

from typing import Any

import pytest

from tests.engine.agent.scripted import (
    ScriptedModel,
    Tools,
    agent_document,
    call,
    run_agent,
    tool_entries,
)
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.step_records import RunStatus


EMPTY_ROWS: list[dict[str, Any]] = [
    {"tools": [*tool_entries("add"), {"source": "builtin", "provider": "", "name": ""}]},
    {"tools": [{}, *tool_entries("add")]},
    {"tools": tool_entries("add"), "merge": [""]},
    {"tools": tool_entries("add"), "memory_tools": {}},
]


@pytest.mark.parametrize("rows", EMPTY_ROWS)
async def test_empty_row_is_left_out(rows: dict[str, Any]) -> None:
    tools = Tools(add=lambda a, b: a + b)
    model = ScriptedModel(("", [call("add", a=2, b=2)]), "It is 4.")

    result = await run_agent(model, tools, tools=rows["tools"], **{
        name: value for name, value in rows.items() if name != "tools"
    })  # fmt: skip

    assert result.status == RunStatus.SUCCEEDED
    assert [tool.name for tool in model.requests[0].tools] == ["add"]
    assert len(tools.ledger) == 1


@pytest.mark.parametrize("rows", EMPTY_ROWS)
def test_empty_row_is_no_problem(rows: dict[str, Any]) -> None:
    assert [*validate(agent_document(**rows), build_kinds())] == []


@pytest.mark.parametrize("value", [None, 7, "", [], ["start"]])
async def test_setting_without_its_variable_yet_is_named_and_breaks_nothing(value: Any) -> None:
    settings = {"b": {"type": "variable", "value": value}}
    tools = Tools(add=lambda a, **others: a)
    model = ScriptedModel(("", [call("add", a=2)]), "It is 2.")
    entries = [{**tool_entries("add")[0], "settings": settings}]

    problems = validate(agent_document(tools=entries), build_kinds())
    result = await run_agent(model, tools, tools=entries)

    named = [(each.field, each.message) for each in problems if each.code == "agent.setting"]
    assert named == [("tools.0.settings", "b: choose a variable")]
    assert result.status == RunStatus.SUCCEEDED
    assert tools.ledger[0][1] == {"a": 2, "b": None}
