"""The program of a runner that renders templates.

It uses the standard library and jinja2 only: no Django, no settings, no database, an empty environment.
"""

import gc
import sys

from workflows.sandbox import rendering, restrictions
from workflows.sandbox.serving import redirect_output, send, serve


# After these failures the memory of the process may be damaged, so the parent starts a new process.
_FATAL_FAILURES = frozenset({"memory", "recursion"})


def main() -> None:
    with redirect_output():
        # Render once, so that Jinja2 has imported everything before the import path is cleared.
        rendering.render(
            {"template": "{{ x|tojson }}{% for i in [1] %}{{ i }}{% endfor %}", "inputs": {}}
        )
        sys.path.clear()
    send({"ok": True, "walls": restrictions.restrict_process()})
    serve({"template": rendering.render}, fatal=_FATAL_FAILURES, before_job=_prepare_job)


def _prepare_job() -> None:
    restrictions.allow_cpu_seconds()
    gc.collect(0)


if __name__ == "__main__":
    main()
