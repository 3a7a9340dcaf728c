"""Finds, starts and ends processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import psutil


PR_SET_PDEATHSIG = 1


class PopenIdentity(TypedDict, total=False):
    """The OS user of a child process; empty means that of this process."""

    user: int
    group: int
    extra_groups: list[int]


class Service(subprocess.Popen[bytes]):
    """A child that may outlive this process on purpose; Python would otherwise warn about it at exit."""

    def __del__(self) -> None:
        """Do nothing, so that Python doesn't warn."""


def launch_service(
    command: Sequence[str], log: Path, identity: PopenIdentity | None = None
) -> Service:
    """Start a service in a separate session, so that Ctrl-C reaches only this process, which then stops the service."""
    with log.open("ab") as file:
        return Service(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/", start_new_session=True,
            **(identity or {}),
        )  # fmt: skip


def find_process(pid: int, *, argument: str | Path) -> psutil.Process | None:
    """Return the process if it runs and was started with this argument: its pid may belong to another process by now."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and any(
            str(argument) in part for part in process.cmdline()
        ):
            return process
    return None


def is_responding(
    ping: Callable[[], object], error: type[Exception], timeout: float, child: Service | None
) -> bool:
    """Call ``ping`` until it raises no such error; return False after the timeout, or if the child has ended."""
    until = time.monotonic() + timeout
    while time.monotonic() < until and (child is None or child.poll() is None):
        with suppress(error):
            ping()
            return True
        time.sleep(0.02)
    return False


def end_process(
    process: psutil.Process, *, first: signal.Signals = signal.SIGTERM, timeout: float = 10
) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(first)
        try:
            process.wait(timeout)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(5)


# It is loaded before any fork, because loading takes locks that another thread may hold at that moment.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent(parent: int) -> Callable[[], None]:
    """Return a function for a new child that makes the kernel end it when the parent ends, even by kill -9.

    On systems other than Linux, the next start ends left-over children by their pid files.
    """

    def ask_the_kernel() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # the parent ended between fork and prctl
                os._exit(1)

    return ask_the_kernel
