"""A test that goes through many cases says which of them failed, and why the first did."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from config.env import ROOT
from tests.support.cases import for_each


calls: list[tuple[int, str, bool]] = []


@pytest.fixture
def flag() -> bool:
    return True


@for_each("number, word", [(1, "one"), pytest.param(2, "two", id="second")])
def test_each_case_gets_its_arguments_and_the_fixtures(number: int, word: str, flag: bool) -> None:
    assert word.startswith("ot"[number - 1])
    calls.append((number, word, flag))
    if number == 2:
        assert calls[-2:] == [(1, "one", True), (2, "two", True)]


@for_each("number", range(3))
@for_each("other", range(2))
async def test_cases_are_combined_and_awaited(number: int, other: int, flag: bool) -> None:
    combined.append((number, other))
    if (number, other) == (2, 1):
        assert combined == [(a, b) for a in range(3) for b in range(2)]


combined: list[tuple[int, int]] = []

PLANTED = dedent(
    """
    import pytest
    from tests.support.cases import for_each

    @for_each("number", [1, 2, 3, 4], ids=lambda number: f"case {number}")
    def test_even(number):
        assert number % 2 == 0

    @for_each("number", [5, 6])
    async def test_raises(number):
        with pytest.raises(ValueError):
            int("x" if number == 5 else "6")

    @for_each("number", [])
    def test_none(number):
        assert number

    @for_each("number", range(50))
    def test_many(number):
        assert number < 0
    """
)


def test_failed_cases_are_named_and_the_first_is_shown(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text(PLANTED)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"),
        *("-p", "no:django", "--noconftest", "-o", "addopts=", "-o", "asyncio_mode=auto"),
        *("--rootdir", str(tmp_path), "--override-ini", f"pythonpath={ROOT}", str(tmp_path)),
    ]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "assert (1 % 2) == 0" in done.stdout
    assert "2 of 4 cases failed: case 1, case 3\n" in done.stdout
    assert "DID NOT RAISE" in done.stdout
    assert "1 of 2 cases failed: 6\n" in done.stdout
    assert ", 19 and 30 more\n" in done.stdout
    assert "3 failed, 1 skipped" in done.stdout


def test_cases_with_marks_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="marks"):
        for_each("number", [pytest.param(1, marks=pytest.mark.nightly)])


def test_argument_that_the_test_does_not_take_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="doesn't take"):

        @for_each("number", [1])
        def planted(word: str) -> None:
            assert word
