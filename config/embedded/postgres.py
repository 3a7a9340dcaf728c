"""Runs PostgreSQL from a Python package as a child process on a unix socket, with its data in the home folder.

Only the binaries of the package are used. Its own function to start PostgreSQL takes a lock in /tmp that the first user
on a machine then owns, opens every parent folder to all users when run as root, and sleeps for whole seconds.
"""

import importlib.util
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from config.embedded import processes
from config.embedded.errors import ServiceFailed, ServiceMissing
from config.embedded.failed_starts import LogPart
from config.embedded.layout import build_database_url
from config.embedded.osuser import OsUser, choose_server_user
from config.embedded.program_copies import PACKAGE, PROGRAMS, is_package_open, provide_copy


OWNER = "postgres"
VARIABLE = "DATABASE_URL"
START_SECONDS = 300  # a server that recovers much after a crash takes long; one that has ended is not waited for

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",  # costs more than it saves on queries of a few milliseconds
    "timezone": "UTC",
}


@dataclass
class Postgres:
    data: Path
    sockets: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    locale_arguments: Sequence[str] = (
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
    )
    programs: Path | None = None  # the folder of another PostgreSQL's programs

    def build_url(self, role: str = OWNER, name: str = "postgres") -> str:
        return build_database_url(self.sockets, role, name)

    def find_process(self) -> psutil.Process | None:
        """Return the running server, whichever process started it, or None."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            return processes.find_process(pid, argument=self.data)
        return None

    def start(self) -> bool:
        """Start the server unless it is running, and return whether it was started."""
        if self.find_process() and self._is_responding(timeout=10):
            return False
        user = choose_server_user(self.data)
        binaries = self.programs or find_binaries(user)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        user.create_private_folder(self.data)
        user.create_private_folder(self.sockets)
        if not (self.data / "PG_VERSION").exists():
            self._initialize(binaries, user)
        self._launch(binaries, user)
        return True

    def stop(self) -> None:
        if process := self.find_process():
            # SIGINT means a fast shutdown: PostgreSQL ends all sessions and writes all data.
            processes.end_process(process, first_signal=signal.SIGINT)

    def _initialize(self, binaries: Path, user: OsUser) -> None:
        command: list[str | Path] = [
            binaries / "initdb", "-D", self.data, "-U", OWNER, "--auth=trust", "--encoding=UTF8", "--no-sync",
            *self.locale_arguments,
        ]  # fmt: skip
        # Trust is safe here: the only access is a socket in a folder that other users can't enter.
        part = LogPart(self.log)
        with _report_failed_start(part), self.log.open("ab") as log:
            status = subprocess.call(
                command, stdout=log, stderr=log, cwd="/", **user.popen_identity
            )
        if status:
            shutil.rmtree(self.data, ignore_errors=True)
            raise ServiceFailed("PostgreSQL", part, VARIABLE)

    def _launch(self, binaries: Path, user: OsUser) -> None:
        self._remove_stale_pid_file()
        folder = str(self.sockets).replace('"', '""')
        settings = {**SETTINGS, "unix_socket_directories": f'"{folder}"', **self.settings}
        command = [str(binaries / "postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        # Several attempts: children of a postmaster that was killed -9 hold its shared memory for a moment longer.
        part = LogPart(self.log)
        for _ in range(20):
            with _report_failed_start(part):
                child = processes.launch_service(command, self.log, user.popen_identity)
            if self._is_responding(timeout=START_SECONDS, child=child):
                return
            if child.poll() is None:
                break  # a second one beside it could only fail
            time.sleep(0.25)
        raise ServiceFailed("PostgreSQL", part, VARIABLE)

    def _remove_stale_pid_file(self) -> None:
        """Remove a stale pid file, because PostgreSQL doesn't start if another process has this pid by now."""
        if self.find_process() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _is_responding(self, timeout: float, child: processes.Service | None = None) -> bool:
        def connect() -> None:
            psycopg.connect(self.build_url(), connect_timeout=2).close()

        return processes.wait_for_response(connect, psycopg.OperationalError, timeout, child)


@contextmanager
def _report_failed_start(log: LogPart) -> Iterator[None]:
    """Report a program that can't be executed like one that has failed."""
    try:
        yield
    except OSError as error:
        log.add(str(error))
        raise ServiceFailed("PostgreSQL", log, VARIABLE) from error


def find_binaries(user: OsUser) -> Path:
    """Return the folder of PostgreSQL's programs: of the package, or of a copy if the user can't enter that folder."""
    spec = importlib.util.find_spec(PACKAGE)
    packages = Path(spec.origin).parent.parent if spec and spec.origin else None
    if packages is None or not (packages / PROGRAMS / "postgres").exists():
        raise ServiceMissing("PostgreSQL", VARIABLE)
    if user.must_switch and not is_package_open(packages):
        packages = provide_copy(packages)
    return packages / PROGRAMS
