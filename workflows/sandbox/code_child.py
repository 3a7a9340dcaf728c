"""The program of a runner for code nodes: it hosts one monty interpreter behind walls.

A runner has two processes, both without credentials: this one exchanges frames with the worker, the interpreter is
its child. What a compromised interpreter sends is decoded here, not in the worker.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from workflows.sandbox import outer_walls
from workflows.sandbox.serving import send, serve


_SPENT = frozenset({"crash", "time", "memory"})


def main() -> None:
    # Only the frames may go to the pipe; a stray print goes where nobody reads.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    # Inline: everything this module needs is loaded before the walls shut the file system.
    from workflows.sandbox.running import Interpreter  # noqa: PLC0415

    program = _find_interpreter()
    sys.path.clear()
    active_walls = outer_walls.raise_outer_walls(program)
    interpreter = Interpreter(program)
    os.dup2(reply_fd, 1)
    os.close(reply_fd)
    send({"ok": True, "walls": active_walls})
    serve({"code": interpreter.run, "check": interpreter.check}, spent=_SPENT)


def _find_interpreter() -> Path:
    installed = Path(sysconfig.get_path("scripts")) / "monty"
    path = installed if installed.is_file() else shutil.which("monty")
    if path is None:
        raise SystemExit("The monty interpreter is not installed")
    return Path(path).resolve()


if __name__ == "__main__":
    main()
