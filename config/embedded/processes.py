"""Finding processes and ending them."""

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
    """The OS user of a child process; empty means our own."""

    user: int
    group: int
    extra_groups: list[int]


PR_SET_PDEATHSIG = 1


class Service(subprocess.Popen[bytes]):
    """A child that may outlive this program on purpose: Python would warn about it at exit."""

    def __del__(self) -> None:
        """Do nothing, so that Python doesn't warn."""


def launch_service(
    command: Sequence[str], log: Path, identity: PopenIdentity | None = None
) -> Service:
    """Start a service in a session of its own, so that Ctrl-C reaches only us and we end it in order."""
    with log.open("ab") as file:
        return Service(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/", start_new_session=True,
            **(identity or {}),
        )  # fmt: skip


def find_process(pid: int, *, argument: str | Path) -> psutil.Process | None:
    """Return the process if it lives and was started with this argument: a pid alone may be somebody else's by now."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and any(
            str(argument) in part for part in process.cmdline()
        ):
            return process
    return None


def end_process(
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


def end_with_parent(parent: int) -> Callable[[], None]:
    """Return a function for a new child that makes the kernel end it when the parent ends, even by kill -9.

    On other systems than Linux the pid files serve for that, at the next start.
    """

    def ask_the_kernel() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # it went between fork and prctl
                os._exit(1)

    return ask_the_kernel
