"""Commands share the services and leave things as they found them; each is a process, as in life."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import get_commands

from config.embedded import session
from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.env import ROOT
from tests.config.embedded.conftest import stop_services


HOLD = "import sys; print('ready', flush=True); sys.stdin.readline()"


def postgres(home: Path) -> Postgres:
    at = find_layout(home)
    return Postgres(at.pg_data, at.sockets, at.logs / "postgres.log")


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@contextmanager
def holding(environment: dict[str, str]):
    """A command that uses the services until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"from config.embedded.session import run_services\nwith run_services(): {HOLD}"],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdin
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(90)
        process.stdout.close()


def test_command_under_a_strict_umask_starts_the_services_and_stops_them_again(
    home: Path, environment: dict[str, str]
):
    """Such as 077, which keeps PostgreSQL's user out of whatever root makes."""
    new_home = home / "new"
    code = "from django.db import connection as c; c.ensure_connection(); print(c.connection.info.user)"
    try:
        for _time in range(2):  # the second start finds the same data
            shown = subprocess.run(
                [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
                cwd=ROOT, env={**environment, "MNEMOFLOW_HOME": str(new_home)}, umask=0o077,
                capture_output=True, text=True, check=False, timeout=120,
            )  # fmt: skip
            assert (shown.stdout, shown.returncode) == ("mnemoflow_app\n", 0), shown.stderr
            assert postgres(new_home).find_process() is None
    finally:
        stop_services(new_home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a command as another user")
def test_command_in_the_home_of_another_account_says_what_to_do(
    home: Path, environment: dict[str, str]
):
    (home / "locks").mkdir()
    account = pwd.getpwnam("nobody")
    # It changes its user when it has loaded everything, for that user may not be able to read the environment.
    code = (
        "import os; from config.embedded.session import run_services; os.setgroups([]);"
        f"os.setgid({account.pw_gid}); os.setuid({account.pw_uid})\nwith run_services(): pass"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert f"{home}/locks/in-use can't be used: Permission denied" in done.stderr
    assert "set MNEMOFLOW_HOME to a folder of your own" in done.stderr


def test_commands_share_take_over_and_end_what_was_left(home: Path, environment: dict[str, str]):
    """One story in one folder, because the first start there takes the longest."""
    # One that is killed leaves the services, which don't block the next.
    with holding(environment) as killed:
        killed.kill()
        killed.wait()
    left = postgres(home).find_process()
    assert left is not None

    # Those beside each other share them, and none of them ends what the other uses; nor does `down`.
    with holding(environment):
        before = postgres(home).find_process()
        with holding(environment):
            pass
        refused = manage(environment, "down")
        assert postgres(home).find_process() == before == left
    assert "In use" in refused.stderr
    assert postgres(home).find_process() is None

    # What the last one leaves, `down` ends.
    with holding(environment) as killed:
        killed.kill()
        killed.wait()
    assert postgres(home).find_process() is not None
    ended = manage(environment, "down")
    assert ended.stdout == "No embedded services are running.\n"
    assert postgres(home).find_process() is None


def test_command_that_needs_no_database_starts_none(home: Path, environment: dict[str, str]):
    done = manage(environment, "migrate", "--help")

    assert (done.returncode, find_layout(home).pg_data.exists()) == (0, False)


def test_commands_without_services_exist():
    words = {
        "help",
        "version",
        "--version",
        "--help",
        "-h",
    }  # which Django understands without a command

    assert session.COMMANDS_WITHOUT_SERVICES - words <= set(get_commands())


@pytest.mark.parametrize(
    ("command", "starts"),
    [
        *((name, False) for name in ("", "help", "makemessages", "makemessages --help", "down")),
        *((name, False) for name in ("migrate --help", "up --help", "check")),
        *((name, True) for name in ("migrate", "shell", "up", "doctor")),
    ],
)
def test_services_are_for_commands_that_need_a_database(
    monkeypatch: pytest.MonkeyPatch, command: str, *, starts: bool
):
    started: list[object] = []

    @contextmanager
    def embedded_services(say: object) -> Iterator[None]:
        started.append(say)
        yield

    monkeypatch.setattr(session, "run_services", embedded_services)

    with session.run_services_for_command(["manage.py", *command.split()]):
        pass

    assert bool(started) == starts
