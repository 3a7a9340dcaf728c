"""Let the workers of a phase be forks of one process that has loaded all modules of tests (`tests/phases/loaded.py`).

xdist would start each as a process of its own, and each would load two thousand modules. A worker that takes the place of one
that died is started so.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import psutil
import pytest
from execnet import gateway_io
from execnet.gateway_base import Popen2IO


Ends = tuple[int, int]  # of two pipes: that of the answers, and that of what is said


class ForkedIO(Popen2IO):
    """As much as execnet knows of a process that it started itself."""

    def __init__(self, pid: int, ends: Ends, execmodel: Any) -> None:
        answers, words = ends
        super().__init__(os.fdopen(words, "wb"), os.fdopen(answers, "rb"), execmodel)
        self._process = psutil.Process(pid)

    def wait(self) -> None:
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()


class Forks:
    """A plug-in of the process that hands out the tests."""

    def __init__(self) -> None:
        self._free: list[tuple[int, Ends]] = []
        self._start = gateway_io.create_io
        self._loaded: subprocess.Popen[str] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        ignored = [f"--ignore={path}" for path in config.getoption("ignore") or ()]
        self._fork(len(specs), [*ignored, *config.args])
        vars(gateway_io)["create_io"] = self._lend

    def pytest_unconfigure(self) -> None:
        vars(gateway_io)["create_io"] = self._start
        if self._loaded:
            self._loaded.wait()

    def _lend(self, spec: Any, execmodel: Any) -> Popen2IO:
        if self._free:
            return ForkedIO(*self._free.pop(0), execmodel)
        return self._start(spec, execmodel)

    def _fork(self, count: int, arguments: Sequence[str]) -> None:
        """Load the tests, and fork the workers. If they can't be loaded, each worker will try it and tell why."""
        pipes = [(os.pipe(), os.pipe()) for _ in range(count)]
        theirs = [(words[0], answers[1]) for words, answers in pipes]
        ours = [(answers[0], words[1]) for words, answers in pipes]
        passed = [end for ends in theirs for end in ends]
        self._loaded = subprocess.Popen(
            [sys.executable, "-u", "-m", "tests.phases.loaded", json.dumps(theirs), *arguments],
            pass_fds=passed, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        _close(passed)
        assert self._loaded.stdout
        with self._loaded.stdout as answer:
            pids = json.loads(answer.readline() or "[]")
        self._free = list(zip(pids, ours, strict=False))
        _close([end for ends in ours[len(pids) :] for end in ends])


def _close(ends: Sequence[int]) -> None:
    for end in ends:
        os.close(end)
