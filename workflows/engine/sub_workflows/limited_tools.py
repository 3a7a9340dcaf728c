"""Tools that spend tokens or money themselves are held to the limits of the agents around them, as calls of models are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import LimitReached, ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import Usage
from workflows.engine.sub_workflows.shares import Amount
from workflows.engine.sub_workflows.spending import Spending
from workflows.engine.sub_workflows.tools import WORKFLOW
from workflows.engine.tool_calls import Tool, ToolPort, ToolReference, ToolResult


_NOTHING: Final = Amount(0, 0.0)


@dataclass(frozen=True, slots=True)
class LimitedTools:
    """Implements ``engine.tool_calls.ToolPort``: a tool reserves what it may spend before it is called.

    A workflow that is called as a tool reserves nothing: what it spends is spent by its models and tools, which do.
    """

    tools: ToolPort
    spending: Spending

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        return await self.tools.find(references)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        amount = Amount(tool.most_tokens, tool.most_cost)
        if tool.reference.source == WORKFLOW or amount == _NOTHING:
            return await self.tools.call(tool, arguments, idempotency_key=idempotency_key)
        try:
            call = await self.spending.begin_call(amount)
        except LimitReached as reached:
            raise ToolFailed(f"{tool.spec.label} was not called: {reached.message}") from reached
        usage: Usage | None = None
        try:
            result = await self.tools.call(tool, arguments, idempotency_key=idempotency_key)
            usage = Usage(result.prompt_tokens, result.completion_tokens, result.cost)
        finally:
            await self.spending.end_call(call, usage)
        return result
