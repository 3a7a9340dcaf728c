"""The tools that a person has allowed together with a workflow that calls them.

Who allows a call of a workflow allows what it and the workflows below it call, as it is then. A run below remembers these
tools. One that was changed since, or that is new, is called there only after a person has allowed that call, too.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import CONNECTION_CHANGED
from workflows.engine.tool_calls import Tool, ToolPort, ToolReference, ToolResult


_ASKS: Final = " asks"  # of a tool about whose calls people were asked then: they still are


def describe_tools(tools: Iterable[Tool]) -> dict[str, str]:
    """Return what may change of each tool: what its calls do, what a model is told about it, and whether people are asked."""
    return {_name(tool): _describe(tool) for tool in tools if tool.version}


@dataclass(frozen=True, slots=True)
class ApprovedTools:
    """Implements ``engine.tool_calls.ToolPort`` in front of the tools of a team, for a run below a call that was allowed.

    ``approval`` is what ``describe_tools`` said then.
    """

    tools: ToolPort
    approval: Mapping[str, str]

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools = await self.tools.find(references)
        return [tool if self._is_allowed(tool) else _explain(tool) for tool in tools]

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        # The tools then refuse one that was changed after it was found.
        asking = replace(tool, needs_approval=True)
        return await self.tools.call(asking, arguments, idempotency_key=idempotency_key)

    def _is_allowed(self, tool: Tool) -> bool:
        return not tool.version or self.approval.get(_name(tool)) == _describe(tool)


def _explain(tool: Tool) -> Tool:
    """Return the tool as one about whose calls people are asked, and why if they weren't anyway."""
    return replace(
        tool, needs_approval=True, cause="" if tool.needs_approval else CONNECTION_CHANGED
    )


def _name(tool: Tool) -> str:
    reference = tool.reference
    return f"{reference.source} {reference.provider} {reference.name}"


def _describe(tool: Tool) -> str:
    parts = [tool.version, tool.spec.description]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return digest + _ASKS if tool.needs_approval else digest
