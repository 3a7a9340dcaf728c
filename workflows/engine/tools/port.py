"""The tool port of the in-process runner: the built-in tools, and functions that the caller provides."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from workflows.engine.errors import EngineFault, ToolFailed, ToolMissing
from workflows.engine.language.document import Json
from workflows.engine.ports import ClockPort, HttpPort
from workflows.engine.runtime.local_ports import SystemClock
from workflows.engine.tool_calls import ALL_TOOLS, Tool, ToolReference, ToolResult, ToolSource
from workflows.engine.tools.arguments import ArgumentsInvalid, prepare_arguments
from workflows.engine.tools.builtin import BUILTIN_TOOLS
from workflows.engine.tools.dify import DIFY_TOOLS
from workflows.engine.tools.functions import build_function_tool
from workflows.engine.tools.local_tool import (
    MAX_RESULT_CHARACTERS,
    LocalTool,
    ToolServices,
    build_error,
    limit_text,
)
from workflows.engine.tools.web.services import AccountPort
from workflows.engine.tools.web.table import WEB_TOOLS


ToolTable = Mapping[tuple[ToolSource, str], LocalTool]


def build_table(tools: Iterable[LocalTool | Callable[..., object]]) -> ToolTable:
    """Return the built-in tools and those of plug-ins or callers by source and name, where functions become tools."""
    local_tools = (t if isinstance(t, LocalTool) else build_function_tool(t) for t in tools)
    return {
        **{("builtin", tool.spec.name): tool for tool in (*DIFY_TOOLS, *BUILTIN_TOOLS, *WEB_TOOLS)},
        **{("plugin", tool.spec.name): tool for tool in local_tools},
    }


_BUILTIN_TABLE: Final = build_table(())


@dataclass(frozen=True, slots=True)
class LocalTools:
    """Implements ``engine.tool_calls.ToolPort`` for tools whose code runs in this process."""

    table: ToolTable = field(default_factory=lambda: _BUILTIN_TABLE)
    clock: ClockPort = field(default_factory=SystemClock)
    http: HttpPort | None = None
    accounts: AccountPort | None = None

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        return [tool for reference in references for tool in self.list_tools(reference)]

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        local_tool = self.table[tool.reference.source, tool.reference.name]
        services = ToolServices(self.clock, self.http, idempotency_key, self.accounts)
        return await call_local_tool(local_tool, arguments, services)

    def list_tools(self, reference: ToolReference) -> list[Tool]:
        """Return the tool of the reference, or all of its source. Raises ToolMissing if there is none."""
        if reference.name == ALL_TOOLS:
            return list_local_tools(self.table, reference.source)
        local_tool = self.table.get((reference.source, reference.name))
        if local_tool is None:
            raise ToolMissing(f"There is no tool {describe_reference(reference)}")
        return [build_tool(reference, local_tool)]


def list_local_tools(table: ToolTable, source: ToolSource) -> list[Tool]:
    """Return the tools of a source. The tools of Dify's documents are not listed, since they exist under other names."""
    return [
        build_tool(ToolReference(source, name), local_tool)
        for (local_source, name), local_tool in table.items()
        if local_source == source and local_tool not in DIFY_TOOLS
    ]


def build_tool(reference: ToolReference, local_tool: LocalTool) -> Tool:
    is_builtin = reference.source == "builtin"  # none of these spends anything
    return Tool(
        reference,
        replace(local_tool.spec, aliases=_list_titles(local_tool)),
        needs_approval=local_tool.needs_approval,
        is_untrusted=local_tool.is_untrusted,
        most_tokens=0 if is_builtin else local_tool.most_tokens,
        most_cost=0.0 if is_builtin else local_tool.most_cost,
    )


def _list_titles(tool: LocalTool) -> tuple[str, ...]:
    return (*tool.spec.aliases, *([tool.title] if tool.title else []))


async def call_local_tool(
    tool: LocalTool, arguments: Mapping[str, Json], services: ToolServices
) -> ToolResult:
    """Return the result of the tool, of limited size, or the reason why the arguments do not fit."""
    try:
        prepared = prepare_arguments(tool.spec.parameters, arguments)
    except ArgumentsInvalid as invalid:
        return build_error(str(invalid))
    try:
        return limit_result(await tool.run(prepared, services))
    except EngineFault:
        raise
    except Exception as error:  # of a plug-in's or caller's code
        raise ToolFailed(f"{tool.spec.name} failed: {type(error).__name__}: {error}") from error


def limit_result(result: ToolResult) -> ToolResult:
    """Return the result with its text cut to the limit, and without data that is larger."""
    text = limit_text(result.text)
    has_large_data = bool(result.data) and _measure(result.data) > 2 * MAX_RESULT_CHARACTERS
    if text is result.text and not has_large_data:
        return result
    return replace(result, text=text, data=() if has_large_data else result.data)


def describe_reference(reference: ToolReference) -> str:
    """Return the name of a tool for an error message."""
    provider = f" of {reference.provider[:100]!r}" if reference.provider else ""
    return f"{reference.name[:100]!r}{provider} ({reference.source})"


def _measure(data: Sequence[Json]) -> int:
    return len(json.dumps(list(data), default=str))
