"""A relay in front of a test's PostgreSQL that can be cut, as by a restart of the server, without one."""

import select
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class Relay:
    """Relays a unix socket. ``cut`` breaks all connections and refuses new ones; ``restore`` accepts them again."""

    def __init__(self, target: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="relay-", dir="/tmp"))
        self.path = self.folder / target.name
        self._target = target
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()

    def __enter__(self) -> "Relay":
        self.restore()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cut(self) -> None:
        with self._lock:
            self.path.unlink(missing_ok=True)
            if self._listener is not None:
                self._listener.close()
                self._listener = None
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def restore(self) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.path))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _address = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.connect(str(self._target))
            with self._lock:
                if self._listener is not listener:
                    client.close()
                    server.close()
                    continue
                self._open |= {client, server}
            threading.Thread(target=self._relay, args=(client, server), daemon=True).start()

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        try:
            with suppress(OSError, ValueError):
                while True:
                    for end in select.select([client, server], [], [])[0]:
                        data = end.recv(65536)
                        if not data:
                            return
                        other[end].sendall(data)
        finally:
            for end in (client, server):
                with self._lock:
                    self._open.discard(end)
                end.close()
