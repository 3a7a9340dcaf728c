import django.db
import psycopg
import pytest
from psycopg_pool import PoolTimeout

from config.postgres import outages
from config.postgres.outages import is_outage, retry_during_outage
from tests.support.cases import for_each


def wrap(error: Exception) -> django.db.OperationalError:
    """As Django raises the driver's errors."""
    wrapped = django.db.OperationalError(str(error))
    wrapped.__cause__ = error
    return wrapped


@for_each(
    "error, expected",
    [
        (psycopg.OperationalError("the connection is lost"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CrashShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.ConnectionFailure(), True),
        (psycopg.errors.TooManyConnections(), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (PoolTimeout(), True),
        (wrap(psycopg.OperationalError("server closed the connection unexpectedly")), True),
        (django.db.InterfaceError("connection already closed"), True),
        (psycopg.errors.DeadlockDetected(), False),
        (wrap(psycopg.errors.DeadlockDetected()), False),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.DiskFull(), False),
        (psycopg.errors.UniqueViolation(), False),
        (ConnectionRefusedError(), False),
        (ValueError(), False),
    ],
)
def test_outage_is_told_from_errors_of_the_work(error: Exception, expected: bool):
    assert is_outage(error) is expected


def test_outage_that_caused_another_error_is_found():
    error = RuntimeError("the step failed")
    error.__cause__ = wrap(psycopg.errors.AdminShutdown())

    assert is_outage(error)


async def test_call_is_repeated_until_the_database_is_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outages, "FIRST_DELAY", 0.001)
    errors: list[Exception] = [psycopg.errors.AdminShutdown(), psycopg.errors.CannotConnectNow()]

    async def call() -> str:
        if errors:
            raise errors.pop()
        return "done"

    assert (await retry_during_outage(call), errors) == ("done", [])


async def test_call_that_fails_by_itself_is_not_repeated():
    calls = 0

    async def call() -> None:
        nonlocal calls
        calls += 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await retry_during_outage(call)
    assert calls == 1
