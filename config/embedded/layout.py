"""The paths of the embedded services' files, computed from the home folder alone.

This module starts no process, so settings can use the addresses before any service runs.
"""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


# The kernel's limit on a unix socket's path is 108 bytes on Linux, 104 on macOS.
MAX_SOCKET_PATH = 100
SYSTEM_HOME = Path("/var/lib/mnemoflow")


@dataclass(frozen=True)
class Layout:
    """The folders of an installation. ``server_home`` is ``home``, unless PostgreSQL's OS user may not enter that."""

    home: Path
    server_home: Path
    sockets: Path

    @property
    def pg_data(self) -> Path:
        return self.server_home / "pg"

    @property
    def valkey_data(self) -> Path:
        return self.home / "valkey"

    @property
    def valkey_socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def locks(self) -> Path:
        return self.home / "locks"

    @property
    def web_metrics(self) -> Path:
        return self.home / "web-metrics"

    @property
    def port_memo(self) -> Path:
        return self.home / "port"

    def build_database_url(self, role: str, name: str = "mnemoflow") -> str:
        return build_database_url(self.sockets, role, name)

    @property
    def broker_url(self) -> str:
        return f"redis+socket://{quote_path(self.valkey_socket)}?virtual_host=0"

    @property
    def redis_url(self) -> str:
        return build_redis_url(self.valkey_socket)


def find_layout(home: Path) -> Layout:
    """Compute the folders of the installation in this home folder."""
    home = home.resolve()
    name = f"{home.parent.name[:20]}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:10]}"
    is_closed = os.geteuid() == 0 and not is_open_to_others(home)
    server_home = SYSTEM_HOME / name if is_closed else home
    return Layout(home=home, server_home=server_home, sockets=_find_sockets(server_home, name))


def build_database_url(sockets: Path, role: str, name: str) -> str:
    return f"postgresql://{role}@/{name}?host={quote_path(sockets)}"


def build_redis_url(socket: Path) -> str:
    return f"unix://{quote_path(socket)}?db=0"


def quote_path(path: Path) -> str:
    """Return the path as a part of a URL: a space or a sign like ``%`` would be refused, or end it."""
    return quote(os.fsencode(path))


def is_open_to_others(path: Path) -> bool:
    """Return whether other OS users may enter this folder and all its parents."""
    existing = [folder for folder in (path, *path.parents) if folder.exists()]
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in existing)


def _find_sockets(server_home: Path, name: str) -> Path:
    folder = server_home / "run"
    is_short = len(os.fsencode(folder / ".s.PGSQL.5432")) <= MAX_SOCKET_PATH
    if is_short and "," not in str(folder):  # which separates hosts for PostgreSQL's clients
        return folder
    return Path("/tmp") / f"mnemoflow-{os.geteuid()}-{name[-10:]}"  # noqa: S108 -- made 0700 and its owner checked
