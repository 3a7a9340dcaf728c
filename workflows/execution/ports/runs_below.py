"""What a start has begun below it: other runs at every depth, and the steps that these have made so far."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connection

from accounts.tenancy import tenant
from config.sql import read_queries
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
    start = _find_start(claim)
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_start"], {"start": start})
    runs, steps = _count_below(start)
    check_runs_below(runs, name, settings.RUN_MAX_RUNS_BELOW, _RUNS_SETTING)
    check_steps_below(steps, name, settings.RUN_MAX_STEPS_BELOW, _STEPS_SETTING)


def build_steps_check(claim: Claim) -> Callable[[], Awaitable[None]] | None:
    """Return what a run calls before each call of its models, or None for one that somebody started.

    It raises LimitReached once the runs below the start have used up their steps, however many of them go on.
    """
    return partial(run_in_thread, _check_steps, claim) if claim.row["parent_id"] else None


def _check_steps(claim: Claim) -> None:
    with tenant([claim.team_id]):
        _runs, steps = _count_below(_find_start(claim))
    check_steps_left(steps, settings.RUN_MAX_STEPS_BELOW, _STEPS_SETTING)


def _find_start(claim: Claim) -> str:
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["find_start"], {"run": claim.run_id})
        return str(cursor.fetchone()[0])


def _count_below(start: str) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["count_below"], {"start": start, "round_kind": ROUND_KIND})
        runs, steps = cursor.fetchone()
    return runs, steps
