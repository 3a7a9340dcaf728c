"""Retries a transaction that lost a conflict with another transaction, if it began inside the decorated function.

With one order of locks (docs/adr/0009-one-order-of-locks.md) deadlocks should be rare; PostgreSQL aborts one of the
two transactions, which then has had no effect. A transaction that the caller began can't be retried here: the
caller's work is rolled back as well, and only the caller can repeat it.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import structlog
from django.db import OperationalError, connection


P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger(__name__)

CONFLICTS: Final = {"40P01": "deadlock", "40001": "serialization"}
# Seconds before each retry, so that the transaction that won the conflict can end first.
RETRY_DELAYS: Final = (0.01, 0.05, 0.25)


def retry_on_conflict(work: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that does all its work in a transaction of its own and may be called again with its arguments."""

    @wraps(work)
    def run_with_retries(*args: P.args, **kwargs: P.kwargs) -> T:
        if connection.in_atomic_block:
            return work(*args, **kwargs)
        for delay in RETRY_DELAYS:
            try:
                return work(*args, **kwargs)
            except OperationalError as error:
                if (conflict := find_conflict(error)) is None:
                    raise
                log.warning("transaction_lost", work=work.__qualname__, why=conflict)
                time.sleep(delay)
        return work(*args, **kwargs)

    return run_with_retries


def find_conflict(error: OperationalError) -> str | None:
    """Return the name of the conflict, or None if the error has another cause, so that a retry wouldn't help."""
    return CONFLICTS.get(getattr(error.__cause__, "sqlstate", None) or "")
