"""Small questions about processes, and ending them."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import psutil


class PopenIdentity(TypedDict, total=False):
    """Whom a child runs as; empty: as we do."""

    user: int
    group: int
    extra_groups: list[int]


PR_SET_PDEATHSIG = 1


class Service(subprocess.Popen[bytes]):
    """A child that may outlive this program, on purpose: Python would warn about it at exit."""

    def __del__(self) -> None:
        """Nothing to say."""


def launch_service(
    command: Sequence[str], log: Path, identity: PopenIdentity | None = None
) -> Service:
    """In a session of its own, so that Ctrl-C reaches only us and we end it in order."""
    with log.open("ab") as file:
        return Service(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/", start_new_session=True,
            **(identity or {}),
        )  # fmt: skip


def running(pid: int, *, argument: str | Path) -> psutil.Process | None:
    """The process, if it lives and was started with this argument: a pid alone may be somebody else's by now."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and any(
            str(argument) in part for part in process.cmdline()
        ):
            return process
    return None


def end(
    process: psutil.Process, *, first: signal.Signals = signal.SIGTERM, patience: float = 10
) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(first)
        try:
            process.wait(patience)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(5)


# Loaded before any fork: loading takes locks that another thread may hold at that moment.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def dies_with(parent: int) -> Callable[[], None]:
    """To be run in a new child: the kernel ends it when the parent does, kill -9 included. Elsewhere than on Linux
    the pid files do, at the next start.
    """

    def ask_the_kernel() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # it went between fork and prctl
                os._exit(1)

    return ask_the_kernel
