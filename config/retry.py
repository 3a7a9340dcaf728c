"""A transaction that lost against another one is tried again, if all of it is ours.

With one order of locks (docs/adr/0009-one-order-of-locks.md) two that wait for each other should be rare; PostgreSQL ends one
of them, and for that one nothing has happened yet. Inside a transaction that somebody else began nothing can
be tried again here: what they did before is gone as well, and only they know what that was.
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

LOST: Final = {"40P01": "deadlock", "40001": "serialization"}
# Seconds before each further try. Whoever won needs a moment to end; one of two was ended, so they don't meet again.
WAITS: Final = (0.01, 0.05, 0.25)


def tried_again(work: Callable[P, T]) -> Callable[P, T]:
    """For what opens a transaction, does all it does in there, and takes nothing that it uses up."""

    @wraps(work)
    def trying(*args: P.args, **kwargs: P.kwargs) -> T:
        if connection.in_atomic_block:
            return work(*args, **kwargs)
        for wait in WAITS:
            try:
                return work(*args, **kwargs)
            except OperationalError as error:
                if (why := why_lost(error)) is None:
                    raise
                log.warning("transaction_lost", work=work.__qualname__, why=why)
                time.sleep(wait)
        return work(*args, **kwargs)

    return trying


def why_lost(error: OperationalError) -> str | None:
    """None: it failed for another reason, which would be the same the next time."""
    return LOST.get(getattr(error.__cause__, "sqlstate", None) or "")
