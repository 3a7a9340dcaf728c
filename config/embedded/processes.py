"""Small questions about processes, and ending them."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil


PR_SET_PDEATHSIG = 1


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


def die_with_parent() -> None:
    """Run in a new child: the kernel ends it when the parent does, kill -9 included. Linux only; elsewhere the pid files do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == 1:  # the parent went between fork and prctl
            os._exit(1)
