"""The tools of a run in a team: built-in ones, those of plug-ins, its connections and its published workflows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from accounts.access import Principal, can
from accounts.tenancy import tenant
from config.plugins import PluginConflict, collect_lists
from workflows.engine.errors import ToolFailed, ToolMissing
from workflows.engine.language.document import Json
from workflows.engine.ports import ClockPort, HttpPort
from workflows.engine.tool_calls import ALL_TOOLS, Tool, ToolPort, ToolReference, ToolResult
from workflows.engine.tools.port import (
    LocalTools,
    ToolTable,
    build_table,
    describe_reference,
    limit_result,
)
from workflows.models import ConnectionKind, ToolConnection
from workflows.tools.approved_tools import ApprovedTools
from workflows.tools.connections import (
    SECRETS,
    Connection,
    call_connection_tool,
    check_version,
    describe_connection,
    list_tools,
    read_connection,
)
from workflows.tools.threads import RunInThread
from workflows.tools.web_accounts import (
    USE_TOOLS,
    AccountTools,
    TeamAccounts,
    add_versions,
    list_services,
)


# The sources of tools of connections.
_CONNECTED: Final = frozenset({"openapi", "mcp"})


@cache
def load_local_tools() -> ToolTable:
    """Return the built-in tools and those of plug-ins. Raise ``PluginConflict`` if two have the same name."""
    table = build_table(())
    for item in collect_lists("tools"):
        plugged = {key: tool for key, tool in build_table([item]).items() if key[0] == "plugin"}
        for _source, name in plugged.keys() & table.keys():
            raise PluginConflict("tools", name)
        table = {**table, **plugged}
    return table


@dataclass(frozen=True, slots=True)
class TeamTools:
    """Implements ``engine.tool_calls.ToolPort``: passes each tool to the port of its source."""

    ports: Mapping[str, ToolPort]

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools: list[Tool] = []
        for reference in references:
            tools += await self._get_port(reference).find([reference])
        return tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        port = self._get_port(tool.reference)
        result = await port.call(tool, arguments, idempotency_key=idempotency_key)
        return limit_result(result)

    def _get_port(self, reference: ToolReference) -> ToolPort:
        port = self.ports.get(reference.source)
        if port is None:
            raise ToolFailed(f"The tool {describe_reference(reference)} can't be used here")
        return port


class ConnectionTools:
    """Implements ``engine.tool_calls.ToolPort`` for the APIs and MCP servers that the team has connected.

    The rights of the run's person and the connection are read again for each call: a run may be long, and a tool that
    somebody has disabled meanwhile must not be called any more.
    """

    def __init__(
        self, team_id: UUID, load_principal: Callable[[], Principal], run_in_thread: RunInThread
    ) -> None:
        self._team_id = team_id
        self._load_principal, self._run_in_thread = load_principal, run_in_thread

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools: list[Tool] = []
        for reference in references:
            connection = await self._run_in_thread(self._load, reference)
            tools += _select_tools(connection, reference)
        return tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        connection = await self._run_in_thread(self._load, tool.reference)
        check_version(connection, tool)
        return await call_connection_tool(
            connection, tool, arguments, idempotency_key, self._run_in_thread
        )

    def _load(self, reference: ToolReference) -> Connection:
        if not can(self._load_principal(), USE_TOOLS, self._team_id):
            name = describe_reference(reference)
            raise ToolFailed(f"The person this run is for may not use the tool {name}")
        return find_team_connection(self._team_id, reference)


def find_team_connection(team_id: UUID, reference: ToolReference) -> Connection:
    """Return the connection that a document names by its slug or, in imported documents, by its name or URL."""
    with tenant([team_id]):
        rows = _find_rows(team_id, [reference.provider])
    return read_connection(_choose_row(rows, reference))


def list_connected_tools(team_id: UUID, references: Sequence[ToolReference]) -> list[Tool]:
    """Return the tools of the team's connections, and those that call web services, among those that the references name.

    One that isn't there, or is disabled, is left out. The caller has opened the wall of the team.
    """
    connected = [each for each in references if each.source in _CONNECTED]
    rows = _find_rows(team_id, {each.provider for each in connected}) if connected else []
    tools: list[Tool] = []
    for reference in connected:
        with suppress(ToolFailed):
            row = _choose_row(rows, reference)
            tools += _select_tools(describe_connection(row), reference)
    return [*tools, *_list_web_tools(team_id, references)]


def _list_web_tools(team_id: UUID, references: Sequence[ToolReference]) -> list[Tool]:
    local = LocalTools(load_local_tools())
    tools: list[Tool] = []
    for reference in references:
        if reference.source == "builtin":
            with suppress(ToolFailed):
                tools += local.list_tools(reference)
    web_tools = [tool for tool in tools if list_services(local, [tool])]
    return add_versions(team_id, local, web_tools) if web_tools else []


def _find_rows(team_id: UUID, providers: Collection[str]) -> list[ToolConnection]:
    """Return the connections that one of the names may mean: by their slug or, in imported documents, by name or URL."""
    named = Q(slug__in=providers) | Q(name__in=providers) | Q(url__in=providers)
    rows = ToolConnection.objects.unscoped().filter(named, team_id=team_id)
    rows = rows.exclude(kind=ConnectionKind.WEB).select_related(*SECRETS)
    return list(rows.order_by("slug"))


def _choose_row(rows: Iterable[ToolConnection], reference: ToolReference) -> ToolConnection:
    provider = reference.provider
    matches = [row for row in rows if provider in (row.slug, row.name, row.url)]
    named = [row for row in matches if row.slug == provider]
    if len(named or matches) == 1:
        return (named or matches)[0]
    reason = "several connections fit" if matches else "there is no such connection in this team"
    message = f"The tool {describe_reference(reference)} isn't connected: {reason}"
    raise ToolFailed(message) if matches else ToolMissing(message)


def _select_tools(connection: Connection, reference: ToolReference) -> list[Tool]:
    """Return the enabled operation of that name, or all of them."""
    tools = list_tools(connection)
    if reference.name == ALL_TOOLS:
        return [*tools]
    selected = [tool for tool in tools if tool.reference.name == reference.name]
    if not selected:
        raise ToolFailed(f"There is no tool {describe_reference(reference)}, or it is disabled")
    return selected


def build_team_tools(
    team_id: UUID,
    load_principal: Callable[[], Principal],
    run_in_thread: RunInThread,
    *,
    clock: ClockPort,
    http: HttpPort,
    workflows: ToolPort | None = None,
    approval: Mapping[str, str] | None = None,
) -> TeamTools:
    """Return the tools of a run of the team. ``workflows`` runs published workflows as children of the run.

    ``approval`` are the tools that a person has allowed together with the run, if one did.
    """
    accounts = TeamAccounts(team_id, load_principal, run_in_thread)
    local: ToolPort = AccountTools(
        LocalTools(load_local_tools(), clock, http, accounts), team_id, run_in_thread
    )
    connections: ToolPort = ConnectionTools(team_id, load_principal, run_in_thread)
    if approval is not None:
        local, connections = ApprovedTools(local, approval), ApprovedTools(connections, approval)
    ports: dict[str, Any] = {  # by source
        "builtin": local,
        "plugin": local,
        "openapi": connections,
        "mcp": connections,
    }
    return TeamTools({**ports, **({"workflow": workflows} if workflows else {})})
