"""The program of a runner for code nodes: hosts one monty interpreter behind walls.

Two processes a runner, both without credentials: this one speaks frames with the worker, the
interpreter is its child. What an interpreter with a hole could send is decoded here, not in the worker.
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
    reply_to = os.dup(1)
    os.dup2(2, 1)
    # Inline: everything this module needs is loaded before the walls shut the file system.
    from workflows.sandbox.running import Interpreter  # noqa: PLC0415

    program = _program()
    sys.path.clear()
    standing = outer_walls.raise_outer_walls(program)
    interpreter = Interpreter(program)
    os.dup2(reply_to, 1)
    os.close(reply_to)
    send({"ok": True, "walls": standing})
    serve({"code": interpreter.run, "check": interpreter.check}, spent=_SPENT)


def _program() -> Path:
    beside = Path(sysconfig.get_path("scripts")) / "monty"
    found = beside if beside.is_file() else shutil.which("monty")
    if found is None:
        raise SystemExit("The monty interpreter is not installed")
    return Path(found).resolve()


if __name__ == "__main__":
    main()
