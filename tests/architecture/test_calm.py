"""No test waits for a fixed time, compares clocks beside other tests, or shares its person with another one."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.calm import find_restless


TESTS: Final = Path(__file__).parents[1]
# The places that wait, for everybody else.
WAITING: Final = {"support/waiting.py"}

# File → how many such lines it has, since when and why. A number may only become smaller.
EXCEPTIONS: Final[dict[str, tuple[int, str]]] = {
    "journeys/test_first_run.py": (
        1,
        "2026-11-29: it is about the first person of an installation",
    ),
}


def test_tests_are_calm() -> None:
    restless = {
        path.relative_to(TESTS).as_posix(): found
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).as_posix() not in WAITING
        if (found := find_restless(path.read_text(), is_journey="journeys" in path.parts))
    }
    counts = {name: len(found) for name, found in restless.items()}

    assert counts == {name: count for name, (count, _reason) in EXCEPTIONS.items()}, "\n".join(
        f"{name}:{one.line} {one.reason}" for name, found in restless.items() for one in found
    )


PLANTED: Final = {
    "a sleep": ("def test_it():\n    time.sleep(0.1)", "waits for a fixed time"),
    "a coroutine's sleep": (
        "async def test_it():\n    await asyncio.sleep(pause)",
        "waits for a fixed time",
    ),
    "a browser's wait": (
        "def test_it(page):\n    page.wait_for_timeout(50)",
        "waits for a fixed time",
    ),
    "a clock": (
        "def test_it():\n    began = time.monotonic()\n    work()\n    assert time.monotonic() - began < 2",
        "compares times outside of `timed`",
    ),
    "a time with a name": (
        "def test_it():\n    began = perf_counter()\n    took = perf_counter() - began\n    assert took < 2",
        "compares times outside of `timed`",
    ),
    "a shared owner": ("def test_it(first_owner):\n    pass", "shares a person with other tests"),
}


@pytest.mark.parametrize(("source", "reason"), PLANTED.values(), ids=PLANTED)
def test_planted_line_is_found(source: str, reason: str) -> None:
    assert Counter(one.reason for one in find_restless(source, is_journey=True)) == {reason: 1}


@pytest.mark.parametrize(
    "source",
    [
        "async def test_it():\n    await asyncio.sleep(0)",
        "@pytest.mark.timed\ndef test_it():\n    began = time.monotonic()\n    assert time.monotonic() - began < 20",
        "pytestmark = [pytest.mark.timed]\ndef test_it():\n    assert time.monotonic() < 20",
        "def test_it(signed_in):\n    until(lambda: signed_in)",
    ],
)
def test_calm_lines_are_not_found(source: str) -> None:
    assert find_restless(source, is_journey=True) == []
