"""Runs work for each of many teams, namespaces or jobs, so that one failure doesn't stop the others."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog

from accounts.models import Team
from accounts.tenancy import tenant
from memory.models import Curation, DocumentUpload, Erasure, WikiJob
from memory.models.jobs import build_abandoned_condition


log = structlog.get_logger(__name__)

T = TypeVar("T")


def run_each(items: Iterable[T], work: Callable[[T], int], event: str) -> int:
    """Call ``work`` with each item and return the sum of the results. An exception is logged as ``event``."""
    total = 0
    for item in items:
        try:
            total += work(item)
        except Exception:
            log.exception(event, at=str(item))
    return total


def list_abandoned(
    job: type[Curation] | type[DocumentUpload] | type[Erasure] | type[WikiJob],
    now: datetime,
    overdue_after: timedelta,
    limit: int,
) -> list[tuple[UUID, UUID]]:
    """Return the team id and the job id of the oldest abandoned jobs, at most ``limit`` of each team."""
    abandoned = []
    for team_id in Team.objects.values_list("id", flat=True):
        condition = build_abandoned_condition(now, overdue_after)
        with tenant([team_id]):
            rows = job.objects.unscoped().filter(condition, team_id=team_id)
            ids = rows.order_by("created_at", "id").values_list("id", flat=True)[:limit]
            abandoned += [(team_id, job_id) for job_id in ids]
    return abandoned
