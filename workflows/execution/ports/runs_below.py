"""What a start has begun below it: other runs at every depth, and the steps that these have made so far."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from accounts.tenancy import tenant
from config.sql import read_queries
from workflows.engine.errors import LimitReached
from workflows.engine.sub_workflows.children import (
    ROUND_KIND,
    check_runs_below,
    check_steps_below,
    check_steps_left,
)
from workflows.execution.claims import Claim
from workflows.execution.threads import run_in_thread


QUERIES: Final = read_queries("workflows/sql/queries/child_runs.sql")
_RUNS_SETTING: Final = "the server's RUN_MAX_RUNS_BELOW"
_STEPS_SETTING: Final = "the server's RUN_MAX_STEPS_BELOW"


def count_start(claim: Claim, name: str) -> None:
    """Raise NestingNotAllowed if the start above the run may begin no further run. Others wait for this one."""
    check_start(find_counted_start(claim.run_id, claim.row.get("called_by_start")), name)


def check_start(start: str, name: str) -> None:
    """Raise NestingNotAllowed if a start may begin no further run, as a sub-workflow or by a call of this installation.

    Runs in the tenant of the run to begin. Others wait until its transaction ends.
    """
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_start"], {"start": start})
    runs, steps = _count_below(start)
    check_runs_below(runs, name, settings.RUN_MAX_RUNS_BELOW, _RUNS_SETTING)
    check_steps_below(steps, name, settings.RUN_MAX_STEPS_BELOW, _STEPS_SETTING)


def build_reservation(claim: Claim, acting: Claim) -> Callable[[int], Awaitable[None]] | None:
    """Return what a run calls before each call of its models, or None for one that nothing but a person or program started.

    It reserves a step for each call in progress, in the row of the run itself: runs of one start don't wait for each other. It
    raises LimitReached once those below the start have used up their steps together, however many of them go on. Of two that
    reserve the last one at the same moment, both may be refused. A run that executes rounds of another one acts as that one.
    """
    if not (acting.row["parent_id"] or acting.row.get("called_by_start")):
        return None

    async def reserve(calls: int) -> None:
        await run_in_thread(_reserve_steps, claim, calls)

    return reserve


def _reserve_steps(claim: Claim, calls: int) -> None:
    _store_reservation(QUERIES["reserve_steps"], claim, calls)
    # In a transaction of its own, so that of two that reserve at the same time, at least one sees the other.
    with tenant([claim.team_id]):
        start = find_counted_start(claim.run_id, claim.row.get("called_by_start"))
        _runs, steps = _count_below(start)
    try:
        check_steps_left(steps, settings.RUN_MAX_STEPS_BELOW, _STEPS_SETTING)
    except LimitReached:
        _store_reservation(QUERIES["give_steps_back"], claim, calls - 1)
        raise


def _store_reservation(query: str, claim: Claim, calls: int) -> None:
    with tenant([claim.team_id]), connection.cursor() as cursor:
        cursor.execute(
            query,
            {
                "run": claim.run_id,
                "attempt": claim.attempt,
                "calls": calls,
                "round_kind": ROUND_KIND,
            },
        )


def find_start(run_id: UUID | str) -> UUID | None:
    """Return the run that somebody started, above this one or itself; None if the run was deleted meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["find_start"], {"run": run_id})
        row = cursor.fetchone()
    return row[0] if row else None


def find_counted_start(run_id: UUID | str, called_by_start: UUID | str | None) -> str:
    """Return the start with which a run is counted: that of the run that called this installation to begin it, if one did."""
    return str(called_by_start or find_start(run_id) or run_id)


def _count_below(start: str) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["count_below"], {"start": start, "round_kind": ROUND_KIND})
        runs, steps = cursor.fetchone()
    return runs, steps
