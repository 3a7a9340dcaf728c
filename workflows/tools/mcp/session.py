"""A session with an MCP server: lists its tools and calls one, with limits on time, size and number of messages.

Each use opens a session of its own and closes it, so that nothing is shared between teams. What a server may ask of a
client (sampling, elicitation, roots) is refused, which is what the package does unless it is given functions for it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio
from mcp import ClientSession, McpError, types
from pydantic import ValidationError

from config import net
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult
from workflows.tools.mcp.commands import STDIO_SCHEME
from workflows.tools.mcp.http import open_http
from workflows.tools.mcp.results import build_result
from workflows.tools.mcp.stdio import open_stdio
from workflows.tools.mcp.streams import Streams, filter_messages
from workflows.tools.operations import MAX_OPERATIONS, Operation, build_name, clean_text
from workflows.tools.parameter_schemas import SchemaReader


LIST_SECONDS: Final = 20.0
CALL_SECONDS: Final = 60.0
MAX_PAGES: Final = 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server, and its credential as a header or as a variable of the process."""

    url: str
    header: tuple[str, str] | None = None
    variable: tuple[str, str] | None = None

    def open(
        self, seconds: float, stop: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Streams]:
        if self.url.startswith(STDIO_SCHEME):
            return open_stdio(self.url.removeprefix(STDIO_SCHEME), self.variable)
        return open_http(self.url, seconds, self.header, stop=stop)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server. ``total`` counts those beyond the limit that were listed, too."""

    title: str
    operations: tuple[Operation, ...]
    total: int


async def list_tools(server: Server, seconds: float = LIST_SECONDS) -> Listing:
    """Return the tools of a server. Raise ``ToolFailed`` if it can't be reached or answers nonsense."""

    async def work(session: ClientSession) -> Listing:
        greeting = await session.initialize()
        tools = [tool async for tool in _iter_tools(session)]
        operations: dict[str, Operation] = {}
        for tool in tools[:MAX_OPERATIONS]:
            name = build_name(tool.name, operations)
            operations[name] = _read_tool(name, tool)
        title = greeting.serverInfo.title or greeting.serverInfo.name
        return Listing(clean_text(title, 200), tuple(operations.values()), len(tools))

    return await _use_session(server, seconds, work)


async def call_tool(
    server: Server,
    operation: Operation,
    arguments: Mapping[str, Json],
    *,
    idempotency_key: str = "",
    seconds: float = CALL_SECONDS,
) -> ToolResult:
    """Call a tool. Raise ``ToolFailed`` if the server can't be reached; what it refuses is a result."""
    if error := operation.find_argument_error(arguments):
        return ToolResult(f"Invalid arguments: {error}", is_error=True)
    meta = {"mnemoflow/idempotencyKey": idempotency_key} if idempotency_key else None
    params = types.CallToolRequestParams(
        name=str(operation.call["name"]),
        arguments=dict(arguments),
        _meta=types.RequestParams.Meta.model_validate(meta) if meta else None,
    )

    async def work(session: ClientSession) -> ToolResult:
        await session.initialize()
        request = types.ClientRequest(types.CallToolRequest(params=params))
        try:
            # Not session.call_tool, which lists the tools again to check the answer against the server's own schema.
            answer = await session.send_request(request, types.CallToolResult)
        except McpError as error:
            if error.error.code == types.CONNECTION_CLOSED:
                raise
            return ToolResult(clean_text(error.error.message) or "Error", is_error=True)
        return build_result(answer)

    return await _use_session(server, seconds, work)


async def _iter_tools(session: ClientSession) -> AsyncIterator[types.Tool]:
    """Yield the tools of all pages, until there are too many of either."""
    cursor: str | None = None
    count = 0
    for _page in range(MAX_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        request = types.ClientRequest(types.ListToolsRequest(params=params))
        page = await session.send_request(request, types.ListToolsResult)
        for tool in page.tools:
            yield tool
        count += len(page.tools)
        if not page.nextCursor or page.nextCursor == cursor or count > MAX_OPERATIONS:
            return
        cursor = page.nextCursor


def _read_tool(name: str, tool: types.Tool) -> Operation:
    schema = SchemaReader(tool.inputSchema).read(tool.inputSchema)
    return Operation(
        name=name,
        description=clean_text(tool.description) or clean_text(tool.title),
        parameters={"properties": {}, **schema, "type": "object"},
        call={"name": tool.name[:256]},
    )


@dataclass
class _Stop:
    """Ends a session early, with the reason."""

    scope: anyio.CancelScope
    reason: str = ""

    def __call__(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.scope.cancel()

    async def handle(self, message: object) -> None:
        """Stop for what the session can't assign: the answer to a request that was not made."""
        if isinstance(message, Exception):
            self("The MCP server answered a request that was not made")


async def _use_session(
    server: Server, seconds: float, work: Callable[[ClientSession], Awaitable[T]]
) -> T:
    """Return what ``work`` makes of a session. A server that only fails to say goodbye has still answered."""
    results: list[T] = []
    with anyio.move_on_after(seconds) as scope:
        stop = _Stop(scope)
        try:
            async with _open_session(server, seconds, stop) as session:
                results.append(await work(session))
        except ToolFailed:
            raise
        except Exception as error:
            if not results and not stop.reason:
                raise _describe_error(error, server.url) from None
    if results:
        return results[0]
    reason = stop.reason or f"The MCP server took longer than {seconds:g} seconds"
    raise ToolFailed(reason, retryable=not stop.reason)


@asynccontextmanager
async def _open_session(
    server: Server, seconds: float, stop: _Stop
) -> AsyncIterator[ClientSession]:
    target, filtered = anyio.create_memory_object_stream[Any](0)
    async with (
        target,
        filtered,
        server.open(seconds, stop) as (reading, writing),
        reading,
        writing,
        anyio.create_task_group() as group,
    ):
        group.start_soon(filter_messages, reading, target, stop)
        async with ClientSession(filtered, writing, message_handler=stop.handle) as session:
            yield session
        group.cancel_scope.cancel()


def _describe_error(error: Exception, url: str) -> ToolFailed:
    """Return the error for people: what the client says, else what the protocol says."""
    leaves = list(_iter_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, ToolFailed):
            return leaf
        if failure := net.describe_failure(leaf, url):
            return ToolFailed(str(failure), retryable=failure.retryable)
    for leaf in leaves:
        if isinstance(leaf, McpError) and leaf.error.code != types.CONNECTION_CLOSED:
            return ToolFailed(f"The MCP server refused: {clean_text(leaf.error.message, 300)}")
        if isinstance(leaf, McpError):
            return ToolFailed("The MCP server closed the connection", retryable=True)
        if isinstance(leaf, ValidationError | RuntimeError):
            return ToolFailed("The MCP server sent an answer that is not valid")
    raise error


def _iter_leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _iter_leaves(inner)
    else:
        yield error
