"""Processes of ours that are forked from one that has loaded everything, instead of loading it for seconds each.

What comes out is a process like any other: a session, a log and an environment of its own, killed like any other.
Only what is read again in the new process (`LATE`) may differ from what the nursery itself was started with.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from config.env import ROOT
from tests.support.waiting import until


# The name of a module with a function ``install``, which is called in the new process before its program starts.
PLUGIN = "TEST_PLUGIN"
# They differ from test to test, too; a nursery starts with those of the first that asks it.
INITIAL = frozenset({"DATABASE_URL", "DATABASE_OWNER_URL", "BROKER_URL", "REDIS_URL", "PYTHONPATH"})
LATE = INITIAL | frozenset(
    {"NET_ALLOW", "LOG_LEVEL", "LOCAL_MODELS", "LOCAL_MCP", "OLLAMA_HOST", "MEMORY_PLACES", "MEMORY_REDIS_URL",
     "DATABASE_POOL_SIZE", "RUN_MAX_STEPS", "MEMORY_EMBEDDER", "MEMORY_EMBEDDER_URL", "MEMORY_EMBEDDER_KEY",
     "MEMORY_EMBEDDER_MODEL", "AGENT_LEDGER", "FAULT", "WORKER_THREADS", PLUGIN}
)  # fmt: skip
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


def is_fixed(name: str, value: str) -> bool:
    """Tell whether a process with this variable needs a nursery that was started with it."""
    # pytest writes the running test's name into the environment. How Celery speaks to RabbitMQ is decided when it is loaded.
    return (name not in LATE and not name.startswith("PYTEST")) or value.startswith("amqp")


class Forked:
    """As much of a `Popen` as our tests use."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self._nursery, self.pid = nursery, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        try:
            until(lambda: self.poll() is not None, seconds=timeout)
        except AssertionError as error:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout) from error
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """One a set of environment variables; its children end with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=ROOT, env=dict(environment), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._lock = threading.Lock()

    def start(
        self, command: Sequence[str], late: Mapping[str, str], out: Path, err: Path
    ) -> Forked:
        """`command` is what a shell would be given: python -m celery …, python -m uvicorn …, or python manage.py …"""
        asked = {
            "start": list(command[1:]), "late": dict(late), "out": str(out), "err": str(err),
        }  # fmt: skip
        return Forked(self, self.ask(asked))

    def ask(self, asked: Mapping[str, Any]) -> Any:
        with self._lock:
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        assert answer, "the nursery ended: what it said is among the test session's own errors"
        return json.loads(answer)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(90)
        if self._process.stdout:
            self._process.stdout.close()


class Nurseries:
    """A test session's own."""

    def __init__(self) -> None:
        self._open: dict[tuple[tuple[str, str], ...], Nursery] = {}

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], out: Path, err: Path
    ) -> Forked:
        late = {name: value for name, value in environment.items() if name in LATE}
        fixed = {name: value for name, value in environment.items() if is_fixed(name, value)}
        key = tuple(sorted(fixed.items()))
        if key not in self._open:
            initial = {name: value for name, value in late.items() if name in INITIAL}
            self._open[key] = Nursery({**fixed, **initial})
        return self._open[key].start(command, late, out, err)

    def close(self) -> None:
        for nursery in self._open.values():
            nursery.close()


# What follows runs in the nursery itself, and in what it forks. Inline imports: nobody else needs those.


def _serve() -> None:
    """In the nursery: load, then fork whenever a line asks for it, until the lines end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _load()
    assert threading.active_count() == 1, "a thread would not live on in a fork"
    children: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "poll" in asked:
            print(json.dumps(_poll(asked["poll"], children)), file=answers, flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            answers.close()
            # It leaves by SystemExit, as any program does: what waits for an exit is called.
            _become(**asked)
        children.add(pid)
        print(pid, file=answers, flush=True)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _poll(pid: int, children: set[int]) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _load() -> None:
    for name in PROGRAMS:
        importlib.import_module(name)

    import config.asgi  # noqa: F401 - and with it all that a request needs
    import workflows.llm.openai_compatible  # noqa: F401 - a worker loads it in the background
    from config.celery import app

    app.loader.import_default_modules()
    app.finalize()
    gc.collect()
    gc.freeze()  # or each that ends would go through all of it once more, and copy it


def _become(*, start: list[str], late: dict[str, str], out: str, err: str) -> NoReturn:
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
    _serve()
