import os
import subprocess
import sys
from pathlib import Path

import pytest


TESTS = """
import pytest

made = []
tries = []
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def rows():
    made.append("rows")
    yield made
    made.clear()


def test_slow_once(rows):
    tries.append(1)
    assert len(tries) == 2


def test_rows_of_the_module_were_made_once(rows):
    assert rows == ["rows"]


def test_faulty(rows):
    assert False


def test_skipped(rows):
    pytest.skip("not here")
"""


@pytest.fixture
def printed(tmp_path: Path) -> str:
    (tmp_path / "test_tries.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.second_try", "-p", "no:django"]
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_test_that_was_slow_once_passes_is_named_and_finds_the_rows_of_its_module(printed: str):
    assert "passed at the second try: test_tries.py::test_slow_once" in printed
    assert "FAILED test_tries.py::test_faulty" in printed
    assert "failed at both tries, at first with: test_tries.py::test_faulty" in printed
    assert "1 failed, 2 passed, 1 skipped" in printed
