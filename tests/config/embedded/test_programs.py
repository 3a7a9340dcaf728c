"""How many web processes there are, and what they share."""

import os
import signal
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from config.embedded import programs
from config.embedded.ports import open_listener
from config.embedded.programs import (
    MAX_WEB_PROCESSES,
    MEMORY_PER_WEB_PROCESS,
    MIN_POOL_SIZE,
    POOL_SIZE,
    build_web_processes,
    choose_web_process_count,
    count_cores,
    read_memory,
)
from config.embedded.supervisor import Program, Supervisor
from config.env import Env
from tests.support.waiting import until


def env(**values: object) -> Env:
    return Env(_env_file=None, **values)  # type: ignore[arg-type]  # typed by their own test


@pytest.mark.parametrize(
    ("cores", "memory", "asked", "has_shared_cache", "count"),
    [
        (2, 8, None, True, 2),
        (1, 8, None, True, 1),
        (2, 1, None, True, 1),  # one for 2 GB, and never none
        (3, 5, None, True, 2),
        (64, 256, None, True, MAX_WEB_PROCESSES),
        (2, 8, 7, True, 7),
        (2, 8, 7, False, 1),
        (2, 8, None, False, 1),
    ],
)
def test_as_many_web_processes_as_are_asked_for_or_fit(
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    memory: int,
    asked: int | None,
    has_shared_cache: bool,
    count: int,
):
    monkeypatch.setattr(programs, "count_cores", lambda: cores)
    monkeypatch.setattr(programs, "read_memory", lambda: memory * MEMORY_PER_WEB_PROCESS // 2)

    settings = env(web_processes=asked)

    assert choose_web_process_count(settings, has_shared_cache=has_shared_cache) == count


def test_limits_of_a_container_count_like_those_of_the_machine(tmp_path: Path):
    machine = count_cores(tmp_path), read_memory(tmp_path)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    unlimited = count_cores(tmp_path), read_memory(tmp_path)
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text(f"{64 * 1024**2}\n")
    limited = count_cores(tmp_path), read_memory(tmp_path)
    (tmp_path / "cpu.max").write_text("50000 100000\n")

    assert unlimited == machine
    assert limited == (1, 64 * 1024**2)
    assert count_cores(tmp_path) == 1  # never none


@pytest.mark.parametrize(
    ("count", "asked", "pool_size"),
    [
        (1, None, POOL_SIZE),
        (2, None, POOL_SIZE // 2),
        (4, None, MIN_POOL_SIZE),
        (4, 20, 20),  # asked for by name
    ],
)
def test_web_processes_differ_by_their_names_only_and_share_the_connections(
    tmp_path: Path, count: int, asked: int | None, pool_size: int
):
    settings = env(**({} if asked is None else {"database_pool_size": asked}))

    processes = build_web_processes(settings, 8000, 7, count=count, metrics=tmp_path)

    assert [each.name for each in processes] == ["web", "web-2", "web-3", "web-4"][:count]
    assert {each.inherited_fds for each in processes} == {(7,)}
    assert {each.environment["DATABASE_POOL_SIZE"] for each in processes} == {str(pool_size)}
    assert {each.environment["WEB_PROCESSES"] for each in processes} == {str(count)}


APPLICATION = """
import os


async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
"""


@pytest.fixture
def url_and_supervisor(tmp_path: Path) -> Iterator[tuple[str, Supervisor]]:
    """Two processes of a small application, as the supervisor runs those of the product."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    (tmp_path / "small.py").write_text(APPLICATION)
    listener = open_listener("127.0.0.1", 18_900, tmp_path / "port")
    command = [
        *(sys.executable, "-m", "uvicorn", "small:application", "--fd", str(listener.fileno())),
        *("--app-dir", str(tmp_path), "--lifespan", "off", "--log-level", "warning"),
    ]
    small = [
        Program(name, command, inherited_fds=(listener.fileno(),)) for name in ("web", "web-2")
    ]
    supervisor = Supervisor(small, tmp_path / "locks")
    supervisor.start()
    supervisor.start_others(with_spares=True)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", supervisor
    finally:
        supervisor.stop()
        listener.close()
        for number, handler in previous.items():
            signal.signal(number, handler)


def answering_pid(url: str) -> int:
    with urllib.request.urlopen(url, timeout=90) as response:
        return int(response.read())


def pids(supervisor: Supervisor) -> list[int]:
    return [child.process.pid for child in supervisor.children if child.process]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_each_web_process_serves_while_the_other_one_cannot(
    url_and_supervisor: tuple[str, Supervisor],
):
    url, supervisor = url_and_supervisor
    first, second = pids(supervisor)

    with stopped(second):
        answers = [answering_pid(url) for _number in range(5)]
    with stopped(first):
        answers += [answering_pid(url) for _number in range(5)]

    assert answers == [first] * 5 + [second] * 5


def test_killed_web_process_is_started_again_and_the_other_one_serves_meanwhile(
    url_and_supervisor: tuple[str, Supervisor],
):
    url, supervisor = url_and_supervisor
    first, second = pids(supervisor)

    os.kill(first, signal.SIGKILL)
    until(supervisor.children[0].has_died)
    meanwhile = [answering_pid(url) for _number in range(5)]
    assert supervisor.keep_running()
    third = pids(supervisor)[0]
    with stopped(second):
        later = [answering_pid(url) for _number in range(5)]

    assert (meanwhile, later) == ([second] * 5, [third] * 5)
    assert third not in (first, second)
