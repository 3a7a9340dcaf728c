"""What an interpreter with a hole could do behind the outer walls: compute."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from workflows.sandbox import process
from workflows.sandbox.process import Runner


ROOT = Path(process.__file__).resolve().parents[2]
MONTY = Path(sys.prefix) / "bin" / "monty"

# Code that runs freely behind the walls, as if the interpreter were no wall at all.
PROBE = """
import sys; sys.path.append(sys.argv[1]); port = int(sys.argv[2]); parent = int(sys.argv[3])
from pathlib import Path
import json, os, resource, signal, socket, subprocess
from workflows.sandbox import inherited_restrictions
program = Path(sys.argv[4])
standing = inherited_restrictions.restrict_process_tree(program)
def attempt(act):
    try:
        return repr(act())
    except BaseException as error:
        return "refused: " + type(error).__name__
results = {
    "read a file": attempt(lambda: open("/etc/passwd").read()),
    "read the project": attempt(lambda: open(sys.argv[1] + "/pyproject.toml").read()),
    "environment of the parent": attempt(lambda: open(f"/proc/{parent}/environ").read()),
    "list the root": attempt(lambda: os.listdir("/")),
    "write a file": attempt(lambda: open(f"/tmp/mnemoflow-escaped-code-{parent}", "w").write("x")),
    "make a folder": attempt(lambda: os.mkdir(f"/tmp/mnemoflow-escaped-folder-{parent}")),
    "delete": attempt(lambda: os.unlink(sys.argv[5])),
    "connect": attempt(lambda: socket.create_connection(("127.0.0.1", port), 1)),
    "unix socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
    "another program": attempt(lambda: subprocess.run(["/bin/sh", "-c", "true"]).returncode),
    "kill the parent": attempt(lambda: os.kill(parent, signal.SIGUSR1)),
    "limits of the parent": attempt(lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE)),
    "more memory": attempt(lambda: bytearray(2_000_000_000)),
    "become root": attempt(lambda: os.setuid(0)),
}
version = subprocess.run([str(program), "--version"], capture_output=True, text=True)
print(json.dumps({"walls": standing, "results": results, "program": version.returncode}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are made of Linux")
def test_what_escapes_the_interpreter_reaches_nothing_outside(
    walls_around: str, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        words = [str(ROOT), port, str(os.getpid()), str(MONTY), str(victim)]
        done = subprocess.run(
            [*process.get_jail(), sys.executable, "-I", "-c", PROBE, *words],
            env={},
            capture_output=True,
            timeout=120,
            check=False,
        )
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if "files" not in found["walls"]:
        pytest.skip("this kernel has no Landlock")

    reached = {name for name, text in found["results"].items() if not text.startswith("refused: ")}
    # Root may set its own uid to what it is; behind the walls it is nobody, where that was possible.
    if os.geteuid() == 0 and "user" not in found["walls"]:
        reached -= {"become root"}
    assert reached == set()
    assert victim.exists()
    assert found["program"] == 0


def test_code_runner_names_its_walls_and_carries_no_environment(
    walls_around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://canary-secret@db/x")
    runner = Runner("code_child")
    try:
        family = [
            psutil.Process(runner.pid),
            *psutil.Process(runner.pid).children(recursive=True),
        ]
        environments = [Path(f"/proc/{member.pid}/environ") for member in family]
        said = [path.read_bytes() for path in environments] if os.geteuid() == 0 else []
        interpreter = family[-1]
        assert interpreter.name() == "monty"
        status = Path(f"/proc/{interpreter.pid}/status").read_text()
    finally:
        runner.kill()

    assert {"memory", "limits", "privileges", "syscalls"} <= set(runner.restrictions)
    assert not any(b"canary" in text for text in said)
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


def test_code_runner_is_started_in_bubblewrap_where_that_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in = tmp_path / "bwrap"
    stand_in.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; exec "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    process.get_jail.cache_clear()
    try:
        command = process.build_command("code_child")
        runner = Runner("code_child")
        runner.kill()
    finally:
        process.get_jail.cache_clear()

    assert command[0] == str(stand_in)
    assert "--unshare-all" in command
    assert "code_child" in command[-2]
