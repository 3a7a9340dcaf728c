"""Runs the tests of the walls twice: with bubblewrap, where this machine has it, and without it."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from workflows.sandbox import monty, process
from workflows.sandbox.process import Runner


def require_jail() -> None:
    """Skip the tests if bubblewrap can't build its jail; in CI fail instead, unless bubblewrap isn't installed."""
    process.get_jail.cache_clear()
    if process.is_jailed():
        return
    process.get_jail.cache_clear()
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap isn't installed; these tests run without it")
    message = "bubblewrap is installed, but can't build its jail on this machine"
    if os.environ.get("CI"):
        pytest.fail(f"{message}: allow user namespaces, or uninstall bubblewrap to test without it")
    pytest.skip(message)


WALLS = ("bubblewrap", "plain")


@pytest.fixture(scope="module", params=WALLS)
def walls_around(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Start runners inside bubblewrap, or as plain processes by hiding bubblewrap from them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "bubblewrap":
            require_jail()
        else:
            patch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
        process.get_jail.cache_clear()
        yield request.param
    process.get_jail.cache_clear()


@pytest.fixture
def jobs_taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process ids of the runners that have taken a job, in that order."""
    taken: list[int] = []
    hand_over = Runner._hand_over

    def watched(runner: Runner, *arguments: Any) -> None:
        hand_over(runner, *arguments)
        taken.append(runner.pid)

    monkeypatch.setattr(Runner, "_hand_over", watched)
    return taken


@pytest.fixture
def grace_seconds(monkeypatch: pytest.MonkeyPatch) -> float:
    """Give programs that run until they are killed less time than others have beyond their limit, and return it."""
    monkeypatch.setattr(monty, "GRACE_SECONDS", 0.1)
    return monty.GRACE_SECONDS


@pytest.fixture
def time_limits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds after which each job is given up, and its runner killed."""
    limits: list[float] = []
    call = Runner.call

    def watched(runner: Runner, message: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        limits.append(seconds)
        return call(runner, message, seconds=seconds)

    monkeypatch.setattr(Runner, "call", watched)
    return limits
