"""The accounts of a team with the web services that built-in tools call."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from accounts.access import Principal, can
from accounts.tenancy import tenant
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult
from workflows.engine.tools.port import LocalTools
from workflows.engine.tools.web.services import SERVICES, Account
from workflows.models import ConnectionKind, ToolConnection
from workflows.tools.connections import SECRETS, describe_account, read_secret
from workflows.tools.threads import RunInThread


# The right that a person needs for the tools of a team. Built-in tools and plug-ins need none: they read nothing of it.
USE_TOOLS: Final = "workflow.run"


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
            row = _find_rows(self._team_id, [service]).get(service)
        if row is None:
            return None
        if not can(self._load_principal(), USE_TOOLS, self._team_id):
            raise ToolFailed(f"The person this run is for may not use the account of {row.name}")
        default_url = SERVICES[service].base_url if service in SERVICES else ""
        return Account("" if row.url == default_url else row.url, read_secret(row) or "")


@dataclass(frozen=True, slots=True)
class AccountTools:
    """Implements ``engine.tool_calls.ToolPort`` in front of the local tools, of which some call a web service.

    Such a tool has another version as soon as it goes to another address or has another account there.
    """

    local: LocalTools
    team_id: UUID
    run_in_thread: RunInThread

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools = await self.local.find(references)
        if not list_services(self.local, tools):
            return tools
        versioned: Sequence[Tool] = await self.run_in_thread(self._add_versions, tools)
        return versioned

    def _add_versions(self, tools: Sequence[Tool]) -> list[Tool]:
        with tenant([self.team_id]):
            return add_versions(self.team_id, self.local, tools)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        if tool.needs_approval and tool.version:
            [current] = await self.find([tool.reference])
            if current.version != tool.version:
                name = tool.spec.name
                message = f"The account of {name!r} was changed after a person allowed this call"
                raise ToolFailed(message, retryable=True)
        return await self.local.call(tool, arguments, idempotency_key=idempotency_key)


def add_versions(team_id: UUID, local: LocalTools, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools, where those that call a web service have the version of the team's account with it.

    The caller has opened the wall of the team.
    """
    rows = _find_rows(team_id, list_services(local, tools))
    return [
        replace(tool, version=_build_version(rows.get(service)))
        if (service := _get_service(local, tool))
        else tool
        for tool in tools
    ]


def list_services(local: LocalTools, tools: Sequence[Tool]) -> set[str]:
    """Return the names of the web services that these tools call."""
    return {service for tool in tools if (service := _get_service(local, tool))}


def _get_service(local: LocalTools, tool: Tool) -> str:
    return local.table[tool.reference.source, tool.reference.name].service


def _build_version(row: ToolConnection | None) -> str:
    """Return a text that differs as soon as a call goes to another address or has another account."""
    parts = [row.url, describe_account(row)] if row is not None else []
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _find_rows(team_id: UUID, services: Collection[str]) -> dict[str, ToolConnection]:
    rows = ToolConnection.objects.unscoped().filter(
        team_id=team_id, kind=ConnectionKind.WEB, slug__in=services
    )
    return {row.slug: row for row in rows.select_related(*SECRETS).order_by("slug")}
