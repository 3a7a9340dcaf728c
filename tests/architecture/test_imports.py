"""The import contracts of pyproject.toml, so that `make test` alone finds a wrong arrow."""

import subprocess
import sys
from pathlib import Path

from config.env import ROOT


def test_import_contracts_are_kept():
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
