"""A real web server and a real worker, as separate processes, on a database and a queue of their own."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.embedded.ports import find_free_port
from config.embedded.programs import build_beat, build_web, build_worker
from config.embedded.supervisor import Program
from config.env import ROOT, env
from tests.support import servers
from tests.support.database import worker_name, worker_number
from tests.support.nursery import Forked, Nurseries
from tests.support.ports import hold_port
from tests.support.waiting import until


FORKED = ("web", "worker", "manage")


@dataclass
class LiveStack:
    url: str
    environment: Mapping[str, str]
    logs: Path
    port: int
    # Without them everything is started as a shell would.
    nurseries: Nurseries | None = None
    _processes: dict[str, subprocess.Popen[bytes] | Forked] = field(default_factory=dict)
    _connection: psycopg.Connection[Any] | None = None

    @property
    def database_url(self) -> str:
        """As the owner, for SQL that looks behind the scenes."""
        return self.environment["DATABASE_OWNER_URL"]

    def sql(self, query: str, arguments: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """By one connection that stays: what waits for a row asks twenty times a second."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.database_url, autocommit=True)
        cursor = self._connection.execute(query, arguments)
        return cursor.fetchall() if cursor.description else []

    def manage(self, *arguments: str) -> str:
        """A management command against this stack; its standard output."""
        code, out, err = self.command(*arguments)
        assert code == 0, f"manage.py {' '.join(arguments)}:\n{out}\n{err}"
        return out

    def command(self, *arguments: str) -> tuple[int, str, str]:
        """A management command's exit status, and what it said on either side."""
        out, err = self.logs / "manage.out", self.logs / "manage.err"
        out.write_bytes(b"")
        err.write_bytes(b"")
        process = self._launch(_manage(*arguments), out, err)
        return process.wait(120), out.read_text(), err.read_text()

    def launch(self, *arguments: str) -> subprocess.Popen[bytes] | Forked:
        """A management command that goes on beside the tests, with a log of its own."""
        log = self.logs / f"{arguments[0]}.log"
        return self._launch(_manage(*arguments), log, log)

    def start_url(self) -> str:
        """A fresh sign-in link, as `manage.py up` prints it: works once."""
        code = (
            "from accounts.services import prepare_first_run; print('path=' + prepare_first_run())"
        )
        path = self.manage("shell", "--no-imports", "-c", code).rpartition("path=")[2].strip()
        return f"{self.url}{path}"

    def start_worker(self, name: str = "worker") -> int:
        """Another worker under another name works beside the first. Answers its process id."""
        return self._start(name, _worker())

    def start_beat(self) -> int:
        return self._start(
            "beat", build_beat(env().model_copy(update={"mnemoflow_home": self.logs}))
        )

    def start_web(self) -> None:
        self._start("web", build_web(env(), self.port))
        until(self._answers, why="the web server doesn't answer")

    def _answers(self) -> bool:
        assert self._processes["web"].poll() is None, self.log("web")
        try:
            with closing(urllib.request.urlopen(f"{self.url}/healthz", timeout=5)):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def kill_worker(self, name: str = "worker") -> None:
        """-9, as the out-of-memory killer does."""
        self._end(name, signal.SIGKILL)

    def stop_worker(self, name: str = "worker") -> None:
        self._end(name, signal.SIGTERM)

    def kill_web(self) -> None:
        self._end("web", signal.SIGKILL)

    def running(self, name: str = "worker") -> bool:
        return name in self._processes and self._processes[name].poll() is None

    def log(self, name: str) -> str:
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self) -> None:
        for name in list(self._processes):
            self._end(name, signal.SIGTERM)
        if self._connection is not None:
            self._connection.close()

    def _start(self, name: str, program: Program) -> int:
        assert not self.running(name), f"{name} runs already"
        log = self.logs / f"{name}.log"
        self._processes[name] = self._launch(program, log, log)
        return self._processes[name].pid

    def _launch(self, program: Program, out: Path, err: Path) -> subprocess.Popen[bytes] | Forked:
        if self.nurseries and program.name in FORKED:
            # All with a worker's own settings, so that one nursery serves them.
            environment = {**self.environment, **_worker().environment}
            return self.nurseries.start(program.command, environment, out, err)
        with out.open("ab") as file, err.open("ab") as errors:
            return subprocess.Popen(
                program.command, cwd=ROOT, env={**self.environment, **program.environment},
                stdin=subprocess.DEVNULL, stdout=file, stderr=errors, start_new_session=True,
            )  # fmt: skip

    def _end(self, name: str, how: signal.Signals) -> None:
        process = self._processes.pop(name, None)
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _manage(*arguments: str) -> Program:
    return Program("manage", [sys.executable, "manage.py", *arguments])


def _worker() -> Program:
    return build_worker(env().model_copy(update={"worker_threads": 8}))


@pytest.fixture(scope="session")
def nurseries() -> Iterator[Nurseries]:
    made = Nurseries()
    yield made
    made.close()


@pytest.fixture(scope="session")
def _stack(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, nurseries: Nurseries
) -> Iterator[LiveStack]:
    database = f"live_{worker_name()}"
    servers.clone_database(database)
    socket = servers.start_valkey().socket
    at = servers.place()
    number = 8 + worker_number() % 8  # the lower half is for tests without a stack
    # Another session's server must not come up where this one was killed for a while.
    port = find_free_port("127.0.0.1", 18_000 + 200 * worker_number() + os.getpid() % 97)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": at.build_database_url("mnemoflow_app", database),
        "DATABASE_OWNER_URL": at.build_database_url("postgres", database),
        "BROKER_URL": f"redis+socket://{socket}?virtual_host={number}",
        "REDIS_URL": f"unix://{socket}?db={number}",
        "LOG_LEVEL": "INFO",
        "LOCAL_MODELS": "1",
    }
    url, logs = f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("stack")
    with hold_port() as ollama, hold_port() as tools:  # for servers of a test
        environment["OLLAMA_HOST"] = f"127.0.0.1:{ollama}"
        environment["NET_ALLOW"] = f"127.0.0.1:{tools}"
        stack = LiveStack(url, environment, logs, port, nurseries)
        try:
            stack.start_web()
            yield stack
        finally:
            stack.stop()


@pytest.fixture
def live_stack(_stack: LiveStack) -> LiveStack:
    """Web server and one worker, running, whatever the last test did to them. Data stays within a test session."""
    if not _stack.running("web"):
        _stack.start_web()
    if not _stack.running("worker"):
        _stack.start_worker()
    return _stack
