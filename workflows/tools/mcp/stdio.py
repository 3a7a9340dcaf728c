"""MCP servers that run as processes on this machine. Only the commands that the operator lists can be started.

A team chooses a command by its name and can't change its arguments. The process gets an environment with nothing of ours
in it, and ends with the session, together with whatever it has started.
"""

import json
import os
import shlex
import shutil
import signal
import sys
from asyncio import StreamReader, StreamWriter, create_subprocess_exec, subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final
from uuid import uuid4

import anyio
import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from workflows.engine.errors import ToolFailed
from workflows.tools.mcp import supervisor
from workflows.tools.mcp.commands import list_commands
from workflows.tools.mcp.processes import SESSION_VARIABLE, kill_session, list_descendants
from workflows.tools.mcp.streams import Spent, Streams


MAX_LINE: Final = 4 * 1024 * 1024
MAX_TOTAL: Final = 16 * 1024 * 1024  # of one call
GRACE_SECONDS: Final = 2.0
_KILL_SECONDS: Final = 10.0  # until a killed process is gone, on a busy machine

# The supervisor needs a kernel that makes it the parent of orphans.
HAS_SUPERVISOR: Final = sys.platform == "linux"

# The only variables of ours that a server gets; it may need them to find its interpreter.
_INHERITED: Final = ("PATH", "LANG", "LC_ALL", "TZ")


@asynccontextmanager
async def open_stdio(
    name: str, spent: Spent, variable: tuple[str, str] | None = None
) -> AsyncIterator[Streams]:
    """Start the command of this name and open the streams of a session with it."""
    command = list_commands().get(name)
    if command is None:
        raise ToolFailed(f"The operator doesn't allow the command {name[:100]!r}")
    environment = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    environment["HOME"] = os.devnull
    session = uuid4().hex
    environment[SESSION_VARIABLE] = session
    if variable and variable[0] != SESSION_VARIABLE:
        environment[variable[0]] = variable[1]
    try:
        process = await create_subprocess_exec(
            *_build_command(shlex.split(command), environment),
            env=environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            limit=MAX_LINE,
            start_new_session=True,
        )
    except (OSError, ValueError):
        raise ToolFailed(f"The command {name!r} could not be started") from None
    try:
        async with _open_streams(process, spent) as streams:
            yield streams
    finally:
        with anyio.CancelScope(shield=True):
            await _end_process(process, session)


def _build_command(command: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command to start: on Linux a supervisor, from which no process that the server starts can escape.

    Raises ValueError for an empty command, and FileNotFoundError for one that there isn't.
    """
    if not command or shutil.which(command[0], path=environment.get("PATH")) is None:
        raise FileNotFoundError if command else ValueError
    if not HAS_SUPERVISOR:
        return command
    return [sys.executable, "-I", "-S", supervisor.__file__, str(os.getpid()), *command]


@asynccontextmanager
async def _open_streams(process: subprocess.Process, spent: Spent) -> AsyncIterator[Streams]:
    to_session, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(stdout: StreamReader) -> None:
        async with to_session:
            while line := await _read_line(stdout):
                spent.byte_count += len(line)
                if spent.byte_count > MAX_TOTAL:
                    raise ToolFailed("The MCP server sent too much")
                message = _parse_message(line)
                if message is None:
                    spent.skip_line(line)
                else:
                    await to_session.send(message)

    async def write(stdin: StreamWriter) -> None:
        async with from_session:
            async for message in from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                with suppress(ConnectionError):
                    await stdin.drain()

    if process.stdout is None or process.stdin is None:
        raise ToolFailed("The command has no input or output")
    async with anyio.create_task_group() as group:
        group.start_soon(read, process.stdout)
        group.start_soon(write, process.stdin)
        yield reading, writing
        group.cancel_scope.cancel()


async def _read_line(stdout: StreamReader) -> bytes:
    try:
        return await stdout.readline()
    except ValueError:  # the line is longer than the limit of the reader
        raise ToolFailed("The MCP server sent a message that is too large") from None


def _parse_message(line: bytes) -> SessionMessage | Exception | None:
    """Return the message of a line, or None if the line is none: some servers write their log between their messages."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error if _is_broken_message(line) else None


def _is_broken_message(line: bytes) -> bool:
    """Return whether a line that is no message is meant as one, whose answer would be waited for in vain."""
    if b'"jsonrpc"' in line:
        return True
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


async def _end_process(process: subprocess.Process, session: str) -> None:
    """Close the input, and kill the process if it doesn't end in time, and whatever it has started in any case."""
    # Its own children are known only as long as it runs.
    is_running = process.returncode is None
    descendants = (
        await anyio.to_thread.run_sync(list_descendants, process.pid) if is_running else []
    )
    if process.stdin:
        process.stdin.close()
    with anyio.move_on_after(GRACE_SECONDS):
        await process.wait()
    if HAS_SUPERVISOR:
        with suppress(ProcessLookupError):
            process.terminate()
        await _await_end(process)
        if process.returncode is not None and process.returncode >= 0:
            return
    # There is no supervisor, or it was killed.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await anyio.to_thread.run_sync(kill_session, session, descendants)
    await _await_end(process)


async def _await_end(process: subprocess.Process) -> None:
    with anyio.move_on_after(_KILL_SECONDS):
        # asyncio reports the end of a process only after its output has been read.
        while process.stdout and await process.stdout.read(MAX_LINE):
            pass
        await process.wait()
