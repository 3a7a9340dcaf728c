"""Folders for servers of a test's own: short enough for a unix socket, ended however the test ends."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded import program_copies
from config.embedded.layout import SYSTEM_HOME, find_layout
from config.embedded.postgres import Postgres
from config.embedded.valkey import Valkey
from config.env import ROOT
from tests.support.waiting import until


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mnemo-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    stop_services(folder)
    shutil.rmtree(folder, ignore_errors=True)


def stop_services(home: Path) -> None:
    """End what runs in this home folder, and remove what it has elsewhere."""
    at = find_layout(home)
    Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log").stop()
    Postgres(at.pg_data, at.sockets, at.logs / "postgres.log").stop()
    for folder in (at.server_home, at.sockets):
        if not folder.is_relative_to(home):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def clean_system_home() -> Iterator[None]:
    """The machine's own folder for copies of the programs, which has no more of them afterwards than before."""
    copies = SYSTEM_HOME / "programs"
    before = set(copies.iterdir()) if copies.exists() else set()
    yield
    for copy in list(program_copies._used):
        if copy not in before:
            program_copies._release(copy)
    if copies.exists():
        with program_copies._hold_lock(SYSTEM_HOME / "programs.lock"):
            for copy in set(copies.iterdir()) - before:
                if not program_copies._is_used(copy):
                    shutil.rmtree(copy)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """As a person's shell has it, with only the home folder moved."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "SECRET_"))
    }
    return {
        **ours,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "MNEMOFLOW_HOME": str(home),
        "PYTHONUNBUFFERED": "1",
        "WEB_PROCESSES": "1",  # several have tests of their own
    }


class Up:
    """`manage.py up` as a process, its output in a file."""

    def __init__(self, environment: dict[str, str], log: Path, *arguments: str) -> None:
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", *arguments],
                cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self.log.read_text()

    def address(self) -> str:
        """The one it prints."""
        return wait_for_address(self.process, self.log)


def wait_for_address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the address that `manage.py up` prints once the site is ready."""

    def is_ready() -> bool:
        text = log.read_text()
        assert process.poll() is None, text
        return "Press Ctrl-C to stop" in text

    until(is_ready, why=f"no address in {log}", seconds=240)
    lines = [line.strip() for line in log.read_text().splitlines()]
    return next(line for line in lines if line.startswith("http"))


@pytest.fixture
def up(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*arguments: str) -> Up:
        started.append(Up(environment, tmp_path / f"up-{len(started)}.log", *arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(90)
