"""Tool: calls one tool of the team, such as an operation of an API, with arguments from the workflow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import Field as Bounded

from workflows.engine.answerers import MAX_ANSWERERS, Answerer, find_incomplete_rows
from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import PortMissing, ToolFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.content_marks.shown_memories import find_memories
from workflows.engine.language.content_marks.untrusted import is_chosen
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.agent.agent_fields import APPROVERS_FIELD
from workflows.engine.nodes.agent.tool_node.tool_arguments import (
    drop_blanks,
    fill_in,
    list_selectors,
    merge_arguments,
)
from workflows.engine.nodes.agent.tool_node.tool_choice import describe_choice, read_reference
from workflows.engine.nodes.agent.tool_use.approval import (
    AskedCall,
    has_begun,
    name_connection,
    wait_for_answer,
)
from workflows.engine.nodes.agent.tool_use.tool_questions import call_answered
from workflows.engine.ports import Usage
from workflows.engine.runtime.waits import ALLOW
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop
from workflows.engine.tool_calls import Tool, ToolPort, ToolReference, ToolResult
from workflows.engine.tools.web.table import WEB_TOOLS


_WORKFLOW: Final = "workflow"  # the source of tools that are workflows of the team
# The built-in tools that return what strangers wrote.
_WEB_TOOLS: Final = frozenset(
    {"http_request", "web_page", "webscraper", *(tool.spec.name for tool in WEB_TOOLS)}
)
_CHANGING_TOOLS: Final = frozenset(
    {"http_request"}
)  # the built-in tools that may change something outside
_MAX_ERROR: Final = 2000


class ToolConfig(NodeConfig):
    """The settings in Dify's form, and ``mcp_server``, ``mcp_server_ref`` and ``arguments`` of xworkflow's."""

    provider_type: str | None = None
    provider_id: str | None = None
    provider_name: str | None = None
    tool_name: str | None = None
    tool_label: str | None = None
    tool_configurations: dict[str, Any] | None = None
    tool_parameters: dict[str, Any] | None = None
    mcp_server: dict[str, Any] | str | None = None
    mcp_server_ref: str | None = None
    arguments: dict[str, Any] | None = None
    output_schema: Any = None  # of any form, since documents of other products have it
    approvers: tuple[Answerer, ...] = Bounded(default=(), max_length=MAX_ANSWERERS)


@dataclass(frozen=True, slots=True)
class Prepared:
    """``reference`` is None for a tool that is not connected."""

    reference: ToolReference | None
    name: str
    arguments: Mapping[str, Json]
    output_names: tuple[str, ...]
    approvers: tuple[Answerer, ...] = ()


class ToolNode(NodeKind[ToolConfig, Prepared]):
    name = "tool"
    title = gettext_noop("Tool")
    description = gettext_noop(
        "Calls a tool of the team: built-in, of an API, an MCP server or a plug-in"
    )
    group = "tools"
    palette_order = 10
    icon = "tool"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = ToolConfig
    has_effect = True
    calls_outside = True
    retry = Retry(max_retries=3, interval_ms=1000)
    streams = frozenset({"text"})
    fields = (
        Field("tool_name", gettext_noop("Tool"), Widget.TOOL, required=True, example="web_page"),
        Field("tool_parameters", gettext_noop("Arguments"), Widget.TOOL_ARGUMENTS, default={},
              help=gettext_noop("A text with references to variables, or one variable whose value is passed as it is."),
              example={"url": {"type": "mixed", "value": "{{#start.url#}}"}}),
        replace(APPROVERS_FIELD, is_advanced=True),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("tool_label") or data.get("tool_name"))]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(
            read_reference(spec.data),
            describe_choice(spec.data),
            merge_arguments(spec.data),
            tuple(_list_declared(spec.data)),
            config.approvers,
        )

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        problems += find_incomplete_rows(self.configure(spec).approvers, spec.id, "approvers")
        if not (name := describe_choice(spec.data)):
            return problems
        if read_reference(spec.data) is None:
            message = f"The tool {name} isn't connected; select another one, or connect it on the page Tools"
            problems.append(
                build_warning("tool.connected", message, node=spec.id, field="tool_name")
            )
        return problems

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output(
                "text", "string", gettext_noop("The answer as text"), example="The order is placed."
            ),
            Output("files", "array[file]", gettext_noop("Files that the tool returned")),
            Output("json", "array[object]", gettext_noop("The data of the answer")),
            *(Output(name, value_type) for name, value_type in _list_declared(spec.data).items()),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(list_selectors(merge_arguments(spec.data)))

    def brings_untrusted_content(self, spec: NodeSpec) -> bool:
        """Return whether strangers write the tool's answer. Arithmetic only answers what it was given."""
        reference = read_reference(spec.data)
        return reference is None or reference.source != "builtin" or reference.name in _WEB_TOOLS

    def sends_outside(self, spec: NodeSpec) -> bool:
        """Return whether the arguments go to a stranger's server; a workflow of the team is checked by itself."""
        reference = read_reference(spec.data)
        is_stranger = reference is not None and reference.source != _WORKFLOW
        return is_stranger and self.brings_untrusted_content(spec)

    def only_reads(self, prepared: Prepared, ctx: NodeContext) -> bool:
        """Return whether the tool is a built-in one that changes nothing; of others it isn't known."""
        reference = prepared.reference
        return (
            reference is not None
            and reference.source == "builtin"
            and reference.name not in _CHANGING_TOOLS
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        arguments = fill_in(prepared.arguments, ctx.pool)
        ctx.record_inputs(_describe(prepared, arguments))
        if prepared.reference is None:
            raise ToolFailed(f"The tool {prepared.name} isn't connected")
        port = ctx.ports.tools
        if port is None:
            raise PortMissing("tools")
        tool = await _find(port, prepared.reference)
        parameters = tool.spec.parameters
        arguments = drop_blanks(fill_in(prepared.arguments, ctx.pool, parameters), parameters)
        key = ctx.origin.idempotency_key
        source = tool.reference.source
        if tool.needs_approval and not await has_begun(ctx, source, key):
            _ask_for_approval(ctx, prepared, tool, arguments)
        tool = replace(
            tool,
            is_chosen=is_chosen(ctx.node_id, ctx.untrusted),
            memories=find_memories(ctx.shown_memories, arguments),
        )
        result = await call_answered(ctx, port, tool, arguments, idempotency_key=key)
        ctx.record_memories(result.memories)
        if result.is_error:
            raise ToolFailed(result.text[:_MAX_ERROR] or "The tool failed", retryable=True)
        ctx.stream("text", result.text)
        usage = Usage(result.prompt_tokens, result.completion_tokens)
        return NodeResult(_build_outputs(prepared, result), usage=usage)

    async def preview_inputs(self, prepared: Prepared, ctx: NodeContext) -> Mapping[str, Json]:
        return _describe(prepared, fill_in(prepared.arguments, ctx.pool))


async def _find(port: ToolPort, reference: ToolReference) -> Tool:
    tools = await port.find([reference])
    if len(tools) != 1:
        raise ToolFailed(f"{reference.name!r} doesn't name one tool")
    return tools[0]


def _ask_for_approval(
    ctx: NodeContext, prepared: Prepared, tool: Tool, arguments: Mapping[str, Json]
) -> None:
    """Return if a person allowed the call. Raises ToolFailed, or StepWaiting as long as nobody has answered."""
    reference = tool.reference
    connection = name_connection(reference.source, reference.provider)
    shown_call = AskedCall(tool.spec.name, arguments, tool.version, tool.cause, connection)
    answer = wait_for_answer(ctx, shown_call, approvers=prepared.approvers)
    if answer.action != ALLOW:
        comment = str(answer.values.get("comment") or "").strip()[:_MAX_ERROR]
        raise ToolFailed(f"A person refused the call. {comment}".strip())


def _build_outputs(prepared: Prepared, result: ToolResult) -> dict[str, Json]:
    first = result.data[0] if result.data else None
    fields = first if isinstance(first, Mapping) else {}
    return {
        "text": result.text,
        "files": [dict(file) for file in result.files],
        "json": list(result.data),
        **{name: fields.get(name) for name in prepared.output_names},
    }


def _describe(prepared: Prepared, arguments: Mapping[str, Json]) -> dict[str, Json]:
    return {"tool": prepared.name, "arguments": dict(arguments)}


def _list_declared(data: Data) -> dict[str, str]:
    """Return the names and types of the outputs that the document declares, beside those of every tool."""
    schema = data.get("output_schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    return {
        str(name): _read_type(rule)
        for name, rule in properties.items()
        if name not in ("text", "files", "json")
    }


def _read_type(rule: Json) -> str:
    value_type = rule.get("type") if isinstance(rule, Mapping) else None
    if value_type == "array":
        items = rule.get("items")
        item_type = items.get("type") if isinstance(items, Mapping) else None
        return f"array[{item_type}]" if item_type in ("string", "number", "object") else "array"
    return str(value_type) if value_type in ("string", "number", "boolean", "object") else "any"
