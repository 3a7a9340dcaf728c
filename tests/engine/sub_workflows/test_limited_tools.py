"""Tools that spend something themselves reserve it of what their agent has left, in its own run as in those below."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.engine.agent.scripted import agent_document
from tests.engine.sub_workflows.test_limits import PRICE, PricedModel, workflow_tool
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult, ToolSpec


COST = 0.2  # USD of each call
LIMIT = 1.0


class SpendingTools:
    """Every tool spends tokens and money, and counts how many of its calls go on at once."""

    def __init__(
        self, most_tokens: int | None, most_cost: float | None, *, cost: float = COST
    ) -> None:
        self.most_tokens, self.most_cost, self.cost = most_tokens, most_cost, cost
        self.made = self.at_once = self.most_at_once = 0

    async def find(self, references: Sequence[ToolReference]) -> list[Tool]:
        return [
            Tool(each, ToolSpec("paint"), most_tokens=self.most_tokens, most_cost=self.most_cost)
            for each in references
        ]

    async def call(self, tool: Tool, arguments: Mapping[str, Any], **options: Any) -> ToolResult:
        self.made += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        for _turn in range(10):
            await asyncio.sleep(0)
        self.at_once -= 1
        return ToolResult("Painted.", cost=self.cost)


PAINT = {"source": "plugin", "name": "paint"}


async def run(tools: SpendingTools, **workflows: Any) -> Any:
    tool = workflow_tool("inner") if workflows else PAINT
    document = agent_document(tools=[tool], max_rounds=20, max_cost=LIMIT)
    runner = WorkflowRunner(
        document, models=PricedModel(calls_at_once=16), tools=tools, workflows=workflows
    )
    return await runner.run(inputs={"q": "?"})


@pytest.mark.parametrize(
    ("most_tokens", "most_cost", "most_at_once"),
    [(100, COST, 4), (100, 2 * COST, 2), (None, None, 1), (0, None, 1)],
)
async def test_calls_of_a_tool_at_once_spend_what_the_agent_has_left_and_no_more(
    most_tokens: int | None, most_cost: float | None, most_at_once: int
) -> None:
    tools = SpendingTools(most_tokens, most_cost)

    result = await run(tools)

    # Sixteen would cost 3.20. The fifth is begun with 0.18 left, alone.
    assert (tools.made, tools.most_at_once) == (5, most_at_once)
    assert result.outputs["finish_reason"] == "max_cost"
    assert result.outputs["usage"]["cost"] == pytest.approx(5 * COST + 2 * PRICE)
    refused = [each["result"] for each in result.outputs["rounds"][0]["calls"][5:]]
    assert len(refused) == 11
    assert all("paint was not called: max_cost" in each for each in refused)


async def test_tools_of_a_workflow_below_spend_of_the_same_limit() -> None:
    tools = SpendingTools(None, None)
    inner = agent_document(tools=[PAINT], max_rounds=3)

    result = await run(tools, inner=inner)

    assert tools.made <= 5
    assert result.outputs["usage"]["cost"] <= LIMIT + COST + PRICE


async def test_tools_that_spend_nothing_are_called_at_once() -> None:
    tools = SpendingTools(0, 0.0, cost=0.0)

    await run(tools)

    assert (tools.made % 16, tools.most_at_once) == (0, 4)
