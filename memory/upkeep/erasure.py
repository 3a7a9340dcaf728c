"""Carries out erasures with the function that the services register.

The rows of ``Erasure`` are the queue: if a message is lost, a sweep finds the row within a minute.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from memory.models import Erasure
from memory.models.jobs import JobStatus
from memory.upkeep.isolation import list_abandoned


# Takes the ids of a team and a claimed erasure. It stores the outcome in the row and raises nothing.
Eraser = Callable[[UUID, UUID], object]

CLAIM_DURATION: Final = timedelta(minutes=15)
OVERDUE_AFTER: Final = timedelta(seconds=30)
MAX_PER_SWEEP: Final = 50

_ERASERS: dict[str, Eraser] = {}


def register_eraser(eraser: Eraser) -> None:
    """Set the function that erases a person."""
    _ERASERS["person"] = eraser


def run_erasure(team_id: UUID, erasure_id: UUID) -> int:
    """Claim and carry out the erasure, and return 1; return 0 if another worker has claimed it or it is done."""
    eraser = _ERASERS.get("person")
    if eraser is None or not _claim(team_id, erasure_id, timezone.now()):
        return 0
    eraser(team_id, erasure_id)
    return 1


def sweep_erasures(now: datetime | None = None) -> int:
    """Carry out the abandoned erasures of every team and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(Erasure, now or timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return sum(run_erasure(team_id, erasure_id) for team_id, erasure_id in abandoned)


def _claim(team_id: UUID, erasure_id: UUID, now: datetime) -> bool:
    with tenant([team_id]):
        rows = Erasure.objects.unscoped()
        # A worker that carries out the erasure keeps its row locked, so locked rows are skipped.
        is_free = Q(status=JobStatus.WAITING) | Q(status=JobStatus.RUNNING, held_until__lte=now)
        free_rows = rows.filter(is_free, team_id=team_id, pk=erasure_id)
        claimed = rows.filter(pk__in=free_rows.select_for_update(skip_locked=True).values("pk"))
        return bool(claimed.update(status=JobStatus.RUNNING, held_until=now + CLAIM_DURATION))
