"""What is wrong with the tools that a document names: connections, operations and workflows that the team does not have."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.agent.tool_references import NamedTool, list_named_tools
from workflows.engine.tool_calls import ALL_TOOLS, ToolReference
from workflows.models import ToolConnection, Workflow
from workflows.tools.port import load_local_tools


CONNECTED = frozenset({"openapi", "mcp"})


def find_tool_problems(team_id: UUID, document: Document) -> Iterator[Problem]:
    """Yield a warning for each tool that a run could not use. The node fails only if a run reaches it."""
    named = [(node.id, tool) for node in document.nodes for tool in list_named_tools(node)]
    if not named:
        return
    sources = {tool.reference.source for _node, tool in named}
    with tenant([team_id]):
        connections = _load_connections(team_id) if sources & CONNECTED else []
        workflows = _load_workflows(team_id, [tool for _node, tool in named])
    for node_id, tool in named:
        if message := _describe_fault(tool.reference, connections, workflows):
            yield build_warning("tool.unavailable", message, node_id, tool.field)


def _load_connections(team_id: UUID) -> list[ToolConnection]:
    rows = ToolConnection.objects.unscoped().filter(team_id=team_id).order_by("slug")
    return list(rows.only("slug", "name", "url", "enabled_operations"))


def _load_workflows(team_id: UUID, tools: Sequence[NamedTool]) -> dict[str, Workflow]:
    """Return the workflows that tools name, by slug and by id."""
    if not any(tool.reference.source == "workflow" for tool in tools):
        return {}
    rows = Workflow.objects.unscoped().filter(team_id=team_id, is_tool=True)
    rows = rows.filter(published_version__isnull=False, archived_at=None).only("slug")
    return {name: row for row in rows for name in (row.slug, str(row.pk))}


def _describe_fault(
    reference: ToolReference, connections: Sequence[ToolConnection], workflows: dict[str, Workflow]
) -> str:
    """Return why a run can't use the tool, or an empty text."""
    name, provider = reference.name[:100], reference.provider[:100]
    if reference.source in CONNECTED:
        return _describe_connection_fault(reference, connections)
    if reference.source == "workflow":
        slug = provider or name
        return "" if slug in workflows else f"The workflow {slug} is not published as a tool"
    if name != ALL_TOOLS and (reference.source, name) not in load_local_tools():
        return f"There is no tool {name}; no installed plug-in offers it"
    return ""


def _describe_connection_fault(
    reference: ToolReference, connections: Sequence[ToolConnection]
) -> str:
    name, provider = reference.name[:100], reference.provider
    rows = [row for row in connections if provider in (row.slug, row.name, row.url)]
    exact = [row for row in rows if row.slug == provider]
    if not rows:
        return f"The team has no connection {provider[:100]}; connect it on the page Tools"
    if not exact and len(rows) > 1:
        return f"Several connections are named {provider[:100]}; use the connection name"
    row = (exact or rows)[0]
    if name != ALL_TOOLS and name not in row.enabled_operations:
        return f"{name} of {row.name} is disabled or does not exist"
    return ""
