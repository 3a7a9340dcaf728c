"""The system under attack: embedded PostgreSQL and Valkey, a web server and several workers as processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from bench._common import ROOT
from bench._services import run_temporary_services


WORKER_THREADS = 24


@dataclass
class System:
    """The processes by name, and a connection as the owner that comes back after a restart of the database."""

    services: Any  # config.embedded.session.Services
    logs: Path
    environment: Mapping[str, str]
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _connection: Any = None

    def fetch(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        for _attempt in range(200):
            try:
                if self._connection is None or self._connection.closed:
                    url = self.services.postgres.build_url(name="mnemoflow")
                    self._connection = psycopg.connect(url, autocommit=True)
                cursor = self._connection.execute(query, values)
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                self._connection = None
                time.sleep(0.1)
        raise RuntimeError("PostgreSQL did not come back.")

    # -- programs -------------------------------------------------------------------------------

    def start_worker(self, name: str) -> None:
        from config.embedded.programs import build_worker
        from config.env import env

        settings = env().model_copy(update={"worker_threads": WORKER_THREADS})
        self._start(name, build_worker(settings))

    def start_web(self, port: int) -> None:
        from config.embedded.programs import build_web
        from config.env import env

        self._start("web", build_web(env(), port))

    def kill(self, name: str) -> None:
        """Kill the process and its children, as the kernel does when memory runs out."""
        process = self.processes.pop(name)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.wait()

    def kill_child(self, name: str, pick: Callable[[list[psutil.Process]], psutil.Process]) -> bool:
        """Kill one child of a worker, such as a process that runs code. Return False if it has none."""
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.processes[name].pid).children(recursive=True)
            if children:
                pick(children).kill()
                return True
        return False

    def _start(self, name: str, program: Any) -> None:
        with (self.logs / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                program.command, cwd=ROOT, env={**os.environ, **self.environment, **program.environment},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    # -- services -------------------------------------------------------------------------------

    def restart_postgres(self) -> None:
        """Stop it as ``pg_ctl -m immediate`` does, without a checkpoint, and start it again: it must recover."""
        postgres = self.services.postgres
        process = postgres.find_process()
        process.send_signal(signal.SIGQUIT)
        with suppress(psutil.TimeoutExpired):
            process.wait(10)
        postgres.start()

    def kill_broker(self) -> None:
        process = self.services.valkey.find_process()
        process.kill()
        with suppress(psutil.TimeoutExpired):
            process.wait(10)

    def wipe_broker(self) -> None:
        from redis import Redis

        from config.embedded.layout import find_layout
        from config.env import env

        layout = find_layout(env().mnemoflow_home)
        Redis(unix_socket_path=str(layout.valkey_socket)).flushall()

    def start_broker(self) -> None:
        self.services.valkey.start()

    def stop(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._connection is not None:
            self._connection.close()


@contextmanager
def run_system(allowed_address: str, logs: Path) -> Iterator[System]:
    """Run the services in a temporary folder; the programs may send requests to this address."""
    os.environ["NET_ALLOW"] = allowed_address
    with run_temporary_services():
        from config.embedded.session import Services
        from config.env import env

        settings = env()
        system = System(Services.from_settings(settings), logs, {"NET_ALLOW": allowed_address})
        try:
            yield system
        finally:
            system.stop()


def find_port() -> int:
    from config.embedded.ports import find_free_port

    return find_free_port("127.0.0.1", 17_000 + os.getpid() % 900)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
