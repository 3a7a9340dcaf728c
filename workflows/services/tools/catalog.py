"""Lists every tool that a principal can use in a team, for pages that offer tools."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.access import Principal
from accounts.tenancy import reading
from workflows import permissions
from workflows.engine.tool_calls import Tool, ToolReference, ToolSource
from workflows.engine.tools.port import list_local_tools
from workflows.models import ToolConnection
from workflows.services.tools.workflow_tools import list_workflow_tools
from workflows.tools.connections import Connection, build_tool
from workflows.tools.openapi.security import Security
from workflows.tools.operations import read_operations
from workflows.tools.port import load_local_tools


SOURCE_LABELS: Final[dict[ToolSource, str | Promise]] = {
    "builtin": _("Built-in"),
    "plugin": _("Plug-in"),
    "workflow": _("Workflow"),
    "openapi": _("API"),
    "mcp": _("MCP server"),
}


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """A tool of the catalog. ``title`` is in English for tools of the product, which the pages translate."""

    tool: Tool
    title: str

    @property
    def reference(self) -> ToolReference:
        return self.tool.reference


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """The tools of a provider. ``label`` is the connection's name, or the name of the source."""

    source: ToolSource
    label: str
    tools: tuple[CatalogTool, ...]


def list_tool_groups(
    principal: Principal, team_id: UUID, *, except_workflow: UUID | None = None
) -> Sequence[ToolGroup]:
    """Return the tools of the team that the principal can use, grouped by provider; groups without tools are left out.

    Connections are listed for those who may see the team's credentials. ``except_workflow`` can't be its own tool.
    """
    groups = [
        *_list_local(),
        _list_workflows(principal, team_id, except_workflow),
        *_list_connections(principal, team_id),
    ]
    return [group for group in groups if group.tools]


def find_tool(groups: Iterable[ToolGroup], reference: ToolReference | None) -> CatalogTool | None:
    """Return the tool of this reference from the catalog, or None."""
    tools = (tool for group in groups for tool in group.tools)
    return next((tool for tool in tools if tool.reference == reference), None)


def _list_local() -> Iterator[ToolGroup]:
    table = load_local_tools()
    sources: tuple[ToolSource, ...] = ("builtin", "plugin")
    for source in sources:
        tools = tuple(
            CatalogTool(tool, table[source, tool.reference.name].title or tool.spec.name)
            for tool in list_local_tools(table, source)
        )
        yield ToolGroup(source, str(SOURCE_LABELS[source]), tools)


def _list_workflows(principal: Principal, team_id: UUID, except_workflow: UUID | None) -> ToolGroup:
    tools = tuple(
        CatalogTool(
            Tool(ToolReference("workflow", each.spec.name, each.workflow.slug), each.spec),
            each.workflow.name,
        )
        for each in list_workflow_tools(principal, team_id)
        if each.workflow.pk != except_workflow
    )
    return ToolGroup("workflow", str(SOURCE_LABELS["workflow"]), tools)


def _list_connections(principal: Principal, team_id: UUID) -> Iterator[ToolGroup]:
    if not permissions.may_view_credentials(principal, team_id):
        return
    with reading([team_id]):
        rows = list(
            ToolConnection.objects.visible_to(principal)
            .filter(team_id=team_id)
            .order_by("name", "id")
        )
    for row in rows:
        connection = _read_without_secret(row)
        tools = tuple(
            CatalogTool(build_tool(connection, operation), name)
            for name, operation in connection.operations.items()
            if name in connection.enabled
        )
        if tools:
            yield ToolGroup(tools[0].reference.source, row.name, tools)


def _read_without_secret(row: ToolConnection) -> Connection:
    return Connection(
        slug=row.slug,
        kind=row.kind,
        url=row.url,
        operations={operation.name: operation for operation in read_operations(row.operations)},
        enabled=frozenset(row.enabled_operations),
        approvals=frozenset(row.approval_operations),
        security=Security(),
    )
