"""Finds, starts and ends the processes of services."""

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
    with log.open("ab") as log_file:
        return Service(
            command, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file, cwd="/", start_new_session=True,
            **(identity or {}),
        )  # fmt: skip


def find_process(pid: int, *, argument: str | Path) -> psutil.Process | None:
    """Return the running process with this pid, or None if no word of its command line contains ``argument``."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            _reap(pid)
        elif any(str(argument) in word for word in process.cmdline()):
            return process
    return None


def _reap(pid: int) -> None:
    """Release an ended process if it is a child of this one; otherwise its parent does so."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def wait_for_response(
    ping: Callable[[], object], error: type[Exception], timeout: float, child: Service | None
) -> bool:
    """Call ``ping`` until it doesn't raise ``error``. Return False after the timeout, or if the child has ended."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and (child is None or child.poll() is None):
        with suppress(error):
            ping()
            return True
        time.sleep(0.02)
    return False


def end_process(
    process: psutil.Process, *, first_signal: signal.Signals = signal.SIGTERM, timeout: float = 10
) -> None:
    """Send the signal, and kill the process if it hasn't ended after ``timeout`` seconds."""
    with suppress(psutil.NoSuchProcess):
        process.send_signal(first_signal)
        try:
            process.wait(timeout)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(5)


# The library is loaded before any fork, because loading takes locks that another thread may hold at a fork.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def build_parent_death_hook(parent_pid: int) -> Callable[[], None]:
    """Return a ``preexec_fn`` for a child process, which the kernel then ends with its parent, even after kill -9.

    On systems other than Linux, the next start ends left-over children by their pid files.
    """

    def request_parent_death_signal() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent_pid:  # the parent ended between fork and prctl
                os._exit(1)

    return request_parent_death_signal
