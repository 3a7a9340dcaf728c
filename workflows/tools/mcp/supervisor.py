"""A small process that runs a command and ends with everything that the command has started. It is started as a program.

On Linux the kernel makes it the parent of each process below it whose own parent has ended. So no process below it can
leave, neither by a session of its own, nor by a second fork, nor by another environment. It ends them all when the command
ends, when it gets SIGTERM, and when the process that has started it ends.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn


_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_SIGNALS: Final = (signal.SIGTERM, signal.SIGCHLD)
_END_SECONDS: Final = 5.0
_ROUND_SECONDS: Final = 0.002
_NOT_STARTED: Final = 127  # as a shell says it


def run(parent: int, command: list[str]) -> int:
    """Run the command, end what is left of it, and return its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _call_prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before the kernel was asked to tell
        return _NOT_STARTED
    if (pid := os.fork()) == 0:
        _execute(command)
    # Else neither side would notice that the other has closed its end.
    os.close(sys.stdin.fileno())
    os.close(sys.stdout.fileno())
    code = None
    while code is None and signal.sigwait(_SIGNALS) != signal.SIGTERM:
        code = _reap().get(pid)
    end_children(time.monotonic() + _END_SECONDS)
    return max(code or 0, 0)


def _execute(command: list[str]) -> NoReturn:
    """Become the command, in a session of its own, with the signals as a program expects them."""
    with suppress(OSError):
        os.setsid()
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(command[0], command)  # noqa: S606 - the operator allows it
    os._exit(_NOT_STARTED)


def end_children(deadline: float) -> None:
    """Kill the children until there are none: those of a killed one become children, too."""
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            for pid in _iter_children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            _reap(must_exist=True)
            time.sleep(_ROUND_SECONDS)


def _reap(*, must_exist: bool = False) -> dict[int, int]:
    """Return the exit codes of the children that have ended. Raises ChildProcessError if there must be some and are none."""
    codes: dict[int, int] = {}
    try:
        while (result := os.waitpid(-1, os.WNOHANG))[0]:
            codes[result[0]] = os.waitstatus_to_exitcode(result[1])
    except ChildProcessError:
        if must_exist:
            raise
    return codes


def _iter_children() -> Iterator[int]:
    own = str(os.getpid())
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):  # it has ended
                # Behind the name in brackets, which may have any sign in it: the state, and the parent.
                status = Path(entry.path, "stat").read_text(errors="replace")
                if status.rpartition(")")[2].split()[1] == own:
                    yield int(entry.name)


def _call_prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    # What the interpreter would do before it ends could write into the closed streams.
    os._exit(run(int(sys.argv[1]), sys.argv[2:]))
