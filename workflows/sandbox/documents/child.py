"""The program of a runner that reads documents.

It imports the libraries and the standard library only: no Django, no settings, no database, an empty environment.
Everything is imported, and each library used once, before the process gives up the right to open a file.
"""

import gc
import logging
import os
import sys
import warnings

from workflows.sandbox import frames, restrictions
from workflows.sandbox.serving import redirect_output, send, serve


MEMORY_BYTES = 448 * 1024 * 1024  # beyond the idle process
CPU_SECONDS = 20
# After these failures the memory of the process may be damaged, so the parent starts a new process.
_FATAL_FAILURES = frozenset({"memory", "recursion"})


def main() -> None:
    # openpyxl would choose lxml for sheets, whose C code must not read documents of several teams in one process.
    os.environ["OPENPYXL_LXML"] = "False"
    with redirect_output():
        # Inline import: the environment above must be set before.
        from workflows.sandbox.documents import formats, warm_up  # noqa: PLC0415

        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)  # libraries report the flaws of documents
        warm_up.use_libraries()
        sys.path.clear()
    send({"ok": True, "walls": restrictions.restrict_process(MEMORY_BYTES)})
    serve(
        {"extract": formats.extract},
        fatal=_FATAL_FAILURES,
        before_job=_prepare_job,
        max_request=frames.MAX_DOCUMENT_REQUEST_BYTES,
    )


def _prepare_job() -> None:
    restrictions.allow_cpu_seconds(CPU_SECONDS)
    gc.collect()


if __name__ == "__main__":
    main()
