"""With small programs in place of the web server and the worker; test_up.py has the real ones."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from config.embedded import backoff
from config.embedded.supervisor import MAX_FAILED_STARTS, Program, Supervisor
from tests.support.waiting import until


FOREVER = [
    sys.executable,
    "-c",
    "import time; print('here', flush=True); time.sleep(600)",
    "marked",
]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True); time.sleep(600)",
]


@pytest.fixture(autouse=True)
def _signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):  # it may end at any moment
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_supervisor_asked_to_end_ends_every_child(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    supervisor = Supervisor([Program("a", FOREVER), Program("b", FOREVER)], tmp_path)
    supervisor.start()
    supervisor.start_others()
    pids = [child.process.pid for child in supervisor.children if child.process]
    until(lambda: capfd.readouterr().err.count("here") >= 1)

    os.kill(os.getpid(), signal.SIGINT)
    status = supervisor.watch()
    supervisor.stop()

    assert (status, [alive(pid) for pid in pids], list(tmp_path.glob("*.pid"))) == (
        0,
        [False, False],
        [],
    )


def test_supervisor_spare_program_is_started_last(tmp_path: Path):
    programs = [Program("a", FOREVER), Program("b", FOREVER, is_spare=True), Program("c", FOREVER)]
    supervisor = Supervisor(programs, tmp_path)
    supervisor.start()
    supervisor.start_others()
    before = [child.program.name for child in supervisor.children if child.process]

    os.kill(os.getpid(), signal.SIGINT)
    supervisor.watch()
    after = [child.program.name for child in supervisor.children if child.process]
    supervisor.stop()

    assert (before, after) == (["a", "c"], ["a", "b", "c"])


def test_supervisor_child_that_ignores_the_request_is_killed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    supervisor = Supervisor([Program("stubborn", STUBBORN, stop_timeout=0.3)], tmp_path)
    supervisor.start()
    process = supervisor.children[0].process
    assert process
    until(lambda: "here" in capfd.readouterr().err)

    supervisor.stop()

    assert process.returncode == -signal.SIGKILL


def end_soon(supervisor: Supervisor, what: Callable[[], object]) -> None:
    """Ask for the end as soon as a condition holds, as a person who has seen enough."""

    def wait() -> None:
        with suppress(AssertionError):  # the test then says what it has not seen
            until(what)
        supervisor._ending.set()

    threading.Thread(target=wait, daemon=True).start()


def test_supervisor_child_killed_is_started_again(tmp_path: Path):
    supervisor = Supervisor([Program("a", FOREVER)], tmp_path)
    supervisor.start()
    child = supervisor.children[0]
    assert child.process
    first = child.process.pid
    os.kill(first, signal.SIGKILL)

    def is_another() -> bool:
        return child.process is not None and child.process.pid != first

    end_soon(supervisor, is_another)

    status = supervisor.watch()
    started_again = is_another()
    supervisor.stop()

    assert (status, started_again) == (0, True)


HOPELESS = [sys.executable, "-c", "raise SystemExit(3)"]


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_DELAY", 0.01)


@pytest.mark.usefixtures("_hurried")
def test_supervisor_web_server_that_never_works_is_given_up_with_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    supervisor = Supervisor([Program("web", HOPELESS), Program("worker", FOREVER)], tmp_path)
    supervisor.start()

    status = supervisor.watch()
    supervisor.stop()

    output = capfd.readouterr().err
    assert (
        status,
        "web exited with status 3" in output,
        "web keeps exiting; giving up" in output,
    ) == (1, True, True)


@pytest.mark.usefixtures("_hurried")
@pytest.mark.parametrize("hopeless", ["web", "worker"])
def test_supervisor_children_that_keep_ending_do_not_end_a_site_that_has_worked(
    hopeless: str, tmp_path: Path
):
    programs = [
        Program(name, HOPELESS if name == hopeless else FOREVER) for name in ("web", "worker")
    ]
    supervisor = Supervisor(programs, tmp_path)
    supervisor.start()
    supervisor.record_ready()
    dying = next(child for child in supervisor.children if child.program.name == hopeless)
    end_soon(supervisor, lambda: dying.backoff.ends > MAX_FAILED_STARTS)

    status = supervisor.watch()
    supervisor.stop()

    assert (status, dying.backoff.ends > MAX_FAILED_STARTS) == (0, True)


def start_left_over() -> "subprocess.Popen[bytes]":
    """Start what an earlier supervisor left. For a moment after its start, a process shows no command yet."""
    process = subprocess.Popen(FOREVER)
    until(lambda: "marked" in psutil.Process(process.pid).cmdline())
    return process


def test_supervisor_next_start_ends_what_an_earlier_one_left(tmp_path: Path):
    left_over = start_left_over()
    (tmp_path / "a.pid").write_text(str(left_over.pid))

    supervisor = Supervisor([Program("a", FOREVER, command_marker="marked")], tmp_path)
    supervisor.start()
    supervisor.stop()

    gone = not alive(left_over.pid)
    left_over.wait(90)
    assert gone


def test_supervisor_next_start_ends_all_of_more_web_processes_than_it_starts(tmp_path: Path):
    left_over = start_left_over()
    (tmp_path / "web-3.pid").write_text(str(left_over.pid))

    supervisor = Supervisor([Program("web", FOREVER, command_marker="marked")], tmp_path)
    supervisor.start()
    supervisor.stop()

    gone = not alive(left_over.pid)
    left_over.wait(90)
    assert (gone, list(tmp_path.glob("*.pid"))) == (True, [])


def test_supervisor_pid_file_that_names_a_stranger_harms_nobody(tmp_path: Path):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (tmp_path / "a.pid").write_text(str(stranger.pid))

    supervisor = Supervisor([Program("a", FOREVER, command_marker="marked")], tmp_path)
    supervisor.start()
    supervisor.stop()

    unharmed = stranger.poll() is None
    stranger.kill()
    stranger.wait()
    assert unharmed


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word to children is Linux's")
def test_supervisor_killed_takes_its_children_along(tmp_path: Path):
    script = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from config.embedded.supervisor import Program, Supervisor
        supervisor = Supervisor([Program("a", {FOREVER!r})], Path({str(tmp_path)!r}))
        supervisor.start()
        supervisor.watch()
    """)
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    pid_file = tmp_path / "a.pid"
    until(lambda: pid_file.exists() and pid_file.read_text().isdecimal())
    child = int(pid_file.read_text())

    parent.kill()
    parent.wait()

    until(lambda: not alive(child))
