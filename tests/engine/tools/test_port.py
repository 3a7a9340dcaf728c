"""The tool port of the in-process runner."""

import subprocess
import sys

import pytest

from config.env import ROOT


@pytest.mark.parametrize("module", ["tools.port", "tools.web_page", "nodes", "runtime.runner"])
def test_module_can_be_imported_first(module: str) -> None:
    code = f"import workflows.engine.{module}"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
