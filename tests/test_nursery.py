"""One nursery serves all test sessions of a run; what it forked goes with the session that asked for it."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from config.embedded.programs import build_worker
from config.env import env
from tests.support import servers
from tests.support.nursery import Forked, Nurseries, is_fixed
from tests.support.waiting import until


STAYS = "import signal; print('there', flush=True); signal.pause()"


@pytest.fixture
def session() -> Iterator[Nurseries]:
    """Of another worker."""
    with closing(Nurseries()) as opened:
        yield opened


def start(nurseries: Nurseries, folder: Path) -> Forked:
    """A process that has told that it is there, with the settings of a worker, so that the run's nursery serves it."""
    folder.mkdir()
    surroundings = {
        **os.environ,
        **build_worker(env()).environment,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": servers.place().build_database_url("mnemoflow_app", servers.TEMPLATE),
    }
    out = folder / "out"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", STAYS]
    process = nurseries.start(command, surroundings, out, folder / "error")
    until(lambda: out.exists() and "there" in out.read_text(), why="it doesn't come up")
    return process


def test_two_sessions_share_a_nursery_and_each_takes_its_own_along(
    django_db_setup: None, nurseries: Nurseries, session: Nurseries, tmp_path: Path
):
    first, second = start(nurseries, tmp_path / "first"), start(session, tmp_path / "second")
    children = [psutil.Process(process.pid) for process in (first, second)]
    assert children[0].ppid() == children[1].ppid()

    session.close()

    until(lambda: not children[1].is_running(), why="it outlives its session")
    assert first.poll() is None
    first.kill()
    assert first.wait() == -9


def test_what_a_worker_or_a_phase_is_called_needs_no_nursery_of_its_own():
    names = ("PYTEST_XDIST_WORKER", "TEST_PHASE", "TEST_RECORD", "DATABASE_URL")

    assert [is_fixed(name, "x") for name in names] == [False] * 4
    assert is_fixed("MEMORY_ENABLED", "0")
    assert is_fixed("BROKER_URL", "amqp://127.0.0.1")
