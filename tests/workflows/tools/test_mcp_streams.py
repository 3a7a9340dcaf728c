"""The streams in which answers of MCP servers come: one that breaks off concerns one call, and some go on later."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.mcp_server import ADD, FakeMcp, Raw
from tests.fakes.mcp_servers import OLD, serve_mcp
from tests.support.waiting import LIMIT
from workflows.engine.errors import ToolFailed
from workflows.tools.kept_connections import keep_connections
from workflows.tools.mcp.session import Server, call_tool
from workflows.tools.operations import Operation


pytestmark = pytest.mark.usefixtures("loopback")

ADDING = Operation("add", "", ADD["inputSchema"], {"name": "add"})
EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
MEGABYTE = b": " + b"x" * 1024 * 1024 + b"\n\n"


async def call_beside_another(
    is_new: bool, answer_first: Callable[[], Raw], message: str
) -> tuple[ToolFailed, list[str]]:
    """Make two calls at once, of which the first one gets this answer and fails. The second one is answered afterwards.

    Return the failure, and the methods of the messages that the server got.
    """
    both, failed = threading.Event(), threading.Event()
    with FakeMcp() as server:
        if is_new:
            server.speak_new()
        answer_add = server.answers["tools/call"]

        def answer(request: Any) -> Any:
            if request["params"]["arguments"]["a"] == 1:
                assert both.wait(LIMIT)
                return answer_first()
            both.set()
            assert failed.wait(LIMIT)
            return answer_add(request)

        server.answers["tools/call"] = answer
        async with keep_connections():
            calls = [
                asyncio.ensure_future(call_tool(Server(server.url), ADDING, {"a": a, "b": 1}))
                for a in (1, 2)
            ]
            with pytest.raises(ToolFailed, match=message) as failure:
                await calls[0]
            failed.set()
            other = await calls[1]
    assert other.text == "3"
    return failure.value, [each.get("method") for each in server.messages]


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("pieces", "message", "retryable"),
    [
        ([], "closed the connection", True),
        ([b"id: 1\ndata:\n\n"], "closed the connection", True),  # nobody has the rest
        ([MEGABYTE] * 5, "too large", False),
    ],
)
async def test_stream_that_breaks_off_leaves_other_calls_alone(
    is_new: bool, pieces: list[bytes], message: str, retryable: bool
) -> None:
    def begin_stream() -> Raw:
        return Raw(iter([b": hello\nretry: 1\n\n", *pieces]), headers=EVENTS)

    failure, methods = await call_beside_another(is_new, begin_stream, message)

    assert failure.retryable is retryable
    assert methods.count("server/discover" if is_new else "initialize") == 1


@pytest.mark.parametrize("is_new", [True, False])
async def test_answer_that_is_too_large_leaves_other_calls_alone(is_new: bool) -> None:
    def answer_much() -> Raw:
        return Raw(iter([b'{"text": "', *[MEGABYTE] * 5]), headers=JSON)

    failure, methods = await call_beside_another(is_new, answer_much, "too large")

    assert failure.retryable is False
    assert methods.count("server/discover" if is_new else "initialize") == 1


async def test_rest_of_a_stream_that_a_server_has_ended_is_fetched() -> None:
    leaving = Operation("leave", "", {"type": "object", "properties": {}}, {"name": "leave"})
    with serve_mcp(OLD, keeps_events=True) as served:
        answer = await asyncio.wait_for(call_tool(Server(served.url), leaving, {}), LIMIT)

    assert answer.text == "the rest"
    assert [call.name for call in served.calls] == ["leave"]
    assert served.requests["GET"] == 1


async def test_stream_is_not_fetched_without_an_end() -> None:
    def end_at_once(message: Any) -> Raw:
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        return Raw(f"id: 1\nretry: 0\ndata: {json.dumps(note)}\n\n".encode(), headers=EVENTS)

    with FakeMcp() as server:
        server.answers["tools/call"] = end_at_once
        with pytest.raises(ToolFailed, match="closed the connection"):
            await asyncio.wait_for(call_tool(Server(server.url), ADDING, {"a": 1, "b": 2}), LIMIT)

    assert 1 <= server.methods.count("GET") <= 5
