"""What the history of runs needs on disk, and for how long the runs of a workflow are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from config.sql import read_queries
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import StoredFile, Workflow
from workflows.services import audit_lines


QUERIES: Final = read_queries("workflows/sql/queries/history.sql")
SAMPLE: Final = 200  # runs of a workflow that are measured
MAX_DAYS: Final = 30_000
# Bytes of a row without its values and with its index entries, as `python -m bench.history` measures them.
ROW_BYTES: Final = {"run_bytes": 750, "step_bytes": 420, "commit_bytes": 230}


@dataclass(frozen=True, slots=True)
class WorkflowStorage:
    """The stored runs of a workflow. The bytes are an estimate from its newest runs."""

    workflow: Workflow
    run_count: int
    size: int
    oldest_at: datetime | None
    keep_days: int  # 0 stands for ever
    keep_failed_days: int

    @property
    def bytes_per_run(self) -> int:
        return round(self.size / self.run_count) if self.run_count else 0


def list_storage(principal: Principal, team_id: UUID) -> list[WorkflowStorage]:
    """Return the storage of each workflow of the team that has runs, the largest first, for who may see its usage."""
    permissions.check_view_usage(principal, team_id)
    return load_storage(team_id)


def count_files(principal: Principal, team_id: UUID) -> tuple[int, int]:
    """Return how many files the team has stored, and their bytes, for who may see its usage."""
    permissions.check_view_usage(principal, team_id)
    with tenant([team_id]):
        rows = StoredFile.objects.unscoped().filter(team_id=team_id, removed_at__isnull=True)
        sums = rows.aggregate(count=Count("pk"), size=Sum("size"))
    return sums["count"], int(sums["size"] or 0)


def load_storage(team_id: UUID) -> list[WorkflowStorage]:
    """Return the storage of each workflow of a team that has runs, the largest first."""
    with tenant([team_id]):
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"team": team_id, "sample": SAMPLE, **ROW_BYTES}
            cursor.execute(QUERIES["storage_of_team"], values)
            rows = cursor.fetchall()
        workflows = Workflow.objects.unscoped().in_bulk([row[0] for row in rows])
    storage = [
        WorkflowStorage(
            workflows[workflow_id],
            run_count,
            round(size * run_count / measured),
            oldest_at,
            *get_days(workflows[workflow_id]),
        )
        for workflow_id, run_count, oldest_at, measured, size in rows
    ]
    return sorted(storage, key=lambda row: (-row.size, str(row.workflow.pk)))


def get_days(workflow: Workflow) -> tuple[int, int]:
    """Return for how many days the workflow's runs are stored, and its failed ones, which never go first; 0 is for ever.

    ``history_has_expired`` in execution/sql/history.sql decides by the same rule.
    """
    days = settings.RUN_KEEP_DAYS if workflow.keep_days is None else workflow.keep_days
    failed = workflow.keep_failed_days
    failed_days = settings.RUN_KEEP_FAILED_DAYS if failed is None else failed
    return days, 0 if 0 in (days, failed_days) else max(days, failed_days)


def change_days(
    principal: Principal, workflow: Workflow, *, days: int | None, failed_days: int | None
) -> Workflow:
    """Decide for how long the workflow's runs are stored; None stands for the setting of the installation.

    Raises InvalidValue, also if failed runs would be deleted before the others.
    """
    permissions.check_edit(principal, workflow)
    for field, value in (("keep_days", days), ("keep_failed_days", failed_days)):
        if value is not None and not 0 <= value <= MAX_DAYS:
            message = _("Enter a number of days from 0 to %(most)d.") % {"most": MAX_DAYS}
            raise InvalidValue(message, field=field)
    _check_failed_days(settings.RUN_KEEP_DAYS if days is None else days, failed_days)
    with tenant([workflow.team_id]):
        workflow.keep_days, workflow.keep_failed_days = days, failed_days
        workflow.save(update_fields=["keep_days", "keep_failed_days"])
        audit_lines.record(
            principal, workflow, "workflow.retention_changed", days=days, failed_days=failed_days
        )
    return workflow


def _check_failed_days(days: int, failed_days: int | None) -> None:
    if not failed_days or 0 < days <= failed_days:
        return
    message = _(
        "Keep failed runs (days): enter 0 (forever), because the other runs are kept forever."
    )
    if days:
        message = _(
            "Keep failed runs (days): enter 0 (forever) or at least %(least)d, the days of the other runs."
        ) % {"least": days}
    raise InvalidValue(message, field="keep_failed_days")


def sum_sizes(rows: Sequence[WorkflowStorage]) -> int:
    return sum(row.size for row in rows)
