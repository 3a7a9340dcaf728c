"""With small programs in place of the web server and the worker; test_up.py has the real ones."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from config.embedded.supervisor import Program, Supervisor


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


def until(what, *, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


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


def test_supervisor_child_killed_is_started_again(tmp_path: Path):
    supervisor = Supervisor([Program("a", FOREVER)], tmp_path)
    supervisor.start()
    child = supervisor.children[0]
    assert child.process
    first = child.process.pid
    os.kill(first, signal.SIGKILL)
    until(child.has_died)

    assert supervisor._restart(child)
    second = child.process.pid
    supervisor.stop()

    assert first != second


def test_supervisor_child_that_keeps_dying_is_given_up_with_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    supervisor = Supervisor(
        [Program("hopeless", [sys.executable, "-c", "raise SystemExit(3)"])], tmp_path
    )
    monkeypatch.setattr(supervisor._ending, "wait", lambda seconds: time.sleep(min(seconds, 0.01)))
    supervisor.start()

    status = supervisor.watch()
    supervisor.stop()

    assert (status, "hopeless keeps exiting (status 3); giving up" in capfd.readouterr().err) == (
        1,
        True,
    )


def test_supervisor_next_start_ends_what_an_earlier_one_left(tmp_path: Path):
    left_over = subprocess.Popen(FOREVER)
    (tmp_path / "a.pid").write_text(str(left_over.pid))

    supervisor = Supervisor([Program("a", FOREVER, command_marker="marked")], tmp_path)
    supervisor.start()
    supervisor.stop()

    gone = not alive(left_over.pid)
    left_over.wait(5)
    assert gone


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

    until(lambda: not alive(child), seconds=5)
