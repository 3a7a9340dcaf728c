"""Carries out the erasures that were asked for. The row is the outbox: a message that was lost costs a minute.

How one is carried out the services know, and say here.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.models import Team
from accounts.tenancy import tenant
from memory.models import Erasure
from memory.models.jobs import JobStatus, left_behind


# A team and an erasure's id, claimed already; it tells the row how it ended and raises nothing.
Erases = Callable[[UUID, UUID], object]

HELD: Final = timedelta(minutes=15)
UNHEARD_AFTER: Final = timedelta(seconds=30)
MOST_A_SWEEP: Final = 50


def asks_to_erase(resolver: Erases) -> None:
    _RESOLVERS["person"] = resolver


def erase_soon(team_id: UUID, erasure_id: UUID) -> int:
    """Whether it was this call that did it: of two who come at once, one finds it taken."""
    resolver = _RESOLVERS.get("person")
    if resolver is None or not _claimed(team_id, erasure_id, timezone.now()):
        return 0
    resolver(team_id, erasure_id)
    return 1


def sweep_erasures(now: datetime | None = None) -> int:
    """Every team's; safe to run twice, or at the same time."""
    at = now or timezone.now()
    return sum(
        erase_soon(team_id, one)
        for team_id in Team.objects.values_list("id", flat=True)
        for one in _left_behind(team_id, at)
    )


_RESOLVERS: dict[str, Erases] = {}


def _claimed(team_id: UUID, erasure_id: UUID, now: datetime) -> bool:
    with tenant([team_id]):
        rows = Erasure.objects.unscoped()
        # Whoever carries it out has the row locked; nobody waits for that.
        free = rows.filter(_is_free(now), team_id=team_id, pk=erasure_id)
        mine = rows.filter(pk__in=free.select_for_update(skip_locked=True).values("pk"))
        return bool(mine.update(status=JobStatus.RUNNING, held_until=now + HELD))


def _is_free(now: datetime) -> Q:
    return Q(status=JobStatus.WAITING) | Q(status=JobStatus.RUNNING, held_until__lte=now)


def _left_behind(team_id: UUID, now: datetime) -> list[UUID]:
    with tenant([team_id]):
        rows = Erasure.objects.unscoped().filter(left_behind(now, UNHEARD_AFTER), team_id=team_id)
        return list(rows.order_by("created_at", "id").values_list("id", flat=True)[:MOST_A_SWEEP])
