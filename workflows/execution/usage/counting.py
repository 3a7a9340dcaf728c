"""Counts runs that have ended into the rows of usage: every minute, and before somebody reads usage.

A run is marked in the statement that counts it, so it is counted once, whoever counts, and however often.
"""

from typing import Any, Final
from uuid import UUID

from django.db import connection

from accounts.models import Team
from accounts.tenancy import reading, tenant
from config.retry import retry_on_conflict
from config.sql import read_queries
from workflows.execution.usage import numbers
from workflows.llm.config import DEFAULT, OFFLINE, normalize_name
from workflows.models import ModelProvider, Run


BATCH_SIZE: Final = 2_000  # runs in one transaction
QUERIES: Final = read_queries("workflows/sql/queries/usage.sql")


def count_all_teams() -> int:
    """Count the ended runs of every team, and return how many were new."""
    return sum(map(count_team, Team.objects.values_list("id", flat=True)))


def count_team(team_id: UUID) -> int:
    """Count all ended runs of a team, in batches."""
    total = 0
    while count := count_batch(team_id):
        total += count
        if count < BATCH_SIZE:
            break
    return total


def count_new(team_id: UUID) -> None:
    """Count a batch if runs of the team have ended since they were counted last, for a reader of usage or costs."""
    with reading([team_id]):
        rows = Run.objects.unscoped().filter(team_id=team_id, is_counted=False)
        is_counted = not rows.filter(finished_at__isnull=False).exists()
    if not is_counted:
        count_batch(team_id)


def load_cost(run: Run) -> None:
    """Give a run that has just ended the cost that counting stores, so that every page shows the same."""
    if run.finished_at is None or run.is_counted:
        return
    count_new(run.team_id)
    with reading([run.team_id]):
        run.refresh_from_db(fields=["cost", "is_counted"], from_queryset=Run.objects.unscoped())


@retry_on_conflict
def add_call(team_id: UUID, parameters: dict[str, Any]) -> None:  # Any: what a query takes
    """Add a call of ``single_calls`` to the usage of its day."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["count_call"], parameters)


@retry_on_conflict
def count_batch(team_id: UUID) -> int:
    """Count at most ``BATCH_SIZE`` ended runs of a team, and return how many were new."""
    with tenant([team_id]):
        rows = ModelProvider.objects.unscoped().filter(team_id=team_id, enabled=True)
        names = list(rows.order_by("name", "id").values_list("name", flat=True))
        parameters: dict[str, Any] = {  # Any: what a query takes
            "team": team_id,
            "limit": BATCH_SIZE,
            "providers": list(map(normalize_name, names)),
            # what answers nodes that name no provider, if the team has no default model
            "unnamed": normalize_name(names[0]) if names else OFFLINE,
            "offline": OFFLINE,
            "default": DEFAULT,
            "step_kinds": list(numbers.MODEL_STEP_KINDS),
            "helped_kinds": list(numbers.HELPED_STEP_KINDS),
            "ranking_kinds": list(numbers.RANKING_STEP_KINDS),
            "agent_kind": numbers.AGENT_STEP_KIND,
            "call_kind": numbers.AGENT_CALL_KIND,
            "code_kind": numbers.CODE_STEP_KIND,
            "first": numbers.FIRST_BUCKET,
            "growth": numbers.BUCKET_GROWTH,
            "last": numbers.LAST_BUCKET,
        }
        with connection.cursor() as cursor:
            cursor.execute(QUERIES["count_runs"], parameters)
            (count,) = cursor.fetchone()
    return int(count)
