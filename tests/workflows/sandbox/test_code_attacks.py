"""The hostile programs against the code back-end: nothing of the host is reached, nobody else pays.

The control runs the escapes in a plain Python process of its own, to show that they are real.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.process_use import measure_growth
from tests.support.waiting import LIMIT, until_async
from tests.workflows.sandbox.conftest import WALLS
from tests.workflows.sandbox.walls import take_turns
from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.escape_tests.corpus import ESCAPES, RESOURCES
from workflows.sandbox.escape_tests.runner import list_successful_attacks
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerPool


CANARY = "canary-51c0ffee77"
LIMITS = CodeLimits(seconds=60, memory_bytes=64 * 1024 * 1024)
SHORT = replace(LIMITS, seconds=0.1)  # for what runs until it is ended


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "secret.txt").write_text(CANARY)
    folder.chmod(0o755)
    os.environ["CODE_CANARY"] = CANARY
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {
            "{file}": str(folder / "secret.txt"),
            "{port}": str(listener.getsockname()[1]),
            "{parent}": str(os.getpid()),
            "{write}": str(folder / "written.txt"),
        }
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    del os.environ["CODE_CANARY"]


@pytest.fixture(scope="module")
def runner(walls_around: str) -> Iterator[MontyRunner]:
    made = MontyRunner(RunnerPool(1, program="code_child"))
    asyncio.run(made.pool.warm())
    yield made
    made.close()


def filled(source: str, place: dict[str, str]) -> str:
    for name, value in place.items():
        source = source.replace(name, value)
    return source


def still_running(family: list[psutil.Process]) -> list[psutil.Process]:
    """Wait for the processes to end and return those that didn't.

    One that ended but wasn't reaped counts as ended: orphans are reaped by the machine's first process,
    in its own time.
    """
    _gone, alive = psutil.wait_procs(family, timeout=LIMIT)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def run(runner: MontyRunner, source: str, limits: CodeLimits = LIMITS) -> CodeOutcome:
    return asyncio.run(runner.run(source, {}, limits))


def test_corpus_has_its_size() -> None:
    assert len(ESCAPES) + len(RESOURCES) >= 53


@pytest.mark.parametrize("name", ESCAPES)
def test_escape_reaches_nothing(name: str, runner: MontyRunner, place: dict[str, str]) -> None:
    outcome = run(runner, filled(ESCAPES[name], place))

    said = f"{outcome.value}{outcome.stdout}{outcome.error}"
    assert CANARY not in said
    assert outcome.value not in ({"r": "killed"}, {"r": "written"}, {"r": 0})
    assert not Path(place["{write}"]).exists()


def test_control_the_escapes_work_where_nothing_stops_them(place: dict[str, str]) -> None:
    through = []
    # No network and no killing in the control: those two would hit this very test.
    left_out = {"socket", "abstract socket", "signal parent", "host write", "os.system"}
    for name in ESCAPES.keys() - left_out:
        source = filled(ESCAPES[name], place) + "\nprint(main())\n"
        done = subprocess.run(
            [sys.executable, "-I", "-c", source], capture_output=True, text=True, check=False
        )
        if CANARY in done.stdout:
            through.append(name)

    assert len(through) >= 10, through


@pytest.mark.parametrize(
    ("walls_around", "name"), take_turns(WALLS, RESOURCES), indirect=["walls_around"]
)
def test_attack_on_resources_ends_in_time_and_the_caller_is_unharmed(
    name: str,
    walls_around: str,
    runner: MontyRunner,
    place: dict[str, str],
    time_limits: list[float],
    grace_seconds: float,
) -> None:
    with measure_growth() as growth:
        outcome = run(runner, filled(RESOURCES[name], place), SHORT)

    assert set(time_limits) == {SHORT.seconds + grace_seconds}
    assert growth.kilobytes < 20 * 1024
    assert outcome.ok or outcome.error
    assert len(outcome.stdout) <= LIMITS.stdout_bytes
    assert not Path(place["{write}"]).exists()
    assert run(runner, "def main(): return {'alive': 1}").value == {"alive": 1}


def test_no_process_is_left_when_the_pool_closes(walls_around: str) -> None:
    runner = MontyRunner(RunnerPool(1, program="code_child"))
    assert run(runner, "def main(): return {}").ok
    (pid,) = runner.pool.list_pids()
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    # The host and its interpreter; around them bubblewrap itself, and the first process of its jail.
    assert len(family) == {"plain": 2, "bubblewrap": 4}[walls_around]

    runner.close()

    assert not psutil.pid_exists(pid)
    assert still_running(family) == []


@pytest.mark.parametrize("victim", ["host", "interpreter"])
def test_pool_goes_on_after_a_process_of_it_was_killed(walls_around: str, victim: str) -> None:
    runner = MontyRunner(RunnerPool(1, program="code_child"))
    assert run(runner, "def main(): return {}").ok
    (pid,) = runner.pool.list_pids()
    interpreter = psutil.Process(pid).children(recursive=True)[-1]
    assert interpreter.name() == "monty"
    os.kill(pid if victim == "host" else interpreter.pid, 9)

    first = run(runner, "def main(): return {'r': 1}")
    second = run(runner, "def main(): return {'r': 2}")
    runner.close()

    assert (first.ok and first.value == {"r": 1}) or first.error
    assert second.value == {"r": 2}


async def test_job_nobody_waits_for_is_killed_at_once(
    walls_around: str, jobs_taken: list[int]
) -> None:
    runner = MontyRunner(RunnerPool(1, program="code_child"))
    await runner.pool.warm()
    task = asyncio.create_task(
        runner.run("def main():\n    while True: pass", {}, CodeLimits(seconds=3600))
    )
    await until_async(lambda: jobs_taken)
    (pid,) = jobs_taken
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asyncio.to_thread(still_running, family) == []
    after = await runner.run("def main(): return {'r': 1}", {}, LIMITS)
    assert after.value == {"r": 1}
    runner.close()


def test_one_program_finds_nothing_of_the_one_before(runner: MontyRunner) -> None:
    run(
        runner,
        "import json\nleft = 1\ntry:\n    json.left = 2\nexcept Exception: pass\ndef main(): return {}",
    )
    seen = run(runner, "def main():\n    return {'r': left}")
    patched = run(runner, "import json\ndef main():\n    return {'r': json.left}")

    assert not seen.ok
    assert not patched.ok


class _Leaky:
    """A back-end without a wall."""

    async def run(self, source: str, *_arguments: Any, **_options: Any) -> CodeOutcome:
        return CodeOutcome("alive" in source, os.environ.get("CODE_CANARY"))

    def close(self) -> None:
        """It holds nothing."""


def test_doctors_attacks_name_what_gets_through(runner: MontyRunner) -> None:
    assert asyncio.run(list_successful_attacks(runner)) == []
    assert asyncio.run(list_successful_attacks(_Leaky())) == list(ESCAPES)
