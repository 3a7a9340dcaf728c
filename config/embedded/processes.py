"""Small questions about processes, and ending them."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
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

# Python warns when it forgets a child that still runs. Services outlive the object that started them, on purpose.
_launched: list[subprocess.Popen[bytes]] = []


def launch_service(
    command: Sequence[str], log: Path, identity: PopenIdentity | None = None
) -> subprocess.Popen[bytes]:
    """In a session of its own, so that Ctrl-C reaches only us and we end it in order."""
    with log.open("ab") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/", start_new_session=True,
            **(identity or {}),
        )  # fmt: skip
    _launched.append(child)
    return child


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
    for child in _launched:
        child.poll()


def die_with_parent() -> None:
    """Run in a new child: the kernel ends it when the parent does, kill -9 included. Linux only; elsewhere the pid files do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == 1:  # the parent went between fork and prctl
            os._exit(1)
