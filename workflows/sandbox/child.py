"""The program of a runner that renders templates.

It uses the standard library and jinja2 only: no Django, no settings, no database, an empty environment.
"""

import gc
import os
import sys

from workflows.sandbox import rendering, walls
from workflows.sandbox.serving import send, serve


# After these failures the memory of the process may be damaged, so the parent starts a new process.
_FATAL_FAILURES = frozenset({"memory", "recursion"})


def main() -> None:
    # Only the frames may go to the pipe; what a print or a warning writes goes to standard error.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    # Render once, so that Jinja2 has imported everything before the import path is cleared.
    rendering.render(
        {"template": "{{ x|tojson }}{% for i in [1] %}{{ i }}{% endfor %}", "inputs": {}}
    )
    sys.path.clear()
    os.dup2(reply_fd, 1)
    os.close(reply_fd)
    active_walls = walls.raise_walls()
    send({"ok": True, "walls": active_walls})
    serve({"template": rendering.render}, fatal=_FATAL_FAILURES, before_job=_prepare_job)


def _prepare_job() -> None:
    walls.allow_cpu_seconds()
    gc.collect(0)


if __name__ == "__main__":
    main()
