"""The functions that a workflow offers to those that merge it: its run, and the tools of its agents.

They are named ``workflow.function``. A reference to all tools of a workflow stands for them.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from workflows.engine.errors import ToolFailed
from workflows.engine.language.content_marks.shown_memories import iter_texts
from workflows.engine.language.document import Document, Json
from workflows.engine.language.templating import list_references
from workflows.engine.nodes.agent.agent_config import AgentConfig, AgentTool, is_typed_value
from workflows.engine.sub_workflows.form import build_input_schema, list_callable_inputs
from workflows.engine.tool_calls import (
    ALL_TOOLS,
    Tool,
    ToolPort,
    ToolReference,
    ToolResult,
    ToolSpec,
)


RUN: Final = "run"
_WORKFLOW: Final = "workflow"  # the source


@dataclass(frozen=True, slots=True)
class MergedWorkflow:
    """A published workflow that another one merges."""

    slug: str
    name: str
    description: str
    document: Document
    version: str = ""  # the published one


@dataclass(frozen=True, slots=True)
class MergingTools:
    """Implements ``engine.tool_calls.ToolPort`` in front of the other tools, which are called as before.

    ``load`` raises ToolFailed for a workflow that the run may not use.
    """

    others: ToolPort
    load: Callable[[str], Awaitable[MergedWorkflow]]

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools: list[Tool] = []
        for reference in references:
            if reference.source == _WORKFLOW and reference.name == ALL_TOOLS:
                workflow = await self.load(reference.provider)
                tools += await list_functions(workflow, self.others)
            else:
                tools += await self.others.find([reference])
        return tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        return await self.others.call(tool, arguments, idempotency_key=idempotency_key)


async def list_functions(workflow: MergedWorkflow, tools: ToolPort) -> list[Tool]:
    """Return the functions of a workflow, its run first. A tool that the run may not use is left out."""
    schema = build_input_schema(list_callable_inputs(workflow.document))
    description = workflow.description or workflow.name
    run_tool = Tool(
        ToolReference(_WORKFLOW, workflow.slug, workflow.slug),
        ToolSpec(RUN, description, schema, aliases=(workflow.name,)),
        version=workflow.version,
    )
    functions = {RUN: _rename(run_tool, workflow, RUN)}
    for entry in _iter_offered(workflow.document):
        try:
            node_tools = await tools.find([entry.reference])
        except ToolFailed:
            continue
        for tool in node_tools:
            name = tool.spec.name.replace("-", "_")
            # Several agents may have the same tool; the first one counts.
            functions.setdefault(name, _rename(_apply(entry, tool), workflow, name))
    return list(functions.values())


def _iter_offered(document: Document) -> Iterator[AgentTool]:
    """Yield the tools of the document's agents that can be called without a run of it."""
    for node in document.nodes:
        if node.kind != "agent":
            continue
        try:
            entries = AgentConfig.model_validate(dict(node.data)).enabled_tools
        except ValidationError:
            continue
        yield from (entry for entry in entries if not entry.private and not _has_variables(entry))


def _has_variables(entry: AgentTool) -> bool:
    """Return whether settings of the tool refer to variables, which only a run of its workflow has."""
    texts = iter_texts(_read_settings(entry))
    return bool(entry.setting_selectors) or any(any(list_references(text)) for text in texts)


def _apply(entry: AgentTool, tool: Tool) -> Tool:
    """Return the tool with what the author of its workflow has set."""
    aliases = (*filter(None, [entry.title]), *tool.spec.aliases)
    spec = replace(
        tool.spec, description=entry.description or tool.spec.description, aliases=aliases
    )
    return replace(
        tool,
        spec=spec,
        needs_approval=tool.needs_approval or entry.needs_approval,
        settings={**tool.settings, **_read_settings(entry)},
    )


def _read_settings(entry: AgentTool) -> dict[str, Json]:
    return {
        name: setting["value"] if is_typed_value(setting) else setting
        for name, setting in entry.settings.items()
    }


def _rename(tool: Tool, workflow: MergedWorkflow, function: str) -> Tool:
    title = f"{workflow.slug}.{function}"
    return replace(tool, spec=replace(tool.spec, name=title, title=title))
