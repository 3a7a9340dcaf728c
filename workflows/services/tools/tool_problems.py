"""What is wrong with the tools that a document names: connections, operations and workflows that the team does not have."""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from accounts.tenancy import reading
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.agent.tool_node.tool_arguments import list_missing, merge_arguments
from workflows.engine.nodes.agent.tool_node.tool_choice import read_reference
from workflows.engine.nodes.agent.tool_use.tool_references import NamedTool, list_named_tools
from workflows.engine.tool_calls import ALL_TOOLS, ToolReference
from workflows.engine.tools.web.calls import describe_missing_account
from workflows.engine.tools.web.services import SERVICES, WebService
from workflows.models import ConnectionKind, SignInStatus, ToolConnection, Workflow
from workflows.tools.connections import find_sign_in, get_sign_in
from workflows.tools.port import load_local_tools


CONNECTED = frozenset({"openapi", "mcp"})
# Built-in tools may need an account with a service on the web.
WITH_CONNECTIONS = CONNECTED | {"builtin"}
_COLUMNS = ("slug", "name", "kind", "url", "enabled_operations", "team", "credential")
_SIGN_IN_COLUMNS = ("connection", "signed_in_at", "error", "access_token")


def find_tool_problems(team_id: UUID, document: Document) -> Iterator[Problem]:
    """Yield a warning for each tool that a run could not use, or that lacks a value.

    A run that reaches the node of such a tool fails there. An agent goes on without it.
    """
    yield from _find_missing_values(document)
    named = [(node, tool) for node in document.nodes for tool in list_named_tools(node)]
    if not named:
        return
    describe_fault = load_fault_finder(team_id, [tool for _node, tool in named])
    for node, tool in named:
        if message := describe_fault(tool.reference):
            code = "agent.tool" if node.kind == "agent" else "tool.unavailable"
            yield build_warning(code, message, node.id, tool.field)


def _find_missing_values(document: Document) -> Iterator[Problem]:
    """Yield a warning for each empty value that a tool of this installation requires of its node."""
    for node in document.nodes:
        reference = read_reference(node.data) if node.kind == "tool" else None
        tool = reference and load_local_tools().get((reference.source, reference.name))
        if not tool:
            continue
        for name in list_missing(merge_arguments(node.data), tool.spec.parameters):
            message, field = f"{name} is missing", f"tool_parameters.{name}"
            yield build_warning("tool.argument", message, node.id, field)


def load_fault_finder(
    team_id: UUID | None, tools: Sequence[NamedTool]
) -> Callable[[ToolReference], str]:
    """Return a function that says why a run of the team can't use one of these tools, or an empty text.

    Without a team there are no connections and no workflows.
    """
    sources = {tool.reference.source for tool in tools}
    connections: list[ToolConnection] = []
    workflows: dict[str, Workflow] = {}
    if team_id is not None:
        with reading([team_id]):
            connections = _load_connections(team_id) if sources & WITH_CONNECTIONS else []
            workflows = _load_workflows(team_id, tools)
    return lambda reference: _describe_fault(reference, connections, workflows)


def _load_connections(team_id: UUID) -> list[ToolConnection]:
    rows = ToolConnection.objects.unscoped().filter(team_id=team_id).order_by("slug")
    rows = rows.select_related("sign_in")
    return list(rows.only(*_COLUMNS, *(f"sign_in__{name}" for name in _SIGN_IN_COLUMNS)))


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
    tool = load_local_tools().get((reference.source, name))
    if name != ALL_TOOLS and tool is None:
        return f"There is no tool {name}; no installed plug-in offers it"
    service = SERVICES.get(tool.service) if tool is not None else None
    if service is not None and service.needs_account and not _has_account(service, connections):
        return describe_missing_account(service)
    return ""


def _has_account(service: WebService, connections: Sequence[ToolConnection]) -> bool:
    return any(row.kind == ConnectionKind.WEB and row.slug == service.name for row in connections)


def _describe_connection_fault(
    reference: ToolReference, connections: Sequence[ToolConnection]
) -> str:
    name, provider = reference.name[:100], reference.provider
    rows = [
        row
        for row in connections
        if row.kind != ConnectionKind.WEB and provider in (row.slug, row.name, row.url)
    ]
    exact = [row for row in rows if row.slug == provider]
    if not rows:
        return f"The team has no connection {provider[:100]}; connect it on the page Tools"
    if not exact and len(rows) > 1:
        return f"Several connections are named {provider[:100]}; use the connection name"
    row = (exact or rows)[0]
    sign_in = get_sign_in(row)
    if sign_in is not None and find_sign_in(row) and sign_in.status != SignInStatus.SIGNED_IN:
        return f"{row.name} needs a sign-in; an admin signs in on the page Tools"
    if name != ALL_TOOLS and name not in row.enabled_operations:
        return f"{name} of {row.name} is disabled or does not exist"
    return ""
