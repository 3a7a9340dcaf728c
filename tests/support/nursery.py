"""Processes of ours that are forked from one that has loaded everything, instead of loading it for seconds each.

All test sessions of a run share it. Only what is read again in the new process (`LATE`) may differ from what the nursery
itself was started with.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from config.env import ROOT
from tests.phases.plugin import VARIABLES
from tests.support import servers
from tests.support.nursery_process import INITIAL, PLUGIN, hold_lock
from tests.support.waiting import until


LATE = INITIAL | frozenset(
    {"NET_ALLOW", "LOG_LEVEL", "LOCAL_MODELS", "LOCAL_MCP", "OLLAMA_HOST", "MEMORY_PLACES", "MEMORY_REDIS_URL",
     "DATABASE_POOL_SIZE", "RUN_MAX_STEPS", "MEMORY_EMBEDDER", "MEMORY_EMBEDDER_URL", "MEMORY_EMBEDDER_KEY",
     "MEMORY_EMBEDDER_MODEL", "AGENT_LEDGER", "FAULT", "WORKER_THREADS", PLUGIN}
)  # fmt: skip
MODULE: Final = "tests.support.nursery_process"
IN_FOLDER: Final = 'cd "$0" && exec "$@"'


def is_fixed(name: str, value: str) -> bool:
    """Tell whether a process with this variable needs a nursery that was started with it."""
    # How Celery speaks to RabbitMQ is decided when it is loaded.
    return (name not in LATE and not _is_of_pytest(name)) or value.startswith("amqp")


def _is_of_pytest(name: str) -> bool:
    """The running test's name, the worker's and the phase's stand in the environment."""
    return name.startswith("PYTEST") or name in VARIABLES


class Forked:
    """As much of a `Popen` as our tests use."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self._nursery, self.pid = nursery, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        try:
            until(lambda: self.poll() is not None, seconds=timeout)
        except AssertionError as error:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout) from error
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """One a set of environment variables, reached at a socket of the run; the children of a session end with it."""

    def __init__(self, environment: Mapping[str, str], path: Path) -> None:
        self._log = path.with_suffix(".log")
        self._lock = threading.Lock()
        with hold_lock(path):
            self._connection = socket.socket(socket.AF_UNIX)
            try:
                self._connection.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                path.unlink(missing_ok=True)
                _start_nursery(environment, path, self._log)
                self._connection.connect(str(path))
        self._answers = self._connection.makefile("r")

    def start(
        self, command: Sequence[str], late: Mapping[str, str], out: Path, err: Path
    ) -> Forked:
        """`command` is what a shell would be given: python -m celery …, python -m uvicorn …, or python manage.py …"""
        request = {
            "start": list(command[1:]), "late": dict(late), "out": str(out), "err": str(err),
        }  # fmt: skip
        return Forked(self, self.ask(request))

    def ask(self, request: Mapping[str, Any]) -> Any:
        with self._lock:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            answer = self._answers.readline()
        assert answer, f"the nursery ended:\n{self._log.read_text()}"
        return json.loads(answer)

    def close(self) -> None:
        self._answers.close()
        self._connection.close()


def _start_nursery(environment: Mapping[str, str], path: Path, log: Path) -> None:
    """Start it for the whole run: the session that needs it first may end before the others."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", IN_FOLDER, str(ROOT), sys.executable, "-m", MODULE, str(path)],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, listener.fileno(), 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )


class Nurseries:
    """A test session's own connections to them."""

    def __init__(self) -> None:
        self._open: dict[str, Nursery] = {}

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], out: Path, err: Path
    ) -> Forked:
        late = {name: value for name, value in environment.items() if name in LATE}
        fixed = {name: value for name, value in environment.items() if is_fixed(name, value)}
        name = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:16]
        if name not in self._open:
            initial = {name: value for name, value in late.items() if name in INITIAL}
            self._open[name] = Nursery({**fixed, **initial}, _folder() / f"{name}.socket")
        return self._open[name].start(command, late, out, err)

    def close(self) -> None:
        for nursery in self._open.values():
            nursery.close()


def _folder() -> Path:
    servers.make_home()
    folder = servers.HOME / "nurseries"
    folder.mkdir(exist_ok=True)
    return folder
