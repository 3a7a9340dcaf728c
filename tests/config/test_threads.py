"""Sums of a process run in one thread: the others on the machine need the cores too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.env import ROOT


MULTIPLY = (
    "import config, os, numpy;"
    "many = numpy.ones((600, 600), dtype='float32'); many @ many;"
    "print(len(os.listdir('/proc/self/task')))"
)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_matrices_are_multiplied_in_one_thread_unless_the_environment_says_otherwise():
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

    counts = [
        int(
            subprocess.run(
                [sys.executable, "-c", MULTIPLY],
                cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=90,
            ).stdout
        )
        for environment in (own, {**own, "OPENBLAS_NUM_THREADS": "2"})
    ]  # fmt: skip

    assert counts == [1, min(2, os.cpu_count() or 1)]
