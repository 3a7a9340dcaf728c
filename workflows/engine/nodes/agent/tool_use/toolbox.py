"""The tools of an agent: finds them, gives each a name that a model can write, and calls them."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from workflows.engine.errors import PortMissing, ToolFailed, ToolMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import find_schema_error
from workflows.engine.language.values import to_json
from workflows.engine.nodes.agent.agent_config import (
    AgentTool,
    is_typed_value,
    read_setting_selector,
)
from workflows.engine.nodes.agent.tool_node.tool_arguments import is_json_parameter, render_value
from workflows.engine.nodes.agent.tool_use.tool_questions import call_answered
from workflows.engine.nodes.agent.tool_use.tool_results import (
    ToolOutcome,
    build_error,
    limit_result,
)
from workflows.engine.nodes.http.json_repair import NotJson, read_json
from workflows.engine.ports import Origin
from workflows.engine.text_rendering import as_text
from workflows.engine.tool_calls import Tool, ToolCall, ToolPort, ToolReference, ToolSpec


# Models accept only such names of functions.
_INVALID_IN_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_MAX_NAME: Final = 64
# What a model is told about a tool that this installation lacks.
_MISSING: Final = "Not installed; do not call it."
MAX_ARGUMENTS: Final = 100_000  # characters
MAX_ARGUMENT_DEPTH: Final = 40

Arguments = Mapping[str, Json]

# The names by which a model may mean a tool; those that come first win.
_NAMES_IN_ORDER: Final[tuple[Callable[[ToolSpec], Sequence[str]], ...]] = (
    lambda spec: (spec.name, spec.title),
    lambda spec: spec.aliases,
    lambda spec: (spec.title.rpartition(".")[2],),
)


class CallableTool(Protocol):
    """A tool as the loop sees it. ``spec`` is what the model is told about it."""

    @property
    def spec(self) -> ToolSpec: ...
    @property
    def needs_approval(self) -> bool: ...
    @property
    def is_independent(self) -> bool:
        """Return whether it may be called at the same time as other tools."""
        ...

    @property
    def is_outside(self) -> bool:
        """Return whether its arguments leave the team."""
        ...

    @property
    def description(self) -> Mapping[str, Json]:
        """Return what the record of a call says about the tool."""
        ...

    @property
    def version(self) -> str:
        """Return a text that changes as soon as the same call would do something else."""
        ...

    def complete(self, arguments: Arguments) -> Arguments:
        """Return the arguments that are sent, with those that the author set."""
        ...

    async def call(self, arguments: Arguments, origin: Origin) -> ToolOutcome: ...


@dataclass(frozen=True, slots=True)
class ModelReading:
    """It says what the model that chooses the calls has read by then: untrusted content, and memories."""

    has_untrusted: Callable[[], bool]
    find_memories: Callable[[Json], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PortTool:
    """A tool of the team."""

    spec: ToolSpec
    tool: Tool
    port: ToolPort
    settings: Arguments
    needs_approval: bool
    ctx: NodeContext
    reading: ModelReading
    is_independent: bool = True

    @property
    def is_outside(self) -> bool:
        return self.tool.is_untrusted  # what computes here has trusted results

    @property
    def description(self) -> Mapping[str, Json]:
        reference = self.tool.reference
        return {"source": reference.source, "provider": reference.provider, "tool": reference.name}

    @property
    def version(self) -> str:
        return self.tool.version

    def complete(self, arguments: Arguments) -> Arguments:
        """Return the arguments with the author's settings, which the model cannot replace."""
        return {**arguments, **self.settings}

    def require_approval(self) -> "PortTool":
        """Return the tool as one that a person has to allow. Its port calls such a tool only as it was then."""
        tool = replace(self.tool, needs_approval=True)
        return replace(self, tool=tool, needs_approval=True)

    async def call(self, arguments: Arguments, origin: Origin) -> ToolOutcome:
        arguments, reading = self.complete(arguments), self.reading
        tool = replace(
            self.tool,
            is_chosen=reading.has_untrusted(),
            memories=reading.find_memories(dict(arguments)),
        )
        if tool.is_untrusted:
            # Before the call, because it decides what comes next even if it never ends, or ends with a fault.
            self.ctx.record_untrusted_keys([self.spec.name])
        try:
            result = await call_answered(
                self.ctx,
                self.port,
                tool,
                arguments,
                idempotency_key=origin.idempotency_key,
                part=origin.part,
            )
        except ToolFailed as fault:
            return replace(build_error(fault.message), is_untrusted=self.tool.is_untrusted)
        return ToolOutcome(limit_result(result), self.tool.is_untrusted)


@dataclass(frozen=True, slots=True)
class MissingTool:
    """A tool that the document names and that this installation lacks. The agent runs, and only a call of it fails."""

    spec: ToolSpec
    reference: ToolReference
    message: str
    needs_approval: bool = False
    is_independent: bool = True
    version: str = ""
    is_outside: bool = False

    @property
    def description(self) -> Mapping[str, Json]:
        reference = self.reference
        return {"source": reference.source, "provider": reference.provider, "tool": reference.name}

    def complete(self, arguments: Arguments) -> Arguments:
        return arguments

    async def call(self, arguments: Arguments, origin: Origin) -> ToolOutcome:
        return build_error(self.message)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that a model may call, by the names under which it sees them."""

    tools: Mapping[str, CallableTool] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    def find_name(self, name: str) -> str | None:
        """Return the name of the tool that a model means.

        It may write the name in other case or with other separators, write what people call the tool, or leave out the
        workflow of a merged workflow's function.
        """
        if name in self.tools:
            return name
        normalized = _normalize(name)
        if not normalized:
            return None
        for list_names in _NAMES_IN_ORDER:
            matches = [
                key
                for key, tool in self.tools.items()
                if normalized in map(_normalize, list_names(tool.spec))
            ]
            if matches:
                # Two tools that share an alias or a function's name are not told apart by it.
                return matches[0] if len(matches) == 1 else None
        return None

    def find_label(self, label: str) -> str | None:
        """Return the name of the tool with exactly this name in texts for models."""
        return next((name for name, tool in self.tools.items() if tool.spec.label == label), None)

    def explain_unknown(self, name: str) -> str:
        names = ", ".join(spec.label for spec in self.specs) or "none"
        return f"There is no tool named {name[:100]!r}. Tools: {names}."


async def find_tools(
    entries: Sequence[AgentTool],
    own_tools: Iterable[CallableTool],
    ctx: NodeContext,
    reading: ModelReading,
) -> Toolbox:
    """Find the tools of the document. Raises ToolFailed for one that the run may not use.

    One that is missing is offered nevertheless, so that the others can be used; a call of it is an error.
    """
    tools: dict[str, CallableTool] = {tool.spec.name: tool for tool in own_tools}
    port = ctx.ports.tools
    if not entries:
        return Toolbox(tools)
    if port is None:
        raise PortMissing("tools")
    offered: list[tuple[AgentTool, Tool]] = []
    messages: dict[int, str] = {}  # of missing tools, by the position in ``offered``
    for entry in entries:
        try:
            offered += [(entry, tool) for tool in await port.find([entry.reference])]
        except ToolMissing as missing:
            messages[len(offered)] = missing.message
            offered.append((entry, Tool(entry.reference, ToolSpec(entry.name, _MISSING))))
    names = _choose_names([tool for _entry, tool in offered], tools)
    for index, (name, (entry, tool)) in enumerate(zip(names, offered, strict=True)):
        if index in messages:
            spec = replace(tool.spec, name=name)
            tools[name] = MissingTool(spec, tool.reference, messages[index])
        else:
            tools[name] = _build_tool(name, entry, tool, port, ctx, reading)
    return Toolbox(tools)


def read_arguments(call: ToolCall, spec: ToolSpec) -> dict[str, Json]:
    """Return the arguments of a call. Raises ValueError with a message for the model."""
    if len(call.arguments) > MAX_ARGUMENTS:
        raise ValueError(f"The arguments are longer than {MAX_ARGUMENTS:,} characters.")
    try:
        arguments = read_json(call.arguments) if call.arguments.strip() else {}
    except NotJson as error:
        raise ValueError(f"The arguments are not valid JSON: {error}.") from None
    if not isinstance(arguments, dict):
        raise ValueError("The arguments must be a JSON object.")
    if _is_deeper(arguments, MAX_ARGUMENT_DEPTH):
        raise ValueError(f"The arguments are nested more than {MAX_ARGUMENT_DEPTH} levels deep.")
    if _has_half_characters(call.arguments, arguments):
        raise ValueError("The arguments contain half of a character.")
    if error_text := find_schema_error(arguments, spec.parameters):
        raise ValueError(f"The arguments do not fit the tool: {error_text}.")
    return arguments


def _has_half_characters(text: str, value: Json) -> bool:
    """Return whether a text in the value can't be sent or stored: half of a surrogate pair."""
    if text.isascii() and "\\u" not in text:
        return False
    try:
        to_json(value).encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_deeper(value: Json, levels: int) -> bool:
    """Return whether a value is nested more than this many levels deep."""
    inner = [value]
    for _level in range(levels + 1):
        inner = [
            item
            for each in inner
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not inner:
            return False
    return True


def _build_tool(
    name: str,
    entry: AgentTool,
    tool: Tool,
    port: ToolPort,
    ctx: NodeContext,
    reading: ModelReading,
) -> PortTool:
    spec = ToolSpec(
        name,
        entry.description or tool.spec.description,
        _remove_settings(tool.spec.parameters, {**tool.settings, **entry.settings}),
        tool.spec.title,
        (*filter(None, [entry.title]), *tool.spec.aliases),
    )
    settings = {**tool.settings, **dict(_iter_settings(entry, ctx, tool.spec.parameters))}
    # The port is told of it, too, so that it refuses to call what was changed after a person allowed it.
    tool = replace(tool, needs_approval=entry.needs_approval or tool.needs_approval)
    return PortTool(spec, tool, port, settings, tool.needs_approval, ctx, reading)


def _choose_names(tools: Sequence[Tool], own_names: Iterable[str]) -> list[str]:
    """Return a name for each tool that no other has, not even in another case.

    The names of trusted tools are chosen first, so that no server can take the name of a built-in tool.
    """
    taken = {_fold_name(name) for name in own_names}
    names = [""] * len(tools)
    for index in sorted(range(len(tools)), key=lambda index: tools[index].is_untrusted):
        names[index] = _choose_name(tools[index], taken)
        taken.add(_fold_name(names[index]))
    return names


def _fold_name(name: str) -> str:
    return name.lower().replace("-", "_")


def _choose_name(tool: Tool, taken: Collection[str]) -> str:
    """Return a free name: the tool's own, or one with its provider or a number. ``taken`` are folded names."""
    own_name = _clean_name(tool.spec.name) or "tool"
    provider = _clean_name(tool.reference.provider)
    names = [own_name, *([f"{provider}_{own_name}"] if provider else [])]
    numbered = (f"{names[-1][: _MAX_NAME - 4]}_{number}" for number in range(2, 1000))
    return next(
        name
        for name in (*names, *numbered)
        if _fold_name(name) not in taken and len(name) <= _MAX_NAME
    )


def _normalize(name: str) -> str:
    """Return the name in lower case, with one kind of separator and of characters."""
    return _SEPARATORS.sub("_", unicodedata.normalize("NFKC", name[:200]).casefold()).strip("_")


def _clean_name(name: str) -> str:
    return _INVALID_IN_NAME.sub("_", name).strip("_")[:_MAX_NAME]


def _remove_settings(schema: Mapping[str, Json], settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema without the parameters that the author sets."""
    properties, required = schema.get("properties"), schema.get("required")
    result = {"type": "object", **schema}
    if isinstance(properties, Mapping):
        result["properties"] = {
            name: rule for name, rule in properties.items() if name not in settings
        }
    if isinstance(required, list | tuple):
        result["required"] = [name for name in required if name not in settings]
    return result


def _iter_settings(
    entry: AgentTool, ctx: NodeContext, parameters: Mapping[str, Json]
) -> Iterator[tuple[str, Json]]:
    for name, setting in entry.settings.items():
        if (selector := read_setting_selector(setting)) is not None:
            yield name, ctx.pool.get_or_none(selector) if selector else None
            continue
        is_typed = is_typed_value(setting)
        if is_typed and setting["type"] == "constant":
            yield name, setting["value"]
            continue
        value = setting["value"] if is_typed else setting
        is_json = is_json_parameter(parameters, name)
        yield name, render_value(value, ctx.pool, name, is_json=is_json)


def describe_call(tool_name: str, arguments: Json) -> str:
    """Return the Markdown in which a person reads a call before allowing it."""
    text = arguments if isinstance(arguments, str) else as_text(arguments)
    lines = [f"    {line}" for line in text.splitlines()]
    return "\n".join([f"**{tool_name}**", "", *lines])


async def call_in_time(
    tool: CallableTool, arguments: Mapping[str, Json], origin: Origin, seconds: float | None
) -> ToolOutcome:
    """Call a tool, and return an error if it has not answered after ``seconds``."""
    try:
        async with asyncio.timeout(seconds) as scope:
            return await tool.call(arguments, origin)
    except TimeoutError:
        if not scope.expired():
            raise
        return build_error("The time of the agent was up before the tool answered.")
