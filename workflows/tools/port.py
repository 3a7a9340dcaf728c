"""The tools of a run in a team: built-in ones, those of plug-ins, its connections and its published workflows."""

from collections.abc import Callable, Mapping, Sequence
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
from workflows.engine.tools.web.services import SERVICES, Account
from workflows.models import ConnectionKind, ToolConnection
from workflows.tools.connections import (
    SECRETS,
    Connection,
    call_connection_tool,
    check_version,
    list_tools,
    read_connection,
    read_secret,
)
from workflows.tools.threads import RunInThread


# The right that a person needs for the tools of a team. Built-in tools and plug-ins need none: they read nothing of it.
USE_TOOLS: Final = "workflow.run"


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


class TeamAccounts:
    """Implements ``engine.tools.web.services.AccountPort`` with the web services that the team has connected."""

    def __init__(
        self, team_id: UUID, load_principal: Callable[[], Principal], run_in_thread: RunInThread
    ) -> None:
        self._team_id = team_id
        self._load_principal, self._run_in_thread = load_principal, run_in_thread

    async def find(self, service: str) -> Account | None:
        return await self._run_in_thread(self._load, service)

    def _load(self, service: str) -> Account | None:
        with tenant([self._team_id]):
            row = (
                ToolConnection.objects.unscoped()
                .filter(team_id=self._team_id, kind=ConnectionKind.WEB, slug=service)
                .select_related("credential")
                .first()
            )
        if row is None:
            return None
        if not can(self._load_principal(), USE_TOOLS, self._team_id):
            raise ToolFailed(f"The person this run is for may not use the account of {row.name}")
        default_url = SERVICES[service].base_url if service in SERVICES else ""
        return Account("" if row.url == default_url else row.url, read_secret(row) or "")


def find_team_connection(team_id: UUID, reference: ToolReference) -> Connection:
    """Return the connection that a document names by its slug or, in imported documents, by its name or URL."""
    provider = reference.provider
    with tenant([team_id]):
        rows = list(
            ToolConnection.objects.unscoped()
            .filter(Q(slug=provider) | Q(name=provider) | Q(url=provider), team_id=team_id)
            .exclude(kind=ConnectionKind.WEB)
            .select_related(*SECRETS)
            .order_by("slug")[:10]
        )
    row = next((row for row in rows if row.slug == provider), rows[0] if len(rows) == 1 else None)
    if row is None:
        reason = "several connections fit" if rows else "there is no such connection in this team"
        message = f"The tool {describe_reference(reference)} isn't connected: {reason}"
        raise ToolFailed(message) if rows else ToolMissing(message)
    return read_connection(row)


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
) -> TeamTools:
    """Return the tools of a run of the team. ``workflows`` runs published workflows as children of the run."""
    accounts = TeamAccounts(team_id, load_principal, run_in_thread)
    local = LocalTools(load_local_tools(), clock, http, accounts)
    connections = ConnectionTools(team_id, load_principal, run_in_thread)
    ports: dict[str, Any] = {  # by source
        "builtin": local,
        "plugin": local,
        "openapi": connections,
        "mcp": connections,
    }
    return TeamTools({**ports, **({"workflow": workflows} if workflows else {})})
