"""What a runner could do if a template did escape: nothing. And what the parent does with a liar."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.waiting import LIMIT
from workflows.engine.errors import TemplateFailed
from workflows.sandbox import frames, process
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import JobNotTaken, Runner, RunnerGone, RunnerLate
from workflows.sandbox.templates import _read_reply


ROOT = Path(process.__file__).resolve().parents[2]

# Code that already runs freely inside the interpreter tries the world outside it.
PROBE = """
import sys; sys.path.append(sys.argv[1]); port = int(sys.argv[2]); parent = int(sys.argv[3])
import ctypes, json, os, resource, socket, subprocess, signal
from workflows.sandbox import rendering, restrictions
standing = restrictions.restrict_process()
def attempt(act):
    try:
        return repr(act())
    except BaseException as error:
        return "refused: " + type(error).__name__
results = {
    "read file": attempt(lambda: open("/etc/passwd").read()),
    "read environment of parent": attempt(lambda: open(f"/proc/{parent}/environ").read()),
    "list root": attempt(lambda: os.listdir("/")),
    "write file": attempt(lambda: open(f"/tmp/mnemoflow-escaped-{parent}", "w")),
    "connect": attempt(lambda: socket.create_connection(("127.0.0.1", port), 1)),
    "unix socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
    "fork": attempt(os.fork),
    "exec": attempt(lambda: os.execv("/bin/true", ["true"])),
    "spawn": attempt(lambda: subprocess.run(["/bin/true"])),
    "kill parent": attempt(lambda: os.kill(parent, 0)),
    "limits of parent": attempt(lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE)),
    "more memory": attempt(lambda: bytearray(400 * 1024 * 1024)),
    "duplicate pipe": attempt(lambda: os.dup(1)),
    "trace": attempt(lambda: {-1: 1 / 0}.get(ctypes.CDLL(None).ptrace(16, parent, 0, 0), 0)),
    "chmod": attempt(lambda: os.chmod("/tmp", 0o777)),
}
os.write(1, json.dumps({"walls": standing, "results": results, "env": dict(os.environ)}).encode())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are made of Linux")
def test_code_inside_a_runner_reaches_nothing_outside(walls_around: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        words = [str(ROOT), port, str(os.getpid())]
        probe = [*process.get_jail(), sys.executable, "-I", "-c", PROBE, *words]
        done = subprocess.run(probe, env={}, capture_output=True, timeout=120, check=True)
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    found = json.loads(done.stdout)

    reached = {name for name, text in found["results"].items() if not text.startswith("refused: ")}
    assert reached == set()
    # Root has no other user to become inside a jail: its user namespace has no capabilities.
    expected = ["memory", "limits", "user", "privileges", "syscalls"]
    if walls_around == "bubblewrap" and os.geteuid() == 0:
        expected.remove("user")
    assert found["walls"] == expected
    assert not [name for name in found["env"] if name not in ("LC_CTYPE", "PWD")]


def test_runner_starts_with_an_empty_environment_in_a_group_of_its_own(
    walls_around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://canary-secret@db/x")
    runner = Runner()
    try:
        family = [psutil.Process(runner.pid), *psutil.Process(runner.pid).children(recursive=True)]
        assert {os.getpgid(member.pid) for member in family} == {runner.pid}
        assert "syscalls" in runner.restrictions
        if os.geteuid() == 0:
            # Bubblewrap waits outside the jail, with two descriptors of its own (a signal, an event).
            # What it starts has the three pipes only.
            program = Path(f"/proc/{family[-1].pid}")
            assert len(family) == {"plain": 1, "bubblewrap": 3}[walls_around]
            for member in family:
                assert b"canary" not in Path(f"/proc/{member.pid}/environ").read_bytes()
            assert program.stat().st_uid in (0, 65534)
            assert sorted(fd.name for fd in (program / "fd").iterdir()) == ["0", "1", "2"]
    finally:
        runner.kill()


def test_runner_whose_parent_lets_go_ends_by_itself(walls_around: str) -> None:
    runner = Runner()

    runner.close_pipes()

    assert runner._process.wait(timeout=LIMIT) == 0


STALL = "threading.Event().wait()"  # for ever


def _liar(
    monkeypatch: pytest.MonkeyPatch, after_job: str, *, taken: bytes = frames.TAKEN
) -> Runner:
    """A runner that greets politely, takes a job and then runs ``after_job``."""
    code = (
        "import os, sys, json, threading\n"
        "def send(b): os.write(1, len(b).to_bytes(4, 'big') + b)\n"
        'send(b\'{"ok": true, "walls": []}\')\n'
        "os.read(0, 65536)\n"
        f"os.write(1, {taken!r})\n" + after_job
    )
    monkeypatch.setattr(
        process, "build_command", lambda _program: [sys.executable, "-I", "-c", code]
    )
    return Runner()


@pytest.mark.parametrize(
    "lie",
    [
        "os.write(1, b'\\xff\\xff\\xff\\xff' + b'a' * 60000)",  # 4 GB announced
        "send(b'not json')",
        "send(b'[1, 2]')",
        "send(b'[' * 100000)",
        "os.write(1, b'\\x00\\x00')",  # half a header, then gone
        "os.write(1, (100).to_bytes(4, 'big') + b'{}')",
        "pass",
    ],
)
def test_reply_that_is_no_frame_counts_as_a_dead_runner(
    monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    runner = _liar(monkeypatch, lie)
    try:
        with pytest.raises(RunnerGone):
            runner.call({"job": "template"}, seconds=60)
    finally:
        runner.kill()


@pytest.mark.parametrize("taken", [b"{", b"\x00"])
def test_runner_that_says_something_else_than_that_it_took_the_job_counts_as_dead(
    monkeypatch: pytest.MonkeyPatch, taken: bytes
) -> None:
    runner = _liar(monkeypatch, STALL, taken=taken)
    try:
        with pytest.raises(RunnerGone) as failed:
            runner.call({"job": "template"}, seconds=60)
    finally:
        runner.kill()

    assert not isinstance(failed.value, JobNotTaken)  # it may have begun with it


def test_job_that_no_runner_took_may_be_given_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = _liar(monkeypatch, "", taken=b"")
    try:
        with pytest.raises(JobNotTaken):
            runner.call({"job": "template"}, seconds=60)
    finally:
        runner.kill()


def test_job_that_ends_its_runner_is_not_given_to_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    runner = _liar(monkeypatch, f"open({str(done)!r}, 'a').write('once ')")
    runner.kill()
    pool = RunnerPool(1)

    with pytest.raises(RunnerGone):
        pool.call_sync({"job": "template"}, 60)

    assert done.read_text() == "once "
    pool.close()


@pytest.mark.parametrize("stall", [STALL, f"os.write(1, b'\\x00'); {STALL}"])
def test_runner_that_stalls_is_late_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, stall: str
) -> None:
    runner = _liar(monkeypatch, stall)
    try:
        with pytest.raises(RunnerLate):
            runner.call({"job": "template"}, seconds=0.3)
    finally:
        runner.kill()

    assert not Path(f"/proc/{runner.pid}").exists()


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"ok": 1, "text": "x"},
        {"ok": True, "text": 5},
        {"ok": True, "text": "x" * 1_000_001},
        {"ok": False, "kind": ["a"], "message": {"b": 1}, "line": "9"},
        {"ok": False, "kind": "other", "message": "{0.__class__}"},
    ],
)
def test_reply_of_the_wrong_shape_is_a_failure_with_a_sentence(reply: dict[str, Any]) -> None:
    with pytest.raises(TemplateFailed) as failed:
        _read_reply(reply)

    assert failed.value.message.startswith("The template")


def test_runner_that_is_killed_takes_everything_it_started_along(walls_around: str) -> None:
    runner = Runner("code_child")
    family = psutil.Process(runner.pid).children(recursive=True)

    runner.kill()

    assert family
    assert not psutil.pid_exists(runner.pid)
    _gone, alive = psutil.wait_procs(family, timeout=LIMIT)
    assert [member for member in alive if member.status() != psutil.STATUS_ZOMBIE] == []


def test_runner_that_was_killed_is_not_killed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be that of another process by then."""
    runner = Runner()
    runner.kill()
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda number, _signal: killed.append(number))

    runner.kill()
    runner.interrupt()

    assert killed == []


def test_pool_replaces_a_runner_that_failed(walls_around: str) -> None:
    pool = RunnerPool(1)
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(RunnerLate):
        pool.call_sync({"job": "template", "template": endless, "inputs": {}}, 0.3)

    assert pool.list_pids() == []
    reply = pool.call_sync({"job": "template", "template": "{{ 1 + 1 }}", "inputs": {}}, 60)
    assert reply["text"] == "2"
    assert len(pool.list_pids()) == 1
    pool.close()


def test_frame_survives_the_trip() -> None:
    message = {"text": "é你\ud800", "n": [1, None]}
    data = frames.encode(message)

    assert frames.parse_length(data[:4], 1000) == len(data) - 4
    assert frames.decode(data[4:]) == message


def test_bubblewrap_that_does_not_work_here_is_passed_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    process.get_jail.cache_clear()
    try:
        assert process.build_command()[0] == sys.executable
    finally:
        process.get_jail.cache_clear()


def test_bubblewrap_that_works_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in = tmp_path / "bwrap"
    stand_in.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; exec "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    process.get_jail.cache_clear()
    try:
        command = process.build_command()
        runner = Runner()
        runner.kill()
    finally:
        process.get_jail.cache_clear()

    assert command[0] == str(stand_in)
    assert {"--unshare-all", "--clearenv"} <= set(command)
    bound = [command[i + 1] for i, word in enumerate(command) if word == "--ro-bind-try"]
    assert str(ROOT) not in bound  # the project's folder holds settings and data
