"""A connection with an MCP server: one session, whose calls may come from several tasks and at the same time.

The session lives in a task of its own, because the package wants it to be opened and closed by the same one. It speaks the
revision 2026-07-28, in which each request stands for itself; with servers that don't know it, or that end or keep silent when
they are asked for it, the handshake of the earlier revisions; and with those that refuse that over HTTP, the transport of 2024-11-05.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import structlog
from mcp import ClientSession, types
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from workflows.engine.errors import ToolFailed
from workflows.tools.call_limits import CallLimit
from workflows.tools.challenges import SignInNeeded
from workflows.tools.mcp.ages import forget_age, is_known_as_old, note_as_old
from workflows.tools.mcp.faults import build_busy, describe_error, is_refusal_of_transport
from workflows.tools.mcp.listings import KnownTools
from workflows.tools.mcp.patience import Patience
from workflows.tools.mcp.servers import Server
from workflows.tools.mcp.streams import (
    BrokenStream,
    NotedWriting,
    Spent,
    Streams,
    filter_messages,
    watch_stream,
)


# Until a session that doesn't end by itself is cancelled. A process is killed meanwhile, with all that it has started.
CLOSE_SECONDS: Final = 5.0
CLOSE_PROCESS_SECONDS: Final = 15.0
# By which the transport waits longer than a call: it is still there to tell the server that the call is given up.
MARGIN_SECONDS: Final = 60.0
# A call learns from the end of its session why it got no answer.
_REASON_SECONDS: Final = 2.0

log = structlog.get_logger(__name__)

T = TypeVar("T")
Open = Callable[[Spent, float, Callable[[str], None]], AbstractAsyncContextManager[Streams]]


class Connection:
    """A session with a server. ``tools`` are those that it has listed for this connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.tools: KnownTools | None = None
        self.spent = Spent()
        self._stop = _Stop()
        self._closing = asyncio.Event()
        self._turn = asyncio.Lock()
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._task is not None and not self._task.done() and not self._stop.reason

    async def open(self, seconds: float) -> None:
        """Open the session. Raise ``ToolFailed`` if the server can't be reached or answers nonsense."""
        was_old = is_known_as_old(self.server)
        try:
            await self._open(self.server.open, seconds)
        except ToolFailed as refusal:
            if refusal.retryable and not was_old and is_known_as_old(self.server):
                await self._open(self.server.open, seconds)  # it has ended at the question
                return
            if self.server.is_process or not is_refusal_of_transport(self.spent):
                raise
            try:
                await self._open(self.server.open_old, seconds)
            except ToolFailed:
                raise refusal from None

    async def use(
        self,
        work: Callable[[ClientSession, Patience], Awaitable[T]],
        limit: CallLimit,
        *texts: str,
    ) -> T:
        """Return what ``work`` makes of the session. What is under way when the time is up is cancelled at the server.

        ``texts`` are those of ``Patience``, for the error.
        """
        session = self._ready.result()
        # The messages of a process don't say to which call they belong, and it may ask in each.
        takes_turns = self.server.is_process and not is_modern(session)
        async with self._turn if takes_turns else nullcontext():
            self.spent.begin_call()
            patience = Patience(limit, *texts)
            with watch_stream() as stream:
                return await self._wait_for(work(session, patience), patience, stream)

    async def close(self) -> None:
        """End the session. A server that only fails to say goodbye has still answered."""
        if self._task is None:
            return
        self._closing.set()
        if self.spent.skipped.count:
            log.info("mcp_lines_skipped", server=self.server.url, lines=self.spent.skipped.count)
        seconds = CLOSE_PROCESS_SECONDS if self.server.is_process else CLOSE_SECONDS
        await asyncio.wait({self._task}, timeout=seconds)
        await _end(self._task)

    async def _open(self, open_streams: Open, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._stop, self._ready = _Stop(), loop.create_future()
        # A kept connection outlasts its first call: each call has a time limit of its own.
        self._task = loop.create_task(
            self._hold(open_streams, max(seconds, self.server.limit.total) + MARGIN_SECONDS)
        )
        patience = Patience(CallLimit(seconds, seconds))
        try:
            await self._wait_for(asyncio.shield(self._ready), patience)
        except BaseException:
            await _end(self._task)
            raise

    async def _hold(self, open_streams: Open, seconds: float) -> None:
        """Keep the session open until it is closed or breaks off."""
        with self._stop.scope:
            async with _open_session(
                open_streams(self.spent, seconds, self._stop), self.spent, self._stop
            ) as session:
                await _negotiate(session, self.server, self.spent)
                if not self._ready.done():
                    self._ready.set_result(session)
                await self._closing.wait()

    async def _wait_for(
        self, work: Awaitable[T], patience: Patience, stream: BrokenStream | None = None
    ) -> T:
        """Return the result of ``work``, or raise ``ToolFailed`` with the reason for which the session has ended."""
        task = self._task
        if task is None:
            raise RuntimeError("The connection is not open.")
        call = asyncio.ensure_future(work)
        try:
            while not call.done() and not task.done():
                if patience.seconds_left <= 0:
                    raise patience.build_fault()
                await asyncio.wait(
                    {call, task},
                    timeout=patience.seconds_left,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            if call.done() and not call.cancelled() and call.exception() is None:
                return call.result()
            raise await self._explain(call, stream) from None
        finally:
            if not call.done():
                call.cancel()
                await asyncio.wait({call})

    async def _explain(self, call: "asyncio.Future[Any]", stream: BrokenStream | None) -> Exception:
        """Return why a call failed: the reason for which its session has ended, or else what it raised."""
        if self.spent.challenge is not None:
            return SignInNeeded(self.spent.challenge)
        if self.spent.busy is not None:
            return build_busy(self.spent.busy)
        error = call.exception() if call.done() and not call.cancelled() else None
        task = self._task
        is_closed = isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED
        if stream is not None and stream.fault is not None and (error is None or is_closed):
            return stream.fault
        if task is not None and (error is None or is_closed):
            await asyncio.wait({task}, timeout=_REASON_SECONDS)
            if task.done() and not task.cancelled() and task.exception() is not None:
                error = task.exception() or error
        if self._stop.reason:
            return ToolFailed(self._stop.reason)
        if error is None:
            return ToolFailed("The MCP server closed the connection", retryable=True)
        return describe_error(error, self.server.url, self.spent)


class Session(ClientSession):
    """The package's session, which offers a person's answers.

    A server of an earlier revision gets them to forms only: the page at an address that it shows belongs to a call that is
    withdrawn until the person has answered.
    """

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        capabilities = super()._build_capabilities(version)
        if version in MODERN_PROTOCOL_VERSIONS:
            return capabilities
        elicitation = types.ElicitationCapability(form=types.FormElicitationCapability())
        return capabilities.model_copy(update={"elicitation": elicitation})


def is_modern(session: ClientSession) -> bool:
    """Return whether the session speaks a revision in which lists have a time to live and questions can wait."""
    return session.protocol_version in MODERN_PROTOCOL_VERSIONS


class _Stop:
    """Ends a session early, with the reason."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.reason = ""

    def __call__(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.scope.cancel()


async def _end(task: "asyncio.Task[None]") -> None:
    """Cancel the task of a session and wait for its end, whose reason is known or does not matter any more."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _negotiate(session: ClientSession, server: Server, spent: Spent) -> None:
    """Agree on a revision with the server: the newest one, or that of its handshake."""
    if is_known_as_old(server):
        try:
            await session.initialize()
        except BaseException:
            forget_age(server)  # it may have become newer meanwhile
            raise
        return
    try:
        await session.discover()
    except (MCPError, ValidationError, RuntimeError) as error:
        code = error.code if isinstance(error, MCPError) else None
        if code == types.CONNECTION_CLOSED:
            # Some processes end at any first message but that of the handshake: they have to be started again.
            if server.is_process:
                note_as_old(server)
            raise
        if spent.busy:
            raise  # it says nothing about the revisions that it speaks
        await session.initialize()
        if code == types.REQUEST_TIMEOUT:
            note_as_old(server)


@asynccontextmanager
async def _open_session(
    streams: AbstractAsyncContextManager[Streams], spent: Spent, stop: Callable[[str], None]
) -> AsyncIterator[ClientSession]:
    target, filtered = anyio.create_memory_object_stream[Any](0)
    async with (
        target,
        filtered,
        streams as (reading, writing),
        reading,
        writing,
        anyio.create_task_group() as group,
    ):
        group.start_soon(filter_messages, reading, target, spent, stop)
        information = types.Implementation(name="mnemoflow", version="1")
        async with Session(
            filtered,
            NotedWriting(writing, spent),
            client_info=information,
            elicitation_callback=partial(_answer_question, spent),
        ) as session:
            yield session
        group.cancel_scope.cancel()


async def _answer_question(
    spent: Spent, context: ClientRequestContext, params: types.ElicitRequestParams
) -> types.ElicitResult | types.ErrorData:
    """Answer what a server of an earlier revision asks during a call."""
    if not isinstance(params, types.ElicitRequestFormParams):
        return types.ErrorData(code=types.INVALID_PARAMS, message="Only forms are shown")
    interview = spent.interviews.find(context.request_id)
    if interview is None:
        message = "A question must belong to one call: send it with the answer to that call"
        return types.ErrorData(code=types.INVALID_REQUEST, message=message)
    return await interview.answer(params)
