"""`make run` and `make test` in clones that other accounts may not enter, as root's folder is on most machines.

As root, PostgreSQL runs as a user who may not enter such a folder either. The clones have long paths with spaces and
Chinese, and the two accounts run at the same time.
"""

import os
import shutil
import signal
import socket
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.program_copies import is_package_open
from tests.config.embedded.clones import VERSION, Clone, list_accounts, make_clone
from tests.config.embedded.conftest import wait_for_address
from tests.support.waiting import until


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(500),  # each makes a database for two accounts
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
# Services of its own, and one connection that commits.
SMALL_TEST = "tests/config/test_database.py"


@pytest.fixture(scope="module")
def clones(clean_system_home: None) -> Iterator[list[Clone]]:
    made: list[Clone] = []
    try:
        for account in list_accounts():
            parent = Path(tempfile.mkdtemp(prefix="mnemo-", dir="/tmp"))
            made.append(make_clone(parent, account))
        yield made
    finally:
        for clone in made:
            clone.remove()


def test_make_run_works_in_closed_clones_of_two_accounts_at_once(
    clones: list[Clone], tmp_path: Path
):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        command = ["make", "run", f"ARGS=--port {somebody.getsockname()[1]}"]
        logs = [tmp_path / f"{clone.account.name}.log" for clone in clones]
        starts = [clone.start(command, log) for clone, log in zip(clones, logs, strict=True)]
        addresses = [wait_for_address(*start) for start in zip(starts, logs, strict=True)]

    assert len(set(addresses)) == len(clones)
    for clone, address in zip(clones, addresses, strict=True):
        assert len(os.fsencode(clone.folder)) >= 150
        assert clone.folder.parent.stat().st_mode & 0o777 == 0o700  # nothing has opened it
        assert not is_package_open(clone.folder / ".venv" / "lib" / VERSION / "site-packages")
        with urllib.request.urlopen(address, timeout=90) as response:
            assert response.status == 200

    for process in starts:
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
        process.wait(90)
    # `make` may end before the program that it has started.
    until(lambda: not any(clone.list_processes() for clone in clones))
    skip_unless_both(clones)


def test_make_test_works_in_closed_clones_of_two_accounts_at_once(
    clones: list[Clone], tmp_path: Path
):
    # What `make` would install for other tests is no part of this one.
    command = ["make", "-o", "browser", "-o", "bubblewrap", "test", f"ARGS={SMALL_TEST}"]
    logs = [tmp_path / f"{clone.account.name}.log" for clone in clones]
    runs = [clone.start(command, log) for clone, log in zip(clones, logs, strict=True)]

    statuses = [run.wait(240) for run in runs]

    assert statuses == [0] * len(clones), "\n".join(log.read_text()[-3000:] for log in logs)
    assert ["5 passed" in log.read_text() for log in logs] == [True] * len(clones)
    assert [clone.list_processes() for clone in clones] == [[] for _clone in clones]
    skip_unless_both(clones)


def skip_unless_both(clones: list[Clone]) -> None:
    """Say what this machine couldn't show, after everything else has been asserted."""
    if len(clones) < 2:
        pytest.skip("only root can start commands as a second account; those of this one work")
