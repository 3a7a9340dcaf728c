"""The process of an isolated worker: ``python -m workflows.execution.isolated_worker NAME PARENT_PID``.

It ends when it has had nothing to do for a while, or when the worker that started it has ended. See ``isolation.py``.
"""

import os
import signal
import sys
import time

import django


IDLE_SECONDS = 10.0
MAX_RUNS = 16  # at once; all but one of them have finished a step
POLL_SECONDS = 0.2


def main(name: str, parent_pid: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # Inline import: the apps must be loaded first.
    from workflows.execution.worker import Worker  # noqa: PLC0415

    worker = Worker(capacity=MAX_RUNS, name=name, is_isolated=True)
    must_stop = False

    def stop(*_arguments: object) -> None:
        nonlocal must_stop
        must_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    worker.start()
    last_busy = time.monotonic()
    while (
        not must_stop and os.getppid() == parent_pid and time.monotonic() - last_busy < IDLE_SECONDS
    ):
        time.sleep(POLL_SECONDS)
        if worker.executions:
            last_busy = time.monotonic()
    worker.stop(grace_seconds=0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
