"""Tells an outage of the product's own database from an error of the work, and waits until it is over.

An outage isn't the fault of a request or a run: a request is answered with 503, and a step of a run is tried again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar

import django.db
import psycopg
import structlog


T = TypeVar("T")

log = structlog.get_logger(__name__)

RETRY_AFTER: Final = 2  # seconds; the value of the header of 503 responses
FIRST_DELAY, MAX_DELAY = 0.1, 2.0  # seconds between two attempts

# SQLSTATEs of a server that is stopping, starting, or has no connection left, see PostgreSQL's appendix A.
_OUTAGE_STATES: Final = frozenset({"57P01", "57P02", "57P03", "53300"})
_CONNECTION_CLASS: Final = "08"
_POSTGRES_ERRORS = (psycopg.OperationalError, psycopg.InterfaceError)


def is_outage(error: BaseException) -> bool:
    """Return whether the error, or one that caused it, says that our database can't be reached."""
    return any(_is_outage(each) for each in _list_causes(error))


async def retry_during_outage(
    call: Callable[[], Awaitable[T]], is_temporary: Callable[[BaseException], bool] = is_outage
) -> T:
    """Await ``call()``, and again with growing delays while our database is away, until the task is cancelled.

    ``is_temporary`` may name further errors that pass by themselves. A call whose commit succeeded but whose reply was lost is repeated, so it must recognize its own earlier effect.
    """
    delay = FIRST_DELAY
    while True:
        try:
            return await call()
        except Exception as error:
            if not is_temporary(error):
                raise
            log.warning("outage", why=type(error).__name__)
        await asyncio.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
        delay = min(delay * 2, MAX_DELAY)


def _is_outage(error: BaseException) -> bool:
    if isinstance(error, _POSTGRES_ERRORS):
        state = error.sqlstate
        # Without a state, the error is the driver's own: the connection broke or couldn't be made.
        return state is None or state in _OUTAGE_STATES or state.startswith(_CONNECTION_CLASS)
    # "connection already closed", which Django raises by itself
    return isinstance(error, django.db.InterfaceError) and error.__cause__ is None


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    visited_ids: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited_ids:
        visited_ids.add(id(current))
        yield current
        current = current.__cause__
