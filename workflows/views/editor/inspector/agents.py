"""The choices in an agent's form: the tools of the team, and what the agent may do with memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.principals import Principal
from workflows import memory_app, permissions, selectors
from workflows.engine.language.document import Json
from workflows.engine.language.memory_usage import SCOPES
from workflows.engine.nodes.memory.memory_access import PAGE_SCOPES
from workflows.engine.tools.builtin import BUILTIN_TOOLS
from workflows.models import ConnectionKind, ToolConnection, Workflow
from workflows.services.tools.workflow_tools import list_workflow_tools
from workflows.tools.operations import read_operations
from workflows.views.phrases import translate_text


TOOL_SOURCES: Final[tuple[tuple[str, str | Promise], ...]] = (
    ("builtin", gettext_lazy("Built-in")),
    ("openapi", gettext_lazy("API")),
    ("mcp", gettext_lazy("MCP server")),
    ("workflow", gettext_lazy("Workflow")),
    ("plugin", gettext_lazy("Plug-in")),
)
# Tool of memory, its label, and whether it is about pages, which have fewer scopes.
_MEMORY_TOOLS: Final[tuple[tuple[str, str | Promise, bool], ...]] = (
    ("recall", gettext_lazy("Recall"), False),
    ("remember", gettext_lazy("Remember"), False),
    ("forget", gettext_lazy("Forget"), False),
    ("search_pages", gettext_lazy("Search pages"), True),
    ("write_page", gettext_lazy("Write pages"), True),
)
_MAX_DESCRIPTION: Final = 200


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool of the picker; ``entry`` is added to the node's list of tools."""

    title: str
    description: str
    entry: Json


@dataclass(frozen=True, slots=True)
class ToolGroup:
    label: str
    tools: tuple[ToolChoice, ...]


def build_agent_choices(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Build the context of the fields of agents."""
    return {
        "tool_groups": _list_groups(principal, workflow),
        "tool_sources": TOOL_SOURCES,
        "memory_scopes": [(scope, translate_text(label)) for scope, label in SCOPES],
        "memory_tools": [
            (name, label, [scope for scope, _label in (PAGE_SCOPES if is_page else SCOPES)])
            for name, label, is_page in _MEMORY_TOOLS
        ]
        if memory_app.is_on()
        else [],
    }


def _list_groups(principal: Principal, workflow: Workflow) -> list[ToolGroup]:
    builtin = tuple(
        ToolChoice(
            tool.title or tool.spec.name,
            tool.spec.description[:_MAX_DESCRIPTION],
            {"source": "builtin", "name": tool.spec.name},
        )
        for tool in BUILTIN_TOOLS
    )
    groups = [ToolGroup(_("Built-in"), builtin)]
    if workflow_tools := tuple(_list_workflows(principal, workflow)):
        groups.append(ToolGroup(_("Workflows"), workflow_tools))
    if permissions.may_view_credentials(principal, workflow.team_id):
        rows = selectors.list_tool_connections(principal, workflow.team_id)
        groups += [ToolGroup(row.name, tools) for row in rows if (tools := _list_connected(row))]
    return groups


def _list_workflows(principal: Principal, workflow: Workflow) -> Iterator[ToolChoice]:
    """Yield the published workflows that offer themselves as tools, except the one that is edited."""
    for tool in list_workflow_tools(principal, workflow.team_id):
        if tool.workflow.pk != workflow.pk:
            entry = {"source": "workflow", "provider": tool.workflow.slug, "name": tool.spec.name}
            description = tool.spec.description[:_MAX_DESCRIPTION]
            yield ToolChoice(tool.workflow.name, description, entry)


def _list_connected(row: ToolConnection) -> tuple[ToolChoice, ...]:
    """Return the enabled tools of a connection, whose secret is not needed for that."""
    source = "openapi" if row.kind == ConnectionKind.OPENAPI else "mcp"
    return tuple(
        ToolChoice(
            operation.name,
            operation.description[:_MAX_DESCRIPTION],
            {"source": source, "provider": row.slug, "name": operation.name},
        )
        for operation in read_operations(row.operations)
        if operation.name in row.enabled_operations
    )
