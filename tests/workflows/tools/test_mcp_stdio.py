"""MCP servers as processes: only the operator's commands, with an empty environment, and never for longer than a call."""

import os
import sys
import time
from pathlib import Path

import pytest

from workflows.engine.errors import ToolFailed
from workflows.tools.mcp.session import Server, call_tool, list_tools
from workflows.tools.operations import Operation


SHOW = Operation("show", "", {"type": "object", "properties": {}}, {"name": "show"})

SERVER = """
import json, os, sys, time
mode = sys.argv[1]
open(sys.argv[2], "w").write(str(os.getpid()))
if mode == "flood":
    while True: sys.stdout.write("x" * 65536)
if mode == "lines":
    while True: print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}))
if mode == "silent": time.sleep(60)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "local", "version": "1"}},
        "tools/list": {"tools": [{"name": "show", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]},
    }[message["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
if mode == "stays": time.sleep(60)
"""


@pytest.fixture
def start(tmp_path: Path, settings):
    """Let the operator allow the server above in a mode; return its address and the file with its process id."""
    script, pid = tmp_path / "server.py", tmp_path / "pid"
    script.write_text(SERVER)

    def allow(mode: str, variable: tuple[str, str] | None = None) -> Server:
        settings.MCP_STDIO_COMMANDS = (f"local={sys.executable} {script} {mode} {pid}",)
        return Server("stdio://local", variable=variable)

    allow.pid = pid
    return allow


@pytest.fixture
def short_grace(monkeypatch):
    """Wait only shortly for a process that does not end by itself."""
    monkeypatch.setattr("workflows.tools.mcp.stdio.GRACE_SECONDS", 0.2)


def is_running(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def test_no_command_is_allowed_by_default():
    with pytest.raises(ToolFailed, match="doesn't allow"):
        await list_tools(Server("stdio://local"))


async def test_only_listed_commands_can_be_started(start, tmp_path):
    start("good")

    for name in ("other", "/bin/sh", f"touch {tmp_path}/x", "local extra"):
        with pytest.raises(ToolFailed, match="doesn't allow"):
            await list_tools(Server(f"stdio://{name}"))


async def test_process_gets_nothing_of_our_environment(start, monkeypatch):
    monkeypatch.setenv("SECRET_CANARY", "do-not-leak")

    answer = await call_tool(start("good", ("GIT_TOKEN", "t0ken")), SHOW, {})

    assert "do-not-leak" not in answer.text
    assert "SECRET_KEY" not in answer.text
    assert '"GIT_TOKEN": "t0ken"' in answer.text
    assert not is_running(start.pid)


@pytest.mark.parametrize(
    ("mode", "message", "seconds"),
    [("flood", "too large", 20), ("lines", "too many", 20), ("silent", "took longer", 0.5)],
)
@pytest.mark.usefixtures("short_grace")
async def test_hostile_process_is_ended(start, mode, message, seconds):
    started = time.monotonic()

    with pytest.raises(ToolFailed, match=message):
        await list_tools(start(mode), seconds=seconds)

    assert time.monotonic() - started < 18  # of 20, or of the 60 that the silent one sleeps
    assert not is_running(start.pid)


@pytest.mark.usefixtures("short_grace")
async def test_process_that_stays_is_killed(start):
    listing = await list_tools(start("stays"))

    assert [operation.name for operation in listing.operations] == ["show"]
    assert not is_running(start.pid)


async def test_command_that_does_not_exist_is_told(settings):
    settings.MCP_STDIO_COMMANDS = ("gone=/nowhere/mcp-server",)

    with pytest.raises(ToolFailed, match="could not be started"):
        await list_tools(Server("stdio://gone"))
