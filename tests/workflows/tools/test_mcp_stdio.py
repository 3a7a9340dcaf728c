"""MCP servers as processes: only the operator's commands, with an empty environment, and never for longer than a call."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from tests.support.movable_time import movable_time
from tests.support.waiting import until_async
from workflows.engine.errors import ToolFailed
from workflows.engine.tool_calls import ToolAsks, ToolReply
from workflows.tools.kept_connections import keep_connections
from workflows.tools.mcp import supervisor
from workflows.tools.mcp.session import Server, call_tool, list_tools
from workflows.tools.mcp.streams import (
    MAX_SKIPPED_BYTES,
    MAX_SKIPPED_LINES,
    SkippedLines,
    Spent,
)
from workflows.tools.operations import Operation


SHOW = Operation("show", "", {"type": "object", "properties": {}}, {"name": "show"})

SERVER = """
import json, os, subprocess, sys, threading, time
LIVE = "import os, sys, threading; open(sys.argv[1] + '.new', 'w').write(str(os.getpid())); os.rename(sys.argv[1] + '.new', sys.argv[1] + '.child'); threading.Event().wait()"
ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {LIVE!r}, sys.argv[1]], start_new_session=True)"
CHILDREN = {"detaches": (LIVE, None), "hides": (LIVE, {}), "orphans": (ORPHAN, None), "escapes": (ORPHAN, {}), "flees": (ORPHAN, {})}
mode = sys.argv[1]
stay = threading.Event().wait
open(sys.argv[2], "w").write(str(os.getpid()))
open(sys.argv[2] + ".starts", "a").write("x")
is_greeted = False
if mode == "flood":
    while True: sys.stdout.write("x" * 65536)
if mode == "lines":
    while True: print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}))
if mode == "silent": stay()
if mode == "logs": print("Starting with the key t0ken-0123456789 ...\\n\\n[INFO] {ready}", flush=True)
if mode == "chatters":
    while True: print("Still starting ...", flush=True)
if mode in CHILDREN:
    child, environment = CHILDREN[mode]
    with open(os.devnull, "r+b") as null:
        subprocess.Popen(
            [sys.executable, "-c", child, sys.argv[2]],
            env=environment, stdin=null, stdout=null, stderr=null, start_new_session=True,
        )
    while not os.path.exists(sys.argv[2] + ".child"): time.sleep(0.01)
if mode == "flees": sys.exit()
for line in sys.stdin:
    message = json.loads(line)
    if mode == "strict" and not is_greeted and message.get("method") != "initialize": sys.exit(1)
    if mode == "deaf" and message.get("method") == "server/discover":
        open(sys.argv[2] + ".asked", "a").write("x")
        continue
    is_greeted = True
    if "method" not in message: continue
    if mode == "logs": print("123", "got", message["method"], flush=True)
    if mode == "breaks": print('{"jsonrpc": "2.0", "id": 1, "res', flush=True)
    if "id" not in message: continue
    if mode == "asks" and message["method"] == "tools/call":
        schema = {"type": "object", "properties": {"size": {"type": "string"}}}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "Which size?", "requestedSchema": schema}}
        print(json.dumps(ask), flush=True)
        answer = {}
        while "result" not in answer: answer = json.loads(sys.stdin.readline())
        content = [{"type": "text", "text": json.dumps(answer["result"])}]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}), flush=True)
        continue
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "local", "version": "1"}},
        "tools/list": {"tools": [{"name": "show", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]},
    }
    known = message["method"] in results
    answer = {"result": results[message["method"]]} if known else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
if mode == "stays": stay()
"""

# Starts a supervisor as a worker does, and doesn't end by itself.
WORKER = """
import os, subprocess, sys
program, *command = sys.argv[2:]
arguments = [sys.argv[1], program, str(os.getpid()), *command]
subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True).wait()
"""

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="orphans get another parent here")


@pytest.fixture
def start(tmp_path: Path, settings, monkeypatch):
    """Let the operator allow the server above in a mode; return its address and the file with its process id."""
    script, pid = tmp_path / "server.py", tmp_path / "pid"
    script.write_text(SERVER)
    monkeypatch.setattr("workflows.tools.mcp.ages._old", OrderedDict())

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
    """Return whether the server has written its process id and not been reaped."""
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (ProcessLookupError, FileNotFoundError, ValueError):
        return False
    return True


async def ends(pid_file: Path) -> None:
    """Wait until the killed process is gone, which a busy machine may put off."""
    assert pid_file.read_text()
    await until_async(lambda: not is_running(pid_file))


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
    await ends(start.pid)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("flood", "too large"),
        ("lines", "too many"),
        ("chatters", "writes too much"),
        ("breaks", "not valid"),
    ],
)
@pytest.mark.usefixtures("short_grace")
async def test_hostile_process_is_ended(start, mode, message):
    with pytest.raises(ToolFailed, match=message):
        await list_tools(start(mode), seconds=60)

    await ends(start.pid)


async def test_lines_that_are_no_messages_are_skipped(start):
    server = start("logs")

    listing = await list_tools(server)
    async with keep_connections():
        answers = [await call_tool(server, SHOW, {}) for _ in range(3)]

    assert [operation.name for operation in listing.operations] == ["show"]
    assert [answer.is_error for answer in answers] == [False] * 3
    assert listing.skipped.count >= 3  # two at the start, a blank one, and one for each message
    assert listing.skipped.first == "Starting with the key t0ken-0123456789 ..."
    assert listing.revision == "2025-06-18"


def test_lines_of_many_calls_are_not_added_up():
    spent = Spent()
    for _call in range(5):
        spent.begin_call()
        for _line in range(MAX_SKIPPED_LINES):
            spent.skip_line(b"log\n")

    assert spent.skipped == SkippedLines(5 * MAX_SKIPPED_LINES, "log")
    with pytest.raises(ToolFailed, match="writes too much"):
        spent.skip_line(b"log\n")
    spent.begin_call()
    with pytest.raises(ToolFailed, match="writes too much"):
        spent.skip_line(b"x" * (MAX_SKIPPED_BYTES + 1))


@pytest.mark.usefixtures("short_grace")
async def test_silent_process_is_ended_when_its_time_is_up(start):
    with movable_time() as time:
        listing = asyncio.create_task(list_tools(start("silent"), seconds=600))
        await until_async(lambda: is_running(start.pid))
        time.let_pass(601)

        with pytest.raises(ToolFailed, match="took longer"):
            await listing

    await ends(start.pid)


async def test_process_that_ends_at_any_message_but_the_handshake_is_started_again(start):
    server, starts = start("strict"), start.pid.with_name("pid.starts")

    first = await list_tools(server)
    assert (len(first.operations), starts.read_text()) == (1, "xx")
    second = await list_tools(server)
    assert (len(second.operations), starts.read_text()) == (1, "xxx")


async def test_process_that_ignores_the_question_is_asked_only_once(start):
    server, asked = start("deaf"), start.pid.with_name("pid.asked")
    with movable_time() as time:
        listing = asyncio.create_task(list_tools(server, seconds=600))
        await until_async(asked.exists)
        time.let_pass(11)
        assert len((await listing).operations) == 1
        again = await list_tools(server)

    assert (len(again.operations), asked.read_text()) == (1, "x")


@pytest.mark.usefixtures("short_grace")
async def test_process_that_stays_is_killed(start):
    listing = await list_tools(start("stays"))

    assert [operation.name for operation in listing.operations] == ["show"]
    await ends(start.pid)


@pytest.mark.parametrize("mode", ["detaches", "hides", "orphans"])
@pytest.mark.parametrize("has_supervisor", [True, False])
@pytest.mark.usefixtures("short_grace")
async def test_what_a_process_has_detached_ends_with_it(start, mode, has_supervisor, monkeypatch):
    """A child with a session of its own, one without our environment, and one whose parent has ended."""
    if not has_supervisor:
        monkeypatch.setattr("workflows.tools.mcp.stdio.HAS_SUPERVISOR", False)
    listing = await list_tools(start(mode))

    assert [operation.name for operation in listing.operations] == ["show"]
    await child_ends(start.pid)


@on_linux
@pytest.mark.usefixtures("short_grace")
async def test_orphan_without_our_environment_ends_with_its_session(start):
    listing = await list_tools(start("escapes"))

    assert [operation.name for operation in listing.operations] == ["show"]
    await child_ends(start.pid)


@on_linux
@pytest.mark.usefixtures("short_grace")
async def test_orphan_ends_with_a_process_that_ends_before_its_session(start):
    with pytest.raises(ToolFailed):
        await list_tools(start("flees"))

    await child_ends(start.pid)


@on_linux
async def test_process_and_its_orphan_end_with_a_worker_that_is_killed(start):
    command = shlex.split(start("escapes") and settings.MCP_STDIO_COMMANDS[0].partition("=")[2])
    arguments = [sys.executable, supervisor.__file__]
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *arguments, *command])
    await until_async(start.pid.with_name("pid.child").exists)

    worker.kill()
    worker.wait()

    await child_ends(start.pid)
    await until_async(lambda: not is_alive(int(start.pid.read_text())))


async def child_ends(pid_file: Path) -> None:
    pid = int(pid_file.with_name("pid.child").read_text())
    await until_async(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that nobody has reaped yet has ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_command_that_does_not_exist_is_told(settings):
    settings.MCP_STDIO_COMMANDS = ("gone=/nowhere/mcp-server",)

    with pytest.raises(ToolFailed, match="could not be started"):
        await list_tools(Server("stdio://gone"))


async def test_process_that_asks_during_calls_carries_out_one_after_the_other(start):
    server = start("asks")

    async def call_twice(*replies: ToolReply | None) -> list[object]:
        calls = (call_tool(server, SHOW, {}, reply=reply) for reply in replies)
        async with keep_connections():
            return await asyncio.gather(*calls, return_exceptions=True)

    asked = await call_twice(None, None)
    assert [type(each) for each in asked] == [ToolAsks, ToolAsks]
    replies = [
        ToolReply({"size": size}, "accept", question.state)
        for size, question in zip("SL", asked, strict=True)
    ]
    answered = await call_twice(*replies)

    assert [json.loads(each.text)["content"] for each in answered] == [{"size": "S"}, {"size": "L"}]
    assert asked[0].form["content"] == "**show**\n\n    Which size?"
