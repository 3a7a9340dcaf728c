"""The tools of a server: lists them, and remembers a listing as long as its server says that it holds."""

import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mcp import ClientSession, types

from workflows.engine.language.document import Json
from workflows.tools.mcp.servers import Server
from workflows.tools.operations import MAX_OPERATIONS, Operation, build_name, clean_text
from workflows.tools.parameter_schemas import SchemaReader


MAX_PAGES: Final = 20
MAX_LISTINGS: Final = 256  # that a process remembers
MAX_TTL_SECONDS: Final = 24 * 3600.0
MIN_TTL_SECONDS: Final = 60.0  # of a connection; many servers say 0
_HEADER: Final = '"x-mcp-header"'


@dataclass(frozen=True, slots=True)
class KnownTools:
    """The parameters of the tools of a server by their names there, until a time of ``time.monotonic``."""

    parameters: Mapping[str, Json]
    until: float
    # Arguments are sent as headers, too, which the session does after it has listed the tools itself.
    has_headers: bool = False

    @property
    def holds(self) -> bool:
        return time.monotonic() < self.until


_cache: OrderedDict[Server, KnownTools] = OrderedDict()


def find_known(server: Server) -> KnownTools | None:
    """Return the tools of the server, as this account was told them, if that still holds."""
    tools = _cache.get(server)
    return tools if tools is not None and tools.holds else None


async def learn_tools(server: Server, session: ClientSession) -> KnownTools:
    """List the tools of the server, and remember them for the time that it says, or a minute for this connection."""
    parameters: dict[str, Json] = {}
    seconds, has_headers = MAX_TTL_SECONDS, False
    async for page in iter_pages(session):
        seconds = min(seconds, page.ttl_ms / 1000)
        for tool in page.tools[:MAX_OPERATIONS]:
            parameters[tool.name] = read_tool("", tool).parameters
            has_headers = has_headers or _HEADER in json.dumps(tool.input_schema)
    tools = KnownTools(parameters, time.monotonic() + seconds, has_headers)
    _cache[server] = tools
    _cache.move_to_end(server)
    while len(_cache) > MAX_LISTINGS:
        _cache.popitem(last=False)
    return replace(tools, until=max(tools.until, time.monotonic() + MIN_TTL_SECONDS))


async def iter_pages(session: ClientSession) -> AsyncIterator[types.ListToolsResult]:
    """Yield the pages of the list, until there are too many of them or of their tools."""
    cursor: str | None = None
    count = 0
    for _page in range(MAX_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        yield page
        count += len(page.tools)
        if not page.next_cursor or page.next_cursor == cursor or count > MAX_OPERATIONS:
            return
        cursor = page.next_cursor


def read_tools(tools: list[types.Tool]) -> tuple[Operation, ...]:
    """Return the tools as operations, with names that models accept; those beyond the limit are left out."""
    operations: dict[str, Operation] = {}
    for tool in tools[:MAX_OPERATIONS]:
        name = build_name(tool.name, operations)
        operations[name] = read_tool(name, tool)
    return tuple(operations.values())


def read_tool(name: str, tool: types.Tool) -> Operation:
    schema = SchemaReader(tool.input_schema).read(tool.input_schema)
    return Operation(
        name=name,
        description=clean_text(tool.description) or clean_text(tool.title),
        parameters={"properties": {}, **schema, "type": "object"},
        call={"name": tool.name[:256]},
    )
