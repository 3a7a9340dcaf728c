"""The streams in which answers of MCP servers come: one that breaks off concerns one call, and some go on later."""

import asyncio
import json
import threading
from collections.abc import Iterator
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
    both, broken = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        yield b": hello\nretry: 1\n\n"
        assert both.wait(LIMIT)
        yield from pieces

    with FakeMcp() as server:
        if is_new:
            server.speak_new()
        answer_add = server.answers["tools/call"]

        def answer(message: Any) -> Any:
            if message["params"]["arguments"]["a"] == 1:
                return Raw(body(), headers=EVENTS)
            both.set()
            assert broken.wait(LIMIT)
            return answer_add(message)

        server.answers["tools/call"] = answer
        async with keep_connections():
            calls = [
                asyncio.ensure_future(call_tool(Server(server.url), ADDING, {"a": a, "b": 1}))
                for a in (1, 2)
            ]
            with pytest.raises(ToolFailed, match=message) as failure:
                await calls[0]
            broken.set()
            other = await calls[1]

    assert (failure.value.retryable, other.text) == (retryable, "3")
    opened = "server/discover" if is_new else "initialize"
    assert [each.get("method") for each in server.messages].count(opened) == 1


@pytest.mark.parametrize("is_new", [True, False])
async def test_answer_that_is_too_large_leaves_other_calls_alone(is_new: bool) -> None:
    begun, refused = threading.Event(), threading.Event()

    with FakeMcp() as server:
        if is_new:
            server.speak_new()
        answer_add = server.answers["tools/call"]

        def answer(message: Any) -> Any:
            if message["params"]["arguments"]["a"] == 1:
                assert begun.wait(LIMIT)
                return Raw(iter([b'{"text": "', *[MEGABYTE] * 5]), headers=JSON)
            begun.set()
            assert refused.wait(LIMIT)
            return answer_add(message)

        server.answers["tools/call"] = answer
        async with keep_connections():
            calls = [
                asyncio.ensure_future(call_tool(Server(server.url), ADDING, {"a": a, "b": 1}))
                for a in (1, 2)
            ]
            with pytest.raises(ToolFailed, match="too large") as failure:
                await calls[0]
            refused.set()
            other = await calls[1]

    assert (failure.value.retryable, other.text) == (False, "3")


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
