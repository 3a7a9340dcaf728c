"""Upkeep of the history of runs: creates the partitions of coming weeks, and deletes runs whose days are over.

A week whose days are over is dropped. Its runs that have to stay, because they failed, have not ended or belong to a
workflow that stores its runs for longer, are found by indexes, without reading the others. They move to the default
partition, where they are deleted one by one later. If they are very many, the week stays, and the others are deleted one
by one. See ``execution/sql/history.sql``.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from workflows.execution.history.test_calls import forget_old_test_calls
from workflows.execution.usage.counting import count_all_teams


WEEKS_AHEAD: Final = 2
LONG_RUN: Final = timedelta(
    hours=1
)  # a run that takes longer may outlive its week, see history.sql
MAX_MOVED: Final = (
    20_000  # runs that move to the default partition at once, while their week is locked
)
BATCH_SIZE: Final = 500  # runs that are deleted in one transaction
MAX_SECONDS: Final = 600.0  # after which the next call goes on with deleting one by one
LOCK_TRIES: Final = 5
LOCK_PAUSE: Final = 0.5
LOCK_NOT_AVAILABLE: Final = "55P03"
NO_ID: Final = UUID(int=0)

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Week:
    """The partitions of one week: its name, such as 20261123, and its end. The default partition is the week ""."""

    name: str
    ends_at: datetime | None
    size: int  # bytes on disk
    run_count: int  # as PostgreSQL estimates it

    def is_over(self, now: datetime, keep_days: int) -> bool:
        """Return whether the days of all runs are over that took no more than an hour."""
        if self.ends_at is None or not keep_days:
            return False
        return self.ends_at + LONG_RUN + timedelta(days=keep_days) <= now


def tidy_history() -> Counter[str]:
    """Do the upkeep once, and return how many weeks were added and dropped, and how many runs were deleted or moved."""
    now, counts = timezone.now(), Counter[str]()
    counts["weeks added"] = add_weeks(now)
    count_all_teams()  # a run is deleted only after it is counted
    deadline = time.monotonic() + MAX_SECONDS
    for week in list_weeks():
        if not week.name:
            counts["runs deleted"] += _delete_expired(week.name, deadline)
        elif week.is_over(now, settings.RUN_KEEP_DAYS):
            counts += _end_week(week.name, deadline)
    counts["runs deleted"] += _delete_expired_early(deadline)
    forget_old_test_calls()
    log.info("history_tidied", **{name.replace(" ", "_"): count for name, count in counts.items()})
    return counts


def _end_week(name: str, deadline: float) -> Counter[str]:
    try:
        moved = drop_week(name)
    except OperationalError as error:
        if not _is_lock_missing(error):
            raise
        log.warning("history_week_is_in_use", week=name)  # the next call tries again
        return Counter()
    if moved is None:
        return Counter({"runs deleted": _delete_expired(name, deadline)})
    return Counter({"weeks dropped": 1, "runs moved": moved})


def add_weeks(now: datetime) -> int:
    """Create the partitions of this week and the coming ones, and return how many weeks were missing."""
    until = now + timedelta(weeks=WEEKS_AHEAD)
    return int(_retry_locks(lambda: _fetch("select history_add_weeks(%s, %s)", now, until)[0][0]))


def list_weeks() -> list[Week]:
    """Return the weeks, oldest first; the first one is the default partition."""
    rows = _fetch("select week, ends_at, bytes, runs from history_list_weeks()")
    return [Week(*row) for row in rows]


def drop_week(name: str) -> int | None:
    """Drop a week, and return how many runs moved to the default partition.

    None means that too many would have to, or that the days of the week are not over.
    """
    moved = _retry_locks(
        lambda: _fetch(
            "select history_drop_week(%s, %s, %s, %s)", name, *_get_default_days(), MAX_MOVED
        )[0][0]
    )
    return None if moved is None else int(moved)


def _delete_expired(week: str, deadline: float) -> int:
    deleted, after = 0, NO_ID
    while time.monotonic() < deadline:
        rows = _fetch(
            "select history_list_expired(%s, %s, %s, %s, %s)",
            *(week, *_get_default_days(), after, BATCH_SIZE),
        )
        if not rows:
            break
        after = rows[-1][0]
        deleted += _delete_runs([run_id for (run_id,) in rows])
    return deleted


def _delete_expired_early(deadline: float) -> int:
    deleted = 0
    while time.monotonic() < deadline:
        query = "select history_list_expired_early(%s, %s, %s)"
        rows = _fetch(query, *_get_default_days(), BATCH_SIZE)
        batch = _delete_runs([run_id for (run_id,) in rows]) if rows else 0
        if not batch:  # those that are left contain a run that has not ended
            break
        deleted += batch
    return deleted


def _delete_runs(ids: list[UUID]) -> int:
    return int(_fetch("select history_delete_runs(%s)", ids)[0][0])


def _get_default_days() -> tuple[int, int]:
    return settings.RUN_KEEP_DAYS, settings.RUN_KEEP_FAILED_DAYS


def _fetch(query: str, *values: Any) -> list[tuple[Any, ...]]:  # Any: columns of a query
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _retry_locks(work: Callable[[], T]) -> T:
    """Call a function that gives up on a lock quickly, a few times. Raises OperationalError after the last one."""
    for _ in range(LOCK_TRIES - 1):
        try:
            return work()
        except OperationalError as error:
            if not _is_lock_missing(error):
                raise
            time.sleep(LOCK_PAUSE)
    return work()


def _is_lock_missing(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE
