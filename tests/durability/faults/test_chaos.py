"""The benchmark of failures in a short form: real services of its own, and random kills of workers.

By day kills at chosen moments show the same, beside this in ``test_commit_points.py``, and ``test_worker_killed.py``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.env import ROOT


def run_chaos(folder: Path, *arguments: str, seconds: float) -> dict[str, float]:
    """Run the benchmark, and return its values by name. It fails if a bar is not met."""
    target = folder / "chaos.json"
    command = [sys.executable, "-m", "bench.chaos", "--json", str(target), *arguments]
    # Without the settings of the tests, which name their servers.
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert process.returncode == 0, process.stdout + process.stderr[-3000:]
    return {bar["name"]: bar["value"] for bar in json.loads(target.read_text())["bars"]}


@pytest.mark.nightly
def test_killed_workers_lose_and_repeat_nothing(tmp_path: Path) -> None:
    values = run_chaos(
        tmp_path, "--only", "kills", "--runs", "16", "--kills", "2", "--seed", "1", seconds=300
    )

    assert values["kills: lost"] == values["kills: repeated after end"] == 0


@pytest.mark.nightly
def test_restarts_of_the_database_fail_no_run(tmp_path: Path) -> None:
    values = run_chaos(
        tmp_path, "--only", "restarts", "--restarts", "10", "--seed", "1", seconds=600
    )

    assert values["restarts: failed"] == 0


@pytest.mark.nightly
def test_ten_minutes_of_random_kills_leak_nothing(tmp_path: Path) -> None:
    values = run_chaos(tmp_path, "--only", "soak", "--soak-minutes", "10", seconds=1200)

    assert values["soak: leases afterwards"] == 0
