"""What a team or a key has used today, in UTC, and the count of its starts.

Tokens and seconds of code come from usage (``execution.usage``), which counts each run once after its end: nothing is
written for a node. Starts have a row of their own, which is updated in the transaction of the start: it makes the
number exact for any number of web processes, and it is the lock under which the other numbers are read.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum

from config.ids import uuid7
from config.sql import read_queries
from workflows.models import ModelUsage, Run, RunUsage, StartCount
from workflows.models.run import RunStatus
from workflows.services.usage.report import get_today


QUERIES: Final = read_queries("workflows/sql/queries/budgets.sql")
ACTIVE: Final = (RunStatus.QUEUED, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Use:
    """The numbers of today, and of now. They have the names of the limits."""

    runs_per_day: int = 0
    concurrent_runs: int = 0
    tokens_per_day: int = 0
    code_seconds_per_day: int = 0


def load_use(team_id: UUID, key_id: UUID | None = None) -> Use:
    """Return the use of the team, or of one of its keys. The caller has counted the ended runs (``count_batch``)."""
    return Use(
        runs_per_day=_count_starts(team_id, key_id),
        concurrent_runs=count_active_runs(team_id, key_id),
        tokens_per_day=sum_tokens(team_id, key_id),
        code_seconds_per_day=sum_code_seconds(team_id, key_id),
    )


def count_start(team_id: UUID, key_id: UUID | None) -> int:
    """Count a start, and return today's starts with it. Until the transaction ends, other starts wait here."""
    parameters = {"id": uuid7(), "team": team_id, "key": key_id, "day": get_today()}
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["count_start"], parameters)
        row = cursor.fetchone()
        if row is None:  # the first one of the day that is limited
            runs = _sum_starts(team_id, key_id)
            cursor.execute(QUERIES["open_day"], {**parameters, "runs": runs})
            cursor.execute(QUERIES["count_start"], parameters)
            row = cursor.fetchone()
    return int(row[0])


def count_active_runs(team_id: UUID, key_id: UUID | None) -> int:
    """Return the runs that wait for a worker or have one. A run that waits for a person occupies nothing."""
    return _select_runs(team_id, key_id).filter(status__in=ACTIVE).count()


def sum_tokens(team_id: UUID, key_id: UUID | None) -> int:
    rows = _select_usage(ModelUsage.objects.unscoped(), team_id, key_id)
    return int(rows.aggregate(sum=Sum(F("prompt_tokens") + F("completion_tokens")))["sum"] or 0)


def sum_code_seconds(team_id: UUID, key_id: UUID | None) -> int:
    rows = _select_usage(RunUsage.objects.unscoped(), team_id, key_id)
    return int(rows.aggregate(sum=Sum("code_seconds"))["sum"] or 0)


def _count_starts(team_id: UUID, key_id: UUID | None) -> int:
    """Return today's starts: the count, or their sum before a limit was set."""
    rows = StartCount.objects.unscoped().filter(team_id=team_id, day=get_today())
    runs = rows.filter(api_key_id=key_id).values_list("runs", flat=True).first()
    return _sum_starts(team_id, key_id) if runs is None else int(runs)


def _sum_starts(team_id: UUID, key_id: UUID | None) -> int:
    parameters = {"team": team_id, "key": key_id, "day": get_today()}
    begin = datetime.combine(get_today(), time.min, UTC)
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["sum_starts"], {**parameters, "begin": begin})
        (starts,) = cursor.fetchone()
    return int(starts)


def _select_runs(team_id: UUID, key_id: UUID | None) -> "QuerySet[Any]":  # Any: rows of runs
    """Return the runs that were started from outside; those of sub-workflows belong to them."""
    rows = Run.objects.unscoped().filter(team_id=team_id, parent=None)
    return rows if key_id is None else rows.filter(api_key_id=key_id)


def _select_usage(
    rows: "QuerySet[Any]", team_id: UUID, key_id: UUID | None
) -> "QuerySet[Any]":  # Any: either model
    of_key = Q() if key_id is None else Q(api_key_id=key_id)
    return rows.filter(of_key, team_id=team_id, day=get_today())
