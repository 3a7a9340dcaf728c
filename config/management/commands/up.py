"""Run everything on one machine: database, queue, web server, worker and beat, and print one address to open."""

import fcntl
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from accounts.services import prepare_first_run
from config.checks import refuse_bad_start
from config.embedded.address import build_base_url
from config.embedded.errors import AlreadyRunning, EmbeddedFault
from config.embedded.layout import find_layout
from config.embedded.ports import open_listener, read_substitute
from config.embedded.programs import (
    build_beat,
    build_web_processes,
    build_worker,
    choose_web_process_count,
)
from config.embedded.progress import print_step
from config.embedded.session import is_valkey_running, watch_services
from config.embedded.start_times import WEB_START_SECONDS
from config.embedded.supervisor import Program, Supervisor
from config.embedded.worker_start import has_worker_since, read_database_clock, wait_for_worker
from config.env import Env, env


class Command(BaseCommand):
    help = "Start all services and print the address to open. Stop with Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", help="address to listen on (HOST)")
        parser.add_argument("--port", type=int, help="port to use, or the next free one (PORT)")

    def handle(self, *args: Any, host: str | None, port: int | None, **options: Any) -> None:
        given_options = {key: value for key, value in (("host", host), ("port", port)) if value}
        settings = env().model_copy(update=given_options)
        settings = settings.model_copy(
            update={
                "local_models": settings.suggests_local_models,
                "local_mcp": settings.suggests_local_mcp,
            }
        )
        try:
            with hold_lock(find_layout(settings.mnemoflow_home).locks) as lock_file:
                status = self._run(settings, lock_file)
        except EmbeddedFault as fault:
            raise CommandError(str(fault)) from fault
        sys.exit(status)

    def _run(self, settings: Env, lock_file: IO[str]) -> int:
        """Run all programs until one fails or the end is requested, and return the exit status."""
        layout = find_layout(settings.mnemoflow_home)
        # Opened before the migrations and kept open, so that no other program takes the port in between.
        substitute = read_substitute(layout.port_memo, settings.port)
        listener = open_listener(settings.host, settings.port, layout.port_memo)
        port = listener.getsockname()[1]
        migrate_if_needed()
        refuse_bad_start()
        web = self._build_web_processes(settings, port, listener.fileno())
        supervisor = Supervisor([*web, build_worker(settings), build_beat(settings)], layout.locks)
        base_url = build_base_url(settings.host, port)
        try:
            with print_step("Starting the web server"):
                supervisor.start()
                # While the web server loads, which takes longer.
                sign_in_url = f"{base_url}{prepare_first_run()}"
                is_ready = wait_until_ready(
                    f"{base_url}/healthz", supervisor, self._report_slow_start
                )
            with watch_services(settings):
                if is_ready:
                    supervisor.record_ready()
                    _write_address(lock_file, base_url)
                    if port != settings.port:
                        since = "was" if port == substitute else "is"
                        self.stderr.write(f"Port {settings.port} {since} in use; using {port}.")
                    self._announce_with_worker(supervisor, sign_in_url)
                return supervisor.watch()
        finally:
            supervisor.stop()
            listener.close()

    def _build_web_processes(self, settings: Env, port: int, listener_fd: int) -> list[Program]:
        """Describe the web processes, and make the folder in which they add their metrics up."""
        has_shared_cache = settings.has_shared_cache or is_valkey_running(settings)
        count = choose_web_process_count(settings, has_shared_cache=has_shared_cache)
        if count < (settings.web_processes or 1):
            self.stderr.write("Starting one web process, because several need Valkey or Redis.")
        metrics = find_layout(settings.mnemoflow_home).web_metrics
        shutil.rmtree(metrics, ignore_errors=True)  # the numbers of an earlier start
        metrics.mkdir(parents=True)
        return build_web_processes(settings, port, listener_fd, count=count, metrics=metrics)

    def _report_slow_start(self) -> None:
        self.stderr.write(
            f"The web server hasn't answered for {WEB_START_SECONDS:.0f} s, and is still waited for."
            " The address is printed once it answers. Press Ctrl-C to stop."
        )

    def _announce_with_worker(self, supervisor: Supervisor, sign_in_url: str) -> None:
        """Start the other programs and print the link to sign in, once a worker would carry out what is started."""
        start = read_database_clock()
        with print_step("Starting the worker"):
            supervisor.start_others()
            is_working = wait_for_worker(supervisor, partial(has_worker_since, start))
        if supervisor.is_ending:
            return
        state = "ready" if is_working else "started, but no worker has reported. Runs wait for one"
        self.stdout.write(
            f"\nMnemoflow is {state}. Open\n\n  {sign_in_url}\n\n"
            "Another link: manage.py owner_link. Press Ctrl-C to stop.\n"
        )
        self.stdout.flush()


def _write_address(lock_file: IO[str], base_url: str) -> None:
    """Write the address to the lock file, for the message of a second start."""
    lock_file.seek(0)
    lock_file.truncate()
    lock_file.write(base_url)
    lock_file.flush()


def migrate_if_needed() -> None:
    owner = connections["owner"]
    executor = MigrationExecutor(owner)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with print_step("Migrating the database"):
            call_command("migrate", verbosity=0, interactive=False)
    owner.close()


def wait_until_ready(
    url: str,
    supervisor: Supervisor,
    report_slow_start: Callable[[], None],
    *,
    patience: float = WEB_START_SECONDS,
) -> bool:
    """Return True once the URL responds; False if the supervisor is ending or a child has died.

    A machine that is busy with something else takes minutes. This is reported once, since the address comes only then.
    """
    deadline = time.monotonic() + patience
    while not supervisor.is_ending:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 -- our own address
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        if any(child.has_died() for child in supervisor.children):
            return False  # watch() prints the status and restarts it
        if time.monotonic() >= deadline:
            report_slow_start()
            deadline = float("inf")
    return False


@contextmanager
def hold_lock(locks: Path) -> Iterator[IO[str]]:
    """Lock a file and provide it. Raise ``AlreadyRunning``, with the URL in the file, if another process has the lock."""
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / "up").open("a+") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock_file.seek(0)
            raise AlreadyRunning(lock_file.read()) from None
        yield lock_file
