"""The bench against a real model server, as a test: runs where its two wheels are installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parents[3]
INSTALLED = ROOT / ".bench" / "venv-model" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED.exists(), reason="run bench/real_model.py once to install it")
def test_real_model_server_answers_a_run_with_streaming(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"

    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "real_model.py", "--json", numbers],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(numbers.read_text())["failed"] == []
