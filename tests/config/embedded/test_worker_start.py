"""`manage.py up` says that it is ready when a worker has reported, and waits for it no longer than a given time."""

import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from config.embedded.supervisor import Program, Supervisor
from config.embedded.worker_start import has_worker_since, read_database_clock, wait_for_worker


SHORT = [sys.executable, "-c", "pass"]


@pytest.fixture(autouse=True)
def _signals():
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.fixture
def supervisor(tmp_path: Path):
    supervisor = Supervisor([Program("web", SHORT)], tmp_path)
    supervisor.start()
    yield supervisor
    supervisor.stop()


def test_wait_ends_when_the_worker_has_reported(supervisor: Supervisor):
    reports = [False, False, True]

    assert wait_for_worker(supervisor, lambda: reports.pop(0), timeout=float("inf"))
    assert reports == []


def test_wait_ends_after_the_time_out(supervisor: Supervisor):
    assert not wait_for_worker(supervisor, lambda: False, timeout=0)


def test_wait_ends_when_the_end_is_requested(supervisor: Supervisor):
    supervisor._handle_signal(signal.SIGINT, None)

    assert not wait_for_worker(supervisor, lambda: False, timeout=float("inf"))


def test_wait_starts_a_program_again_that_has_ended(supervisor: Supervisor):
    """A worker that crashes at its start would otherwise never report."""
    first = supervisor.children[0].process

    def is_another_process() -> bool:
        return supervisor.children[0].process is not first

    assert wait_for_worker(supervisor, is_another_process, timeout=float("inf"))


def test_report_of_an_earlier_worker_does_not_count(db: None):
    """One that was killed is still listed for some seconds, and runs nothing."""
    with connection.cursor() as cursor:
        cursor.execute("select execution_report_worker('earlier', 4, 0)")
    start = read_database_clock()

    before = has_worker_since(start)
    with connection.cursor() as cursor:
        cursor.execute("select execution_report_worker('later', 4, 0)")

    assert (before, has_worker_since(start)) == (False, True)
    assert has_worker_since(start - timedelta(days=1))
