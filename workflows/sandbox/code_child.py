"""The program of a runner for code nodes: it hosts one restricted monty interpreter.

A runner has two processes, both without credentials: this process exchanges frames with the worker, and the interpreter
is its child. The messages of a compromised interpreter are thus decoded here and not in the worker.
"""

import shutil
import sys
import sysconfig
from pathlib import Path

from workflows.sandbox import inherited_restrictions
from workflows.sandbox.serving import redirect_output, send, serve


# After these failures the interpreter can't be used again; the parent starts a new runner.
_FATAL_FAILURES = frozenset({"crash", "time", "memory"})


def main() -> None:
    with redirect_output():
        # Inline import: it loads the interpreter's modules before the file system is out of reach.
        from workflows.sandbox.interpreter import Interpreter  # noqa: PLC0415

        program = _find_interpreter()
        sys.path.clear()
        active_restrictions = inherited_restrictions.restrict_process_tree(program)
        interpreter = Interpreter(program)
    send({"ok": True, "walls": active_restrictions})
    serve({"code": interpreter.run, "check": interpreter.check}, fatal=_FATAL_FAILURES)


def _find_interpreter() -> Path:
    installed = Path(sysconfig.get_path("scripts")) / "monty"
    path = installed if installed.is_file() else shutil.which("monty")
    if path is None:
        raise SystemExit("The monty interpreter is not installed")
    return Path(path).resolve()


if __name__ == "__main__":
    main()
