"""Finds MCP servers on this machine, for the page Tools. Only loopback addresses are called, and only if the operator allows it."""

import asyncio
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from asgiref.sync import async_to_sync
from django.conf import settings

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import ToolFailed
from workflows.errors import TooManyCallsOutside
from workflows.models import ToolConnection
from workflows.services.outside_calls import call_outside
from workflows.tools.connections import build_server
from workflows.tools.openapi.security import Security


SECONDS: Final = 3.0
# Where servers of the official packages and of some others listen unless they are told otherwise.
ADDRESSES: Final = (
    "http://127.0.0.1:8000/mcp",  # FastMCP, and the package for Python
    "http://127.0.0.1:3000/mcp",  # the examples of the package for TypeScript
    "http://127.0.0.1:3001/mcp",  # the server with which clients are tried
    "http://127.0.0.1:8931/mcp",  # Playwright
)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class LocalServer:
    """An MCP server that answered without a credential, with the names of its tools."""

    title: str
    url: str
    tools: tuple[str, ...]


def find_local_servers(
    principal: Principal, team_id: UUID, *, own_port: int | None = None
) -> list[LocalServer]:
    """Return the MCP servers on this machine that the team has not connected yet.

    ``own_port`` is the port of this application, which is not asked.
    """
    permissions.check_manage(principal, team_id)
    if not settings.LOCAL_MCP:
        return []
    with tenant([team_id]):
        rows = ToolConnection.objects.unscoped().filter(team_id=team_id)
        urls = list(rows.values_list("url", flat=True))
    busy = {own_port} | {urlsplit(url).port for url in urls if urlsplit(url).hostname in _LOOPBACK}
    candidates = [url for url in ADDRESSES if urlsplit(url).port not in busy]
    if not candidates:
        return []
    try:
        with call_outside(principal, team_id):
            return async_to_sync(_ask_all)(candidates)
    except TooManyCallsOutside:  # nobody asked for this call, so nobody is told that it wasn't made
        return []


async def _ask_all(urls: list[str]) -> list[LocalServer]:
    servers = await asyncio.gather(*(_ask(url) for url in urls))
    return [server for server in servers if server]


async def _ask(url: str) -> LocalServer | None:
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp import session  # noqa: PLC0415

    try:
        listing = await session.list_tools(build_server(url, Security("bearer"), None), SECONDS)
    except ToolFailed:
        return None
    if not listing.operations:
        return None
    names = tuple(operation.name for operation in listing.operations)
    return LocalServer(listing.title or urlsplit(url).netloc, url, names)
