"""The form of a tool node: the picker of the team's tools, and a field for each argument of the selected one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.nodes.agent.tool_node.tool_arguments import merge_arguments
from workflows.engine.nodes.agent.tool_node.tool_choice import (
    build_tool_data,
    describe_choice,
    read_reference,
)
from workflows.engine.text_rendering import as_text
from workflows.models import Workflow
from workflows.services.tools.catalog import CatalogTool, find_tool, list_tool_groups
from workflows.views.phrases import translate_text


MAX_HELP: Final = 300
_SENTENCE_ENDS: Final = ".!?…:。！？：)"


@dataclass(frozen=True, slots=True)
class ToolOption:
    """A tool of the picker. ``data`` is what the node stores when it is selected."""

    title: str
    description: str
    data: Json
    is_selected: bool


@dataclass(frozen=True, slots=True)
class OptionGroup:
    label: str
    options: tuple[ToolOption, ...]


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument as people type it: a text with references, or exactly one reference."""

    name: str
    value: str
    type: str = ""
    help: str = ""
    is_required: bool = False
    is_unknown: bool = False  # the tool has no such argument


def build_tool_context(
    principal: Principal, workflow: Workflow, spec: NodeSpec
) -> dict[str, object]:
    """Return the tools to choose from, and the arguments of the one that the node calls."""
    groups = list_tool_groups(principal, workflow.team_id, except_workflow=workflow.pk)
    selected = find_tool(groups, read_reference(spec.data))
    return {
        "tool_options": [
            OptionGroup(
                group.label, tuple(_build_option(tool, tool is selected) for tool in group.tools)
            )
            for group in groups
        ],
        "selected_tool": selected,
        "stored_tool": describe_choice(spec.data),
        "argument_rows": [*_iter_rows(selected, merge_arguments(spec.data))],
    }


def _build_option(tool: CatalogTool, is_selected: bool) -> ToolOption:
    title = translate_text(tool.title) if tool.reference.source == "builtin" else tool.title
    return ToolOption(
        title,
        tool.tool.spec.description[:MAX_HELP],
        {
            **build_tool_data(tool.reference, title),
            "tool_parameters": {},
            "tool_configurations": {},
        },
        is_selected,
    )


def _iter_rows(tool: CatalogTool | None, stored: Mapping[str, Json]) -> Iterator[ArgumentRow]:
    parameters = tool.tool.spec.parameters if tool is not None else {}
    properties = parameters.get("properties")
    rules = properties if isinstance(properties, Mapping) else {}
    required = parameters.get("required") or ()
    for name, rule in rules.items():
        schema = rule if isinstance(rule, Mapping) else {}
        yield ArgumentRow(
            name,
            _show(stored.get(name)),
            type=as_text(schema.get("type") or ""),
            help=_describe(schema),
            is_required=name in required,
        )
    for name in stored:
        if name not in rules:
            yield ArgumentRow(name, _show(stored[name]), is_unknown=tool is not None)


def _describe(schema: Mapping[str, Json]) -> str:
    """Return the description of an argument, its choices and its default."""
    description = as_text(schema.get("description") or "")[:MAX_HELP].strip()
    parts = [description]
    if choices := schema.get("enum"):
        parts.append(_("One of: %(choices)s.") % {"choices": ", ".join(map(as_text, choices))})
    if (default := schema.get("default")) not in (None, ""):
        parts.append(_("Default: %(default)s.") % {"default": as_text(default)})
    if description and len(parts) > 1 and description[-1] not in _SENTENCE_ENDS:
        parts[0] += "."
    return " ".join(filter(None, parts))


def _show(argument: Json) -> str:
    if isinstance(argument, Mapping) and "value" in argument and "type" in argument:
        value = argument["value"]
        if argument["type"] == "variable" and isinstance(value, list | tuple) and value:
            return "{{#" + ".".join(map(str, value)) + "#}}"
        argument = value
    return "" if argument is None else as_text(argument)
