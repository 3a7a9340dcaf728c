"""Run everything on one machine: database, queue, web server, worker and beat, and print one address to open."""

import fcntl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from accounts.services import prepare_first_run
from config.embedded.errors import AlreadyRunning, EmbeddedFault
from config.embedded.layout import find_layout
from config.embedded.ports import find_free_port
from config.embedded.programs import build_beat, build_web, build_worker
from config.embedded.progress import step
from config.embedded.supervisor import Supervisor
from config.env import Env, env


class Command(BaseCommand):
    help = "Start all services and print the address to open. Stop with Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", help="address to listen on (HOST)")
        parser.add_argument("--port", type=int, help="port to use, or the next free one (PORT)")

    def handle(self, *args: Any, host: str | None, port: int | None, **options: Any) -> None:
        settings = env().model_copy(
            update={key: value for key, value in {"host": host, "port": port}.items() if value}
        )
        try:
            with hold_lock(find_layout(settings.mnemoflow_home).locks) as note:
                status = self._run(settings, note)
        except EmbeddedFault as fault:
            raise CommandError(str(fault)) from fault
        sys.exit(status)

    def _run(self, settings: Env, note: IO[str]) -> int:
        port = find_free_port(settings.host, settings.port)
        prepare_data()
        programs = [build_web(settings, port), build_worker(settings), build_beat(settings)]
        supervisor = Supervisor(programs, find_layout(settings.mnemoflow_home).locks)
        base = f"http://{_to_browser_host(settings.host)}:{port}"
        try:
            with step("Starting the web server"):
                supervisor.start()
                # While the web server loads, which takes longer.
                address = f"{base}{prepare_first_run()}"
                ready = wait_until_ready(f"{base}/healthz", supervisor)
            if ready:
                if port != settings.port:
                    self.stderr.write(f"Port {settings.port} is in use; using {port}.")
                self._announce(base, address, note)
            return supervisor.watch()
        finally:
            supervisor.stop()

    def _announce(self, base: str, address: str, note: IO[str]) -> None:
        note.seek(0)
        note.truncate()
        note.write(base)
        note.flush()
        self.stdout.write(f"\nMnemoflow is ready. Open\n\n  {address}\n\nPress Ctrl-C to stop.\n")
        self.stdout.flush()


def prepare_data() -> None:
    owner = connections["owner"]
    executor = MigrationExecutor(owner)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with step("Migrating the database"):
            call_command("migrate", verbosity=0, interactive=False)
    owner.close()


def wait_until_ready(address: str, supervisor: Supervisor) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until and not supervisor.ending:
        try:
            with urllib.request.urlopen(address, timeout=5) as response:  # noqa: S310 -- our own address
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        if any(child.has_died() for child in supervisor.children):
            return False  # watch() prints the status and restarts it
    return False


@contextmanager
def hold_lock(locks: Path) -> Iterator[IO[str]]:
    """Hold the lock of `up`. The kernel releases it when the process ends, for whatever reason."""
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / "up").open("a+") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note.seek(0)
            raise AlreadyRunning(note.read()) from None
        yield note


def _to_browser_host(host: str) -> str:
    """Return the host that a browser on this machine can open."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 -- compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
