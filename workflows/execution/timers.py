"""Timers: queues paused runs whose time has come, such as the end of a delay or the time to answer a question.

Every worker does this, with or without a broker and beat, and the database decides which of them queues a run. A worker
sleeps until the next run is due, a second at most. What became due while no worker was there is queued once, when one is
there again.

They also do the work by the clock that plugs itself in. Beat asks for the same, and whoever comes first locks the row.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import Error as DatabaseError
from psycopg_pool import PoolTimeout

from workflows.execution.db import Database
from workflows.execution.threads import run_in_thread
from workflows.execution.wake_up import wake_workers


log = logging.getLogger(__name__)

FIRE: Final = "select fired, next_in from execution_fire_timers(%s)"
BATCH_SIZE: Final = 500  # runs in one transaction
MAX_SLEEP: Final = (
    1.0  # seconds, because a run that pauses now may be due before the next one that is known
)
_MIN_SLEEP: Final = 0.01
_LATE: Final = 0.002  # seconds after a run's time, so that it is surely due


@dataclass(frozen=True, slots=True)
class PluggedWork:
    """Work by the clock that lies above this package: schedules, and webhooks out.

    ``due`` is a statement that returns whether something is due, and the seconds until the next time. ``function`` does what is
    due, and closes its connection.
    """

    name: str
    due: str
    function: Callable[[], object]


_works: list[PluggedWork] = []


async def fire_timers_forever(
    db: Database, is_stopping: Callable[[], bool], start: Callable[[Sequence[UUID]], Sequence[UUID]]
) -> None:
    """Queue due runs until cancelled. ``start`` executes some of them in this worker, and returns the others."""
    while True:
        seconds = MAX_SLEEP
        if not is_stopping():
            try:
                seconds = await _fire(db, start)
            except (DatabaseError, PoolTimeout, OSError) as error:
                log.warning("timers_delayed", extra={"why": str(error)})
            except Exception:
                log.exception("timers_failed")
        await asyncio.sleep(seconds)


async def _fire(db: Database, start: Callable[[Sequence[UUID]], Sequence[UUID]]) -> float:
    """Queue a batch of due runs, and return the seconds until the next call."""
    ((fired, next_in),) = await db.fetch_rows(FIRE, (BATCH_SIZE,))
    if fired:
        remaining = start(fired)
        await run_in_thread(wake_workers, remaining)
        return _MIN_SLEEP if len(fired) == BATCH_SIZE else 0.1
    return min(max(next_in + _LATE, _MIN_SLEEP), MAX_SLEEP) if next_in is not None else MAX_SLEEP


def plug_in(work: PluggedWork) -> None:
    """Let workers do this work whenever something of it is due."""
    if work not in _works:
        _works.append(work)


def list_plugged_work() -> list[PluggedWork]:
    return [*_works]


async def work_when_due_forever(
    db: Database, is_stopping: Callable[[], bool], work: PluggedWork
) -> None:
    """Do the work whenever something of it is due, until cancelled."""
    while True:
        seconds = MAX_SLEEP
        if not is_stopping():
            try:
                seconds = await _work_when_due(db, work)
            except (DatabaseError, PoolTimeout, OSError) as error:
                log.warning("timers_delayed", extra={"why": str(error), "work": work.name})
            except Exception:
                log.exception("timers_failed", extra={"work": work.name})
        await asyncio.sleep(seconds)


async def _work_when_due(db: Database, work: PluggedWork) -> float:
    """Do what is due, and return the seconds until the next call."""
    ((is_due, next_in),) = await db.fetch_rows(work.due, ())
    if is_due:
        # In a thread of asyncio's own: the few threads for runs don't wait for other people's servers.
        await asyncio.to_thread(work.function)
        return MAX_SLEEP
    return min(max(next_in + _LATE, _MIN_SLEEP), MAX_SLEEP) if next_in is not None else MAX_SLEEP
