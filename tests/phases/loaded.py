"""`python -m tests.phases.loaded ENDS [ARGUMENTS OF PYTEST]` loads the modules of tests, and forks the workers of a phase.

`ENDS` are the ends of pipes by which each worker is spoken to, as JSON: `[[in, out], …]`. A line with the process ids of the
workers says that they are there. See `tests/phases/workers.py`, which starts this.
"""

import gc
import json
import logging
import os
import sys
import threading
from collections.abc import Sequence
from typing import Final

import pytest


# What execnet gives to a process of its own: the program comes on standard input.
PROGRAM: Final = "import sys;exec(eval(sys.stdin.readline()))"
# A worker gets it as an argument, and pytest warns if a plug-in that it is to load is there already, as it is because of tests.
PLUGIN: Final = "tests.phases.plugin"


class Loader:
    """A plug-in that imports the modules and collects nothing in them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport | None:
        if not isinstance(collector, pytest.Module):
            return None
        _ = collector.obj
        return pytest.CollectReport(collector.nodeid, "passed", None, [])


def main() -> None:
    ends = [(int(read), int(write)) for read, write in json.loads(sys.argv[1])]
    load(sys.argv[2:])
    pids = []
    for mine in ends:
        pid = os.fork()
        if pid == 0:
            become_worker(mine, ends)
            return  # and end as any program does: what waits for that is called
        pids.append(pid)
    close([end for pair in ends for end in pair])
    print(json.dumps(pids), flush=True)
    for _pid in pids:
        os.wait()


def load(arguments: Sequence[str]) -> None:
    """Import all test modules as pytest does, or end with what it says."""
    options = ["--collect-only", "-p", "no:terminal", "-p", "no:cacheprovider"]
    status = pytest.main([*options, *arguments], plugins=[Loader()])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(int(status))
    if threading.active_count() > 1:
        sys.exit(f"These threads would not live on in a fork: {threading.enumerate()}")
    # What is loaded stays, and needn't be gone through again, nor copied because of that, in each worker.
    gc.collect()
    gc.freeze()
    gc.disable()  # as tests/conftest.py does until the tests are collected


def become_worker(mine: tuple[int, int], ends: Sequence[tuple[int, int]]) -> None:
    """Listen and answer as a process that execnet has started, until it is told to end."""
    for number, end in enumerate(mine):
        os.dup2(end, number)
    close([end for pair in ends for end in pair])
    write_logs_again()
    sys.modules.pop(PLUGIN, None)
    exec(PROGRAM, {"__name__": "__main__"})


def write_logs_again() -> None:
    """Let logs go to standard error: pytest has closed what stood for it while the tests were loaded.

    Each line would be an error of the handler's instead, with two tracebacks.
    """
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream.closed:
            handler.stream = sys.stderr  # `setStream` would flush the closed one


def close(ends: Sequence[int]) -> None:
    for end in ends:
        os.close(end)


if __name__ == "__main__":
    main()
