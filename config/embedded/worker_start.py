"""Waits until a worker that was started has reported, so that `manage.py up` says "ready" when runs begin at once."""

import time
from collections.abc import Callable
from datetime import datetime

from django.db import Error as DatabaseError
from django.db import connection

from config.embedded.start_times import WORKER_START_SECONDS
from config.embedded.supervisor import Supervisor


READ_CLOCK = "select clock_timestamp()"
FIND_NEW_WORKER = "select exists (select from workflows_worker where started_at >= %s)"


def read_database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        (now,) = cursor.fetchone()
    return now  # type: ignore[no-any-return]  # a row is untyped


def has_worker_since(start: datetime) -> bool:
    """Return whether a worker has reported that was started since then. An outage of the database is no answer."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(FIND_NEW_WORKER, [start])
            (is_there,) = cursor.fetchone()
    except DatabaseError:
        connection.close()
        return False
    return bool(is_there)


def wait_for_worker(
    supervisor: Supervisor,
    has_worker: Callable[[], bool],
    *,
    timeout: float = WORKER_START_SECONDS,
) -> bool:
    """Keep the programs running until a worker has reported. Return False after the time-out or at the end."""
    deadline = time.monotonic() + timeout
    while not has_worker():
        if time.monotonic() >= deadline or not supervisor.keep_running():
            return False
    return True
