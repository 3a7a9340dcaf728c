"""Uses an MCP server: lists its tools and calls one, with limits on time, size and number of messages.

The calls of a run share a connection, and runs share none, so that nothing passes between teams. What a server may ask of a
client is refused (sampling, roots), but for questions to a person: those pause the run, and the answer goes with the call
that is made again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
from mcp import ClientSession, types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolReply, ToolResult
from workflows.tools.call_limits import CallLimit
from workflows.tools.echoed_secrets import NO_CLEANER, Cleaner
from workflows.tools.kept_connections import find_connection
from workflows.tools.mcp import IDEMPOTENCY_META
from workflows.tools.mcp.connection import Connection, is_modern
from workflows.tools.mcp.faults import (
    ServerBusy,
    explain_transport,
    is_ended_session,
    is_ended_state,
)
from workflows.tools.mcp.listings import find_known, iter_pages, learn_tools, read_tools
from workflows.tools.mcp.patience import Patience
from workflows.tools.mcp.questions import (
    build_old_question,
    build_question,
    read_interview,
    read_reply,
    repeat_reply,
)
from workflows.tools.mcp.results import build_result
from workflows.tools.mcp.servers import Server
from workflows.tools.mcp.streams import SkippedLines, Spent
from workflows.tools.operations import Operation, clean_text


__all__ = ["Listing", "Server", "call_tool", "list_tools"]

LIST_SECONDS: Final = 20.0
MAX_BUSY_TRIES: Final = 3
MAX_BUSY_SECONDS: Final = 20.0  # that are waited here; the retries of a node wait longer
OPEN_SECONDS: Final = 60.0  # for a call; some processes take long to start
# Until a server is asked again that wants to be asked again: at first, and each time longer, up to the second number.
POLL_SECONDS: Final = (0.25, 15.0)
POLL_FACTOR: Final = 1.5

_RESULTS: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server, and how it spoke. ``total`` counts those beyond the limit that were listed, too."""

    title: str
    operations: tuple[Operation, ...]
    total: int
    revision: str = ""
    skipped: SkippedLines = field(default_factory=SkippedLines)


async def list_tools(server: Server, seconds: float = LIST_SECONDS) -> Listing:
    """Return the tools of a server. Raise ``ToolFailed`` if it can't be reached or answers nonsense."""

    async def work(session: ClientSession, _patience: Patience) -> Listing:
        tools = [tool async for page in iter_pages(session) for tool in page.tools]
        information = session.server_info
        title = (information.title or information.name) if information else ""
        return Listing(
            clean_text(title, 200),
            read_tools(tools),
            len(tools),
            session.protocol_version or "",
            connection.spent.skipped,
        )

    connection = await _connect(server, seconds)
    try:
        return await connection.use(work, CallLimit(seconds, seconds))
    finally:
        await connection.close()


async def call_tool(
    server: Server,
    operation: Operation,
    arguments: Mapping[str, Json],
    *,
    idempotency_key: str = "",
    reply: ToolReply | None = None,
    clean: Cleaner = NO_CLEANER,
) -> ToolResult:
    """Call a tool. Raise ``ToolFailed`` if the server can't be reached; what it refuses is a result.

    ``clean`` removes the secret of the server from the answer before that is cut to size.

    Raise ``ToolAsks`` if it wants an answer of a person first; ``reply`` is that answer.
    """
    if error := operation.find_argument_error(arguments):
        return ToolResult(f"Invalid arguments: {error}", is_error=True)
    call = _Call(server, operation, arguments, idempotency_key, reply, clean)
    texts = (f"The tool {operation.name}", ", the limit of its connection")

    async def connect() -> Connection:
        return await _connect(server, min(server.limit.seconds, OPEN_SECONDS))

    async def make() -> ToolResult:
        async with find_connection(server, connect) as connection:
            try:
                return await connection.use(partial(call.make, connection), server.limit, *texts)
            except _SessionEnded:
                await connection.close()
                raise

    try:
        return await _make_patiently(make)
    except _SessionEnded:
        # The server has forgotten the session, and so the call was not carried out.
        return await _make_patiently(make)


async def _make_patiently(make: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """Make a call, and make it again if the server is busy and asks to wait for a short time."""
    for _try in range(MAX_BUSY_TRIES - 1):
        try:
            return await make()
        except ServerBusy as busy:
            if busy.retry_after is None or busy.retry_after > MAX_BUSY_SECONDS:
                raise
            await asyncio.sleep(busy.retry_after)
    return await make()


async def _connect(server: Server, seconds: float) -> Connection:
    connection = Connection(server)
    await connection.open(seconds)
    return connection


class _SessionEnded(ToolFailed):
    """The server has ended the session before the call."""


@dataclass(frozen=True, slots=True)
class _Call:
    server: Server
    operation: Operation
    arguments: Mapping[str, Json]
    idempotency_key: str
    reply: ToolReply | None
    clean: Cleaner

    @property
    def _title(self) -> str:
        """Return what asks, for the person who is asked."""
        return " · ".join(name for name in (self.operation.name, self.server.name) if name)

    async def make(
        self, connection: Connection, session: ClientSession, patience: Patience
    ) -> ToolResult:
        await self._check_tool(connection, session)
        make = self._make_until_answered if is_modern(session) else self._make_with_interview
        try:
            return await make(connection, session, patience)
        except MCPError as error:
            return _read_refusal(error, connection.spent, self.clean)

    async def _make_until_answered(
        self, _connection: Connection, session: ClientSession, patience: Patience
    ) -> ToolResult:
        responses, state = read_reply(self.reply)
        has_restarted, remembered = False, None
        seconds, most_seconds = POLL_SECONDS
        while True:
            # Not session.call_tool, which checks the answer against the server's own schema.
            request = self._build(self.idempotency_key, responses, state)
            try:
                result = await session.send_request(
                    request, _RESULTS, progress_callback=patience.note_progress
                )
            except MCPError as error:
                if state is None or has_restarted or not is_ended_state(error):
                    raise
                # A person may take longer than the state holds. The call was not carried out.
                has_restarted, responses, state = True, None, None
                remembered = self.reply
                continue
            if isinstance(result, types.CallToolResult):
                return await self._build_result(result)
            responses, state = None, result.request_state
            if result.input_requests:
                responses, remembered = repeat_reply(remembered, result.input_requests), None
                if responses is None:
                    raise build_question(self._title, result)
                continue
            await anyio.sleep(seconds)
            seconds = min(seconds * POLL_FACTOR, most_seconds)

    async def _make_with_interview(
        self, connection: Connection, session: ClientSession, patience: Patience
    ) -> ToolResult:
        """Make the call, and withdraw it if the server asks what nobody has answered yet."""
        interview = read_interview(self.reply)
        # A server that answers a repeated key with its first answer would answer with that of the withdrawn call.
        key, count = self.idempotency_key, len(interview.answers)
        request = self._build(f"{key} {count}" if key and count else key)
        with connection.spent.interviews.hold(interview):
            call = asyncio.ensure_future(
                session.send_request(
                    request, types.CallToolResult, progress_callback=patience.note_progress
                )
            )
            asking = asyncio.ensure_future(interview.is_asking.wait())
            try:
                await asyncio.wait({call, asking}, return_when=asyncio.FIRST_COMPLETED)
                is_withdrawn = not call.done()
            finally:
                asking.cancel()
                call.cancel()
                await asyncio.wait({call})
            question = await interview.end()
        if question is not None and is_withdrawn:
            raise build_old_question(self._title, question, interview)
        return await self._build_result(call.result())

    async def _build_result(self, answer: types.CallToolResult) -> ToolResult:
        """Return the result. A long answer is read in a thread, because other runs go on meanwhile."""
        return await asyncio.to_thread(build_result, answer, self.clean)

    def _build(
        self,
        key: str,
        responses: types.InputResponses | None = None,
        state: str | None = None,
    ) -> types.CallToolRequest:
        params = types.CallToolRequestParams(
            name=str(self.operation.call["name"]),
            arguments=dict(self.arguments),
            input_responses=responses,
            request_state=state,
            _meta={IDEMPOTENCY_META: key} if key else None,
        )
        return types.CallToolRequest(params=params)

    async def _check_tool(self, connection: Connection, session: ClientSession) -> None:
        """Raise ``ToolFailed`` if the server has changed the tool since a person enabled it.

        It is asked again when the time is up for which its list holds, which servers of earlier revisions don't say.
        """
        if not is_modern(session):
            return
        tools = connection.tools or find_known(self.server)
        if tools is None or not tools.holds or (tools.has_headers and connection.tools is None):
            try:
                tools = await learn_tools(self.server, session)
            except MCPError:
                if connection.spent.busy:
                    raise
                return  # the call itself will say what is wrong
        connection.tools = tools
        parameters = tools.parameters.get(str(self.operation.call["name"]))
        if parameters is not None and parameters != self.operation.parameters:
            raise ToolFailed(
                f"The MCP server has changed the tool {self.operation.name}. Refresh its connection on the page Tools."
            )


def _read_refusal(error: MCPError, spent: Spent, clean: Cleaner) -> ToolResult:
    """Return what the server refuses as a result. Raise the error if the call has no answer of the server."""
    if is_ended_session(error):
        raise _SessionEnded("The MCP server has ended the session", retryable=True) from None
    is_of_server = error.code != types.CONNECTION_CLOSED and not explain_transport(error, spent)
    if not is_of_server or spent.challenge or spent.busy:
        raise error
    return ToolResult(clean_text(clean(error.message)) or "Error", is_error=True)
