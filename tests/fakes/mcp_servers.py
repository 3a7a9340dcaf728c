"""MCP servers of each revision, written with the official package and served on loopback.

with serve_mcp("2025-11-25") as server:
    ... server.url ...
    assert [call.name for call in server.calls] == ["add"]

Its tools: ``add`` adds two numbers, ``wait`` answers when the test lets it, ``refuse`` refuses, and ``order`` asks a person
for a size first; ``leave`` ends its stream before it answers; ``visit`` sends somebody to an address, which servers of earlier revisions may not.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.own_server import run_server
from tests.support.waiting import until_async


NEW: Final = "2026-07-28"
OLD: Final = "2025-11-25"  # without ``server/discover``, with sessions
OLDEST: Final = "2024-11-05"  # HTTP with a stream of events
REVISIONS: Final = (NEW, OLD, OLDEST)

_NUMBERS: Final = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}
_NOTHING: Final = {"type": "object", "properties": {}}
SIZE: Final = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "title": "Size", "enum": ["S", "L"]},
        "count": {"type": "integer", "title": "How many", "default": 1},
        "gift": {"type": "boolean"},
    },
    "required": ["size"],
}
SURE: Final = {
    "type": "object",
    "properties": {"sure": {"type": "boolean", "title": "Sure"}},
    "required": ["sure"],
}


@dataclass(frozen=True)
class Called:
    name: str
    arguments: Mapping[str, Any]
    key: str | None  # the idempotency key


@dataclass
class ServedMcp:
    """A running server, and what its clients did."""

    ttl_ms: int = 0
    url: str = ""
    calls: list[Called] = field(default_factory=list)
    # By the method of HTTP, and of MCP where a header says it ("new tools/list"); and the calls.
    requests: Counter[str] = field(default_factory=Counter)
    schema: Mapping[str, Any] = field(default_factory=lambda: _NUMBERS)
    extra_tools: list[types.Tool] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    reports_progress: threading.Event = field(default_factory=threading.Event)  # once
    may_answer: threading.Event = field(default_factory=threading.Event)
    was_cancelled: threading.Event = field(default_factory=threading.Event)
    forgets_sessions: bool = False
    keeps_events: bool = False  # so that a client can fetch the rest of a stream that has ended
    ordered: list[str] = field(
        default_factory=list
    )  # what servers of earlier revisions carried out

    def build(self) -> Server[Any]:
        return Server(
            "served",
            version="1",
            on_list_tools=self._list_tools,
            on_call_tool=self._call,
            cache_hints={"tools/list": CacheHint(ttl_ms=self.ttl_ms)},
        )

    async def _list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        tools = [
            types.Tool(name="add", description="Adds two numbers.", input_schema=dict(self.schema)),
            *(
                types.Tool(name=name, input_schema=_NOTHING)
                for name in ("wait", "refuse", "order", "sample")
            ),
            *self.extra_tools,
        ]
        return types.ListToolsResult(tools=tools)

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> Any:
        self.requests["tools/call"] += 1
        key = (context.meta or {}).get("mnemoflow/idempotencyKey")
        self.calls.append(Called(params.name, params.arguments or {}, key))
        return await getattr(self, f"_{params.name}")(context, params)

    async def _add(
        self, _context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        total = arguments["a"] + arguments["b"]
        return types.CallToolResult(
            content=[types.TextContent(text=str(total))], structured_content={"sum": total}
        )

    async def _refuse(
        self, _context: Any, _params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="not today")], is_error=True)

    async def _wait(
        self, context: Any, _params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            signals = (self.may_answer, self.reports_progress)
            while not self.may_answer.is_set():
                await until_async(lambda: any(map(threading.Event.is_set, signals)))
                if self.reports_progress.is_set():
                    self.reports_progress.clear()
                    await context.session.report_progress(1)
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        return types.CallToolResult(content=[types.TextContent(text="at last")])

    async def _leave(
        self, context: Any, _params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """End the stream of the call, as servers of 2025-11-25 may, and answer when the client asks for the rest."""
        await context.close_sse_stream()
        await until_async(lambda: self.requests["GET"])
        return types.CallToolResult(content=[types.TextContent(text="the rest")])

    async def _order(self, context: Any, params: types.CallToolRequestParams) -> Any:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await self._order_in_conversation(context)
        if not params.input_responses:
            form = types.ElicitRequestFormParams(message="Which size?", requested_schema=SIZE)
            requests: dict[str, Any] = {"size": types.ElicitRequest(params=form)}
            return types.InputRequiredResult(input_requests=requests, request_state="basket 7")
        answer: Any = params.input_responses["size"]
        text = f"{params.request_state}: {answer.action} {answer.content}"
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def _order_in_conversation(self, context: Any) -> types.CallToolResult:
        """Ask while the call goes on, as servers of earlier revisions do."""
        try:
            answer = await context.session.elicit_form("Which size?", SIZE, context.request_id)
            text = f"{answer.action} {answer.content}"
            if (answer.content or {}).get("count", 1) > 1:
                answer = await context.session.elicit_form("So many?", SURE, context.request_id)
                text = f"{text}, {answer.action} {answer.content}"
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        self.ordered.append(text)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def _visit(self, context: Any, _params: types.CallToolRequestParams) -> Any:
        await context.session.elicit_url("See", "https://example.com/", "e1", context.request_id)

    async def _sample(
        self, _context: Any, _params: types.CallToolRequestParams
    ) -> types.InputRequiredResult:
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[], max_tokens=5)
        )
        return types.InputRequiredResult(input_requests={"m": request}, request_state="s")


@contextmanager
def serve_mcp(revision: str = NEW, **settings: Any) -> Iterator[ServedMcp]:
    """Serve the tools as servers of this revision do."""
    served = ServedMcp(**settings)
    application: ASGIApp
    if revision == OLDEST:
        application = _build_sse(served)
    else:
        application = served.build().streamable_http_app(
            event_store=_Events() if served.keeps_events else None, retry_interval=1
        )
        if revision == OLD:
            application = _refuse_new(served, application)
    with run_server(_watch(served, application), lifespan="on") as (url, _clock):
        served.url = f"{url}/mcp"
        yield served


class _Events(EventStore):
    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        last = int(last_event_id)
        stream_id = self._events[last - 1][0]
        for number, (stream, message) in enumerate(self._events[last:], last + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def _watch(served: ServedMcp, application: ASGIApp) -> ASGIApp:
    """Count the sessions that begin and note the headers of requests."""

    async def watch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        served.headers.append(headers)
        served.requests[scope["method"]] += 1
        if method := headers.get("mcp-method"):
            served.requests[f"new {method}"] += 1
        if served.forgets_sessions and "mcp-session-id" in headers:
            served.forgets_sessions = False
            await Response(status_code=404)(scope, receive, send)
            return
        await application(scope, receive, send)

    return watch


def _refuse_new(served: ServedMcp, application: ASGIApp) -> ASGIApp:
    """Answer as a server does that was written before the revision 2026-07-28."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-protocol-version", b"").decode() in MODERN_PROTOCOL_VERSIONS:
            error = {"code": -32600, "message": "Bad Request: Unsupported protocol version"}
            body = {"jsonrpc": "2.0", "id": "server-error", "error": error}
            await JSONResponse(body, status_code=400)(scope, receive, send)
            return
        await application(scope, receive, send)

    return refuse


def _build_sse(served: ServedMcp) -> ASGIApp:
    server, transport = served.build(), SseServerTransport("/messages/")

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
        elif scope["path"].startswith("/messages/"):
            await transport.handle_post_message(scope, receive, send)
        elif scope["method"] == "GET":
            async with transport.connect_sse(scope, receive, send) as (reading, writing):
                options = server.create_initialization_options()
                await server.run(reading, writing, options)
        else:
            await Response(status_code=405)(scope, receive, send)

    return application


async def _run_lifespan(receive: Receive, send: Callable[[Any], Awaitable[None]]) -> None:
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})
