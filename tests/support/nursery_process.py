"""`python -m tests.support.nursery_process SOCKET` loads everything, and forks whenever it is asked (`tests.support.nursery`).

The listening socket of that path is its standard input. What it forks is a process like any other: a session, a log and an
environment of its own, killed like any other; at the latest with the test session that asked for it.
"""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn


# The name of a module with a function ``install``, which is called in the new process before its program starts.
PLUGIN: Final = "TEST_PLUGIN"
# They differ from test to test; a nursery starts with those of the first that asks it.
INITIAL: Final = frozenset(
    {"DATABASE_URL", "DATABASE_OWNER_URL", "BROKER_URL", "REDIS_URL", "PYTHONPATH"}
)
# What Celery and uvicorn would load when they start.
PROGRAMS = (
    *(
        "celery.bin.celery",
        "celery.apps.worker",
        "celery.concurrency.thread",
        "celery.worker.consumer",
    ),
    *(
        "celery.worker.strategy",
        "kombu.transport.redis",
        "uvicorn.main",
        "uvicorn.protocols.http.auto",
    ),
)
# So often nobody may be there when it looks, once a second, as it is between two phases.
QUIET_LOOKS: Final = 60


@dataclass
class Family:
    """A test session that is connected, and the processes it asked for."""

    connection: socket.socket
    children: set[int] = field(default_factory=set)

    def read(self) -> dict[str, Any] | None:
        """Return the request: a line of JSON. Nothing comes from a session that has ended."""
        line = b""
        while not line.endswith(b"\n"):
            part = self.connection.recv(65_536)
            if not part:
                return None
            line += part
        request: dict[str, Any] = json.loads(line)
        return request

    def answer(self, value: int | None) -> None:
        with contextlib.suppress(BrokenPipeError):  # it ended meanwhile, which is read next
            self.connection.sendall(json.dumps(value).encode() + b"\n")

    def poll(self, pid: int) -> int | None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            return None
        self.children.discard(pid)
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        for pid in self.children:
            os.kill(
                pid, signal.SIGKILL
            )  # nobody has asked for its end, so it is there at least as a zombie
            os.waitpid(pid, 0)
        self.connection.close()


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Let nobody else start, find, or end the nursery of this path meanwhile."""
    with path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def serve(listener: socket.socket, path: Path) -> None:
    """Load, then fork for each session that asks, until its run is over."""
    _load()
    assert threading.active_count() == 1, "a thread would not live on in a fork"
    families: dict[socket.socket, Family] = {}
    quiet_looks = 0
    while quiet_looks < QUIET_LOOKS or not _leave(listener, path):
        ready, _, _ = select.select([listener, *families], [], [], 1)
        quiet_looks = 0 if ready or families else quiet_looks + 1
        if quiet_looks and not path.exists():
            return
        for connection in ready:
            if connection is listener:
                accepted, _ = listener.accept()
                families[accepted] = Family(accepted)
            else:
                _serve(families[connection], listener, families)


def _serve(family: Family, listener: socket.socket, families: dict[socket.socket, Family]) -> None:
    request = family.read()
    if request is None:
        families.pop(family.connection).end()
    elif "poll" in request:
        family.answer(family.poll(request["poll"]))
    else:
        pid = os.fork()
        if pid == 0:
            for connection in (listener, *families):
                connection.close()
            # It leaves by SystemExit, as any program does: what waits for an exit is called.
            _become(**request)
        family.children.add(pid)
        family.answer(pid)


def _leave(listener: socket.socket, path: Path) -> bool:
    """Give the path up, unless somebody has just come."""
    with hold_lock(path):
        if select.select([listener], [], [], 0)[0]:
            return False
        path.unlink()
        return True


# Inline imports from here on: who asks a nursery needs none of those.


def _load() -> None:
    for name in PROGRAMS:
        importlib.import_module(name)

    import config.asgi  # noqa: F401 - and with it all that a request needs
    import workflows.llm.openai_compatible  # noqa: F401 - a worker loads it in the background
    from config import net
    from config.celery import app

    net.load_tls_contexts()  # a worker does it in the background, too
    app.loader.import_default_modules()
    app.finalize()
    gc.collect()
    gc.freeze()  # or each that ends would go through all of it once more, and copy it


def _become(*, start: list[str], late: Mapping[str, str], out: str, err: str) -> NoReturn:
    os.setsid()
    for number, path, how in ((0, os.devnull, "rb"), (1, out, "ab"), (2, err, "ab")):
        with Path(path).open(how) as file:
            os.dup2(file.fileno(), number)
    for name in INITIAL - late.keys():
        os.environ.pop(name, None)
    os.environ |= late
    os.environ["CELERY_SKIP_CHECKS"] = "1"  # the nursery has run them
    _read_settings_again()
    if PLUGIN in late:
        importlib.import_module(late[PLUGIN]).install()
    _run(start)


def _read_settings_again() -> None:
    """Give Django what the environment says now. Nothing has been connected to yet."""
    from django.conf import settings
    from django.core.cache import caches
    from django.db import connections

    from config import logs
    from config.celery import app
    from config.env import env

    env.cache_clear()
    module = importlib.reload(sys.modules[os.environ["DJANGO_SETTINGS_MODULE"]])
    for name in filter(str.isupper, vars(module)):
        setattr(settings, name, getattr(module, name))
    handlers: tuple[Any, ...] = (connections, caches)
    for handler in handlers:
        handler.settings = handler.configure_settings(None)
        for alias in handler:
            with contextlib.suppress(AttributeError):  # nobody has used it
                del handler[alias]
    configuration: Any = app.conf
    configuration.broker_url = settings.BROKER_URL
    logs.configure(settings.LOGGING)


def _run(command: list[str]) -> NoReturn:
    from celery.bin.celery import main as celery
    from uvicorn.main import main as uvicorn

    from manage import main as manage

    if command[0] == "manage.py":
        manage(command)
        sys.exit(0)
    modules: dict[str, Any] = {"celery": celery, "uvicorn": uvicorn}
    assert command[0] == "-m", command
    sys.argv = command[1:]
    sys.exit(modules[command[1]]())


if __name__ == "__main__":
    serve(socket.socket(fileno=0), Path(sys.argv[1]))
