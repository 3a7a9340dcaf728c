"""Servers written with fastmcp, whose tools our workflows call: the newest fastmcp, unmodified, in its own process."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import net
from tests.clients.environments import find_python
from tests.support.ports import hold_port
from tests.support.waiting import until_async
from workflows.engine.errors import ToolFailed
from workflows.engine.tool_calls import ToolAsks, ToolReply
from workflows.tools.kept_connections import keep_connections
from workflows.tools.mcp.session import Listing, Server, call_tool, list_tools


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    python = find_python("fastmcp")
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    script = Path(__file__).with_name("fastmcp_server.py")
    with hold_port() as port:
        process = subprocess.Popen(
            [python, script, json.dumps({"port": port})],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()
            process.wait()


async def listed(server: Server) -> Listing | None:
    """Return the tools, or None as long as the server doesn't listen."""
    try:
        return await list_tools(server)
    except ToolFailed as fault:
        if not fault.retryable:
            raise
        return None


async def test_tools_of_a_fastmcp_server_are_listed_called_refused_and_answered(
    address: str,
) -> None:
    server = Server(address)
    listing = await until_async(lambda: listed(server))
    assert listing is not None
    tools = {each.name: each for each in listing.operations}

    async with keep_connections():
        added = await call_tool(server, tools["add"], {"a": 1, "b": 2}, idempotency_key="k")
        refused = await call_tool(server, tools["refuse"], {})
        with pytest.raises(ToolAsks) as asked:
            await call_tool(server, tools["order"], {})
    reply = ToolReply({"size": "L"}, "accept", asked.value.state)
    ordered = await call_tool(server, tools["order"], {}, reply=reply)

    assert listing.title == "shop"
    assert list(tools) == ["add", "refuse", "order"]
    assert (added.text, refused.text, refused.is_error) == ("3", "not today", True)
    assert asked.value.form["content"] == "**order**\n\n    Which size?"
    assert ordered.text == "basket 7: accept {'size': 'L'}"
