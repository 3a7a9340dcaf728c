"""Folders for servers of a test's own: short enough for a unix socket, ended however the test ends."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.embedded.valkey import Valkey
from config.env import ROOT


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mnemo-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    at = find_layout(folder)
    Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log").stop()
    Postgres(at.pg_data, at.sockets, at.logs / "postgres.log").stop()
    shutil.rmtree(folder, ignore_errors=True)


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

    def address(self, *, seconds: float = 180) -> str:
        """The one it prints."""
        until = time.monotonic() + seconds
        while "Press Ctrl-C to stop" not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < until, self.output
            time.sleep(0.05)
        return next(
            line.strip() for line in self.output.splitlines() if line.strip().startswith("http")
        )


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
