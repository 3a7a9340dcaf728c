"""Ends everything that a server process has started, also what it has detached from its group.

A detached process has a session of its own, and once its parent has ended, no parent either. It is known by its
ancestors as long as it has them, and by a variable in its environment, which it inherits. One that has neither is ended by
the supervisor only.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import psutil


# The variable that names the session in the environment of its processes.
SESSION_VARIABLE: Final = "MNEMOFLOW_MCP_SESSION"
_MAX_ROUNDS: Final = 10  # a process may start another one while it is looked for


def list_descendants(pid: int) -> list[psutil.Process]:
    """Return the processes that a running process has started, and those that they have started."""
    with suppress(psutil.Error):
        descendants: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
        return descendants
    return []


def kill_session(session: str, processes: Iterable[psutil.Process]) -> None:
    """Kill these processes, their descendants, and all others of the session."""
    targets = {each for process in processes for each in (process, *list_descendants(process.pid))}
    for _round in range(_MAX_ROUNDS):
        running = [each for each in {*targets, *_iter_session(session)} if _kill(each)]
        if not running:
            return
        psutil.wait_procs(running, timeout=1)
        targets = set()


def _iter_session(session: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it has ended, or is another user's
            if process.pid != os.getpid() and process.environ().get(SESSION_VARIABLE) == session:
                yield process


def _kill(process: psutil.Process) -> bool:
    """Kill a process, and return whether there was one to kill."""
    with suppress(psutil.Error):
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            process.kill()
            return True
    return False
