"""`make run` and `make test` in clones that other accounts may not enter, as root's folder is on most machines.

As root, PostgreSQL runs as a user who may not enter such a folder either. The clones have long paths with spaces and
Chinese, and the two accounts run at the same time.
"""

import os
import shutil
import signal
import socket
import subprocess
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
SMALL_TEST_PASSED = "5 passed"
# PostgreSQL and Valkey from the clone's own programs, without tables, which take longer than everything else.
SERVICES_TEST = "tests/config/embedded/test_postgres.py::test_postgres_does_not_run_as_root_and_lets_nobody_else_in"


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


@pytest.mark.nightly
def test_make_run_works_in_closed_clones_of_two_accounts_at_once(
    clones: list[Clone], tmp_path: Path
):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        taken = somebody.getsockname()[1]
        starts = [start_site(clone, taken, tmp_path) for clone in clones]
        addresses = [wait_for_address(*start) for start in starts]

    assert len(set(addresses)) == len(clones)
    for clone, address in zip(clones, addresses, strict=True):
        check_site(clone, address)
    for process, _log in starts:
        end_site(process)
    # `make` may end before the program that it has started.
    until(lambda: not any(clone.list_processes() for clone in clones))
    skip_unless_both(clones)


@pytest.mark.nightly
def test_make_test_works_in_closed_clones_of_two_accounts_at_once(
    clones: list[Clone], tmp_path: Path
):
    runs = [start_test(clone, tmp_path, SMALL_TEST) for clone in clones]

    check_tests(clones, runs, SMALL_TEST_PASSED)
    skip_unless_both(clones)


def test_make_run_and_make_test_work_in_closed_clones_of_two_accounts_at_once(
    clones: list[Clone], tmp_path: Path
):
    """By day each account does one of them, or one after the other where there is one account only."""
    site, tested = clones[0], clones[-1]
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        start, log = start_site(site, somebody.getsockname()[1], tmp_path)
        if tested is site:
            wait_for_address(start, log)
        run = start_test(tested, tmp_path, SERVICES_TEST)
        address = wait_for_address(start, log)

    check_site(site, address)
    run[0].wait(240)
    end_site(start)
    until(lambda: not site.list_processes())
    check_tests([tested], [run], "1 passed")
    skip_unless_both(clones)


Started = tuple["subprocess.Popen[bytes]", Path]


def start_site(clone: Clone, taken_port: int, folder: Path) -> Started:
    log = folder / f"{clone.account.name}-site.log"
    return clone.start(["make", "run", f"ARGS=--port {taken_port}"], log), log


def check_site(clone: Clone, address: str) -> None:
    assert len(os.fsencode(clone.folder)) >= 150
    assert clone.folder.parent.stat().st_mode & 0o777 == 0o700  # nothing has opened it
    assert not is_package_open(clone.folder / ".venv" / "lib" / VERSION / "site-packages")
    with urllib.request.urlopen(address, timeout=90) as response:
        assert response.status == 200


def end_site(process: "subprocess.Popen[bytes]") -> None:
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    process.wait(90)


def start_test(clone: Clone, folder: Path, tests: str) -> Started:
    # What `make` would install for other tests is no part of this one, and one worker is enough for a few tests.
    spared = ["-o", "browser", "-o", "bubblewrap"]
    command = ["make", *spared, "test", "WORKERS=1", f"ARGS={tests}"]
    log = folder / f"{clone.account.name}-test.log"
    return clone.start(command, log), log


def check_tests(clones: list[Clone], runs: list[Started], passed: str) -> None:
    said = [(run.wait(240), log.read_text()) for run, log in runs]
    assert [status for status, _text in said] == [0] * len(runs), "\n".join(
        text[-3000:] for _status, text in said
    )
    assert [passed in text for _status, text in said] == [True] * len(runs)
    assert [clone.list_processes() for clone in clones] == [[] for _clone in clones]


def skip_unless_both(clones: list[Clone]) -> None:
    """Say what this machine couldn't show, after everything else has been asserted."""
    if len(clones) < 2:
        pytest.skip("only root can start commands as a second account; those of this one work")
