"""Everything on one machine: database, queue, web server, worker and beat, and one address to open."""

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

from accounts.services import first_run
from config.embedded.errors import AlreadyUp, EmbeddedFault
from config.embedded.layout import layout
from config.embedded.ports import next_free
from config.embedded.programs import beat, web, worker
from config.embedded.progress import step
from config.embedded.supervisor import Program, Supervisor
from config.env import Env, env


class Command(BaseCommand):
    help = "Start everything and print the address to open. Ctrl-C ends it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", help="address to listen on (HOST)")
        parser.add_argument(
            "--port", type=int, help="port to start looking for a free one at (PORT)"
        )

    def handle(self, *args: Any, host: str | None, port: int | None, **options: Any) -> None:
        settings = env().model_copy(
            update={key: value for key, value in {"host": host, "port": port}.items() if value}
        )
        try:
            with only_one(layout(settings.mnemoflow_home).locks) as note:
                status = self._run(settings, note)
        except EmbeddedFault as fault:
            raise CommandError(str(fault)) from fault
        sys.exit(status)

    def _run(self, settings: Env, note: IO[str]) -> int:
        port = next_free(settings.host, settings.port)
        prepare_data()
        supervisor = Supervisor(
            self._programs(settings, port), layout(settings.mnemoflow_home).locks
        )
        base = f"http://{_reachable(settings.host)}:{port}"
        try:
            with step("Starting the web server"):
                supervisor.start()
                address = f"{base}{first_run()}"  # while the web server loads, which takes longer
                ready = answers(f"{base}/healthz", supervisor)
            if ready:
                if port != settings.port:
                    self.stderr.write(f"Port {settings.port} is taken; using {port}.")
                self._announce(base, address, note)
            return supervisor.watch()
        finally:
            supervisor.stop()

    def _programs(self, settings: Env, port: int) -> list[Program]:
        return [web(settings, port), worker(settings), beat(settings)]

    def _announce(self, base: str, address: str, note: IO[str]) -> None:
        note.seek(0)
        note.truncate()
        note.write(base)
        note.flush()
        self.stdout.write(f"\nMnemoflow is ready. Open\n\n  {address}\n\nCtrl-C ends it.\n")
        self.stdout.flush()


def prepare_data() -> None:
    owner = connections["owner"]
    executor = MigrationExecutor(owner)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with step("Bringing the database up to date"):
            call_command("migrate", verbosity=0, interactive=False)
    owner.close()


def answers(address: str, supervisor: Supervisor) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until and not supervisor.ending:
        try:
            with urllib.request.urlopen(address, timeout=5) as response:  # noqa: S310 -- our own address
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        if any(child.died() for child in supervisor.children):
            return False  # watch() says what and tries again
    return False


@contextmanager
def only_one(locks: Path) -> Iterator[IO[str]]:
    """The kernel lets go of the lock however we end."""
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / "up").open("a+") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note.seek(0)
            raise AlreadyUp(note.read()) from None
        yield note


def _reachable(host: str) -> str:
    """The address a browser on this machine can open."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 -- compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
