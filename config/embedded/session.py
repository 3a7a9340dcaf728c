"""Runs the embedded services as long as a process needs them.

Every process that uses them holds a shared lock on one file, which the kernel releases however the process ends, even
after kill -9. The last process gets the exclusive lock at its end and stops the services.
"""

import fcntl
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

from config.embedded.errors import EmbeddedFault, FolderUnusable
from config.embedded.layout import Layout, find_layout
from config.embedded.postgres import Postgres
from config.embedded.progress import print_step
from config.embedded.restarts import restart_services
from config.embedded.roles import ensure_database, ensure_role
from config.embedded.valkey import Valkey
from config.env import Env, env


DATABASE = "mnemoflow"

# Commands that must work quickly and without a database.
COMMANDS_WITHOUT_SERVICES = frozenset({
    "help", "version", "--version", "--help", "-h", "makemessages", "compilemessages", "collectstatic",
    "startapp", "startproject", "diffsettings", "findstatic", "check", "export_env", "export_openapi_schema", "down",
})  # fmt: skip


# A function that takes the name of a step and returns the context in which the step runs, such as ``print_step``.
Announce = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True)
class Services:
    """The embedded services; a service that the settings replace by another server is None."""

    postgres: Postgres | None
    valkey: Valkey | None

    @classmethod
    def from_settings(cls, settings: Env) -> "Services":
        layout = find_layout(settings.mnemoflow_home)
        postgres = Postgres(layout.pg_data, layout.sockets, layout.logs / "postgres.log")
        valkey = Valkey(layout.valkey_data, layout.valkey_socket, layout.logs / "valkey.log")
        return cls(
            postgres if settings.embedded_database else None,
            valkey if settings.embedded_broker else None,
        )

    def start(self, announce: Announce = nullcontext) -> None:
        if self.postgres:
            with announce("Starting PostgreSQL"):
                if self.postgres.start():
                    prepare_database(self.postgres, DATABASE)
        if self.valkey:
            try:
                with announce("Starting Valkey"):
                    self.valkey.start()
            except EmbeddedFault as fault:
                # Workers then poll the database, see docs/operate/run-it.md.
                print(f"Continuing without Valkey: {fault}", file=sys.stderr)

    def stop(self) -> None:
        for service in (self.valkey, self.postgres):
            if service:
                service.stop()


def prepare_database(postgres: Postgres, name: str) -> None:
    """Create the database and the app's role with its rights in it, unless they exist already."""
    with psycopg.connect(postgres.build_url(), autocommit=True) as connection:
        ensure_database(connection, name)
    with psycopg.connect(postgres.build_url(name=name), autocommit=True) as connection:
        ensure_role(connection)


@contextmanager
def run_services_for_command(argv: Sequence[str]) -> Iterator[None]:
    """Run the services for the duration of a management command, if it needs them."""
    command = argv[1] if len(argv) > 1 else "help"
    if command in COMMANDS_WITHOUT_SERVICES or "--help" in argv:
        yield
        return
    with run_services(print_step if command == "up" else nullcontext):
        yield


@contextmanager
def run_services(announce: Announce = nullcontext) -> Iterator[Services]:
    """Start the services that the settings ask for, and stop them at the end unless another process uses them."""
    settings = env()
    if not settings.embedded_database and not settings.embedded_broker:
        yield Services(None, None)
        return
    try:
        # Before anything else, because the layout depends on who may enter the home folder.
        settings.mnemoflow_home.mkdir(parents=True, exist_ok=True)
        layout = find_layout(settings.mnemoflow_home)
        layout.locks.mkdir(exist_ok=True)
        in_use_lock = os.open(layout.locks / "in-use", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        sys.exit(str(FolderUnusable(settings.mnemoflow_home, error)))
    services = Services.from_settings(settings)
    try:
        with hold_start_lock(layout):
            fcntl.flock(in_use_lock, fcntl.LOCK_SH)
            try:
                services.start(announce)
            except EmbeddedFault as fault:
                sys.exit(str(fault))
            except OSError as error:
                sys.exit(str(FolderUnusable(layout.server_home, error)))
        try:
            yield services
        finally:
            with hold_start_lock(layout):
                if _lock_exclusively(in_use_lock):
                    services.stop()
    finally:
        os.close(in_use_lock)


@contextmanager
def watch_services(settings: Env) -> Iterator[None]:
    """Start the embedded services again whenever one of them ends during a ``with`` block."""
    services = Services.from_settings(settings)
    layout = find_layout(settings.mnemoflow_home)
    named = {"PostgreSQL": services.postgres, "Valkey": services.valkey}
    with restart_services(named, partial(hold_start_lock, layout)):
        yield


def is_valkey_running(settings: Env) -> bool:
    valkey = Services.from_settings(settings).valkey
    return valkey is not None and valkey.find_process() is not None


def is_in_use(home: Path) -> bool:
    """Return whether a process uses the services right now."""
    path = find_layout(home).locks / "in-use"
    if not path.exists():
        return False
    with path.open("rb") as file:
        return not _lock_exclusively(file.fileno())


@contextmanager
def hold_start_lock(layout: Layout) -> Iterator[None]:
    """Hold the lock under which the services are started and stopped, so that only one process does so at a time."""
    with (layout.locks / "start").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock_exclusively(descriptor: int) -> bool:
    """Try to lock the file exclusively, and return False if another process holds a lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
