"""Curates the runs that wait for it, one at a time in a process: learning never takes the place of running.

The host knows what a run was about and curates it. What a worker that died left behind is found by a sweep.
"""

import threading
from collections import deque
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from accounts.models import Team
from accounts.tenancy import tenant
from memory.host import get_host
from memory.models import Curation
from memory.models.jobs import left_behind


UNHEARD_AFTER = timedelta(seconds=60)
MOST_A_SWEEP = 200


def curate_soon(team_id: UUID, curation_id: UUID) -> int:
    """How many were curated here; none while another thread of this process is at it and takes this one too."""
    _QUEUE.append((team_id, curation_id))
    done = 0
    # Whoever puts one in after the last look finds the lock free, or is looked after by who holds it.
    while _QUEUE and _ALONE.acquire(blocking=False):
        try:
            done += _drain()
        finally:
            _ALONE.release()
    return done


def sweep_curations(now: datetime | None = None) -> int:
    """Every team's; safe to run twice, or at the same time."""
    at = now or timezone.now()
    left = [
        (team_id, one)
        for team_id in Team.objects.values_list("id", flat=True)
        for one in _left_behind(team_id, at)
    ]
    return sum(curate_soon(team_id, one) for team_id, one in left)


_QUEUE: deque[tuple[UUID, UUID]] = deque()
_ALONE = threading.Lock()


def _drain() -> int:
    done = 0
    while True:
        try:
            team_id, curation_id = _QUEUE.popleft()
        except IndexError:
            return done
        get_host().curate_run(team_id, curation_id)
        done += 1


def _left_behind(team_id: UUID, now: datetime) -> list[UUID]:
    with tenant([team_id]):
        rows = Curation.objects.unscoped().filter(left_behind(now, UNHEARD_AFTER), team_id=team_id)
        return list(rows.order_by("created_at", "id").values_list("id", flat=True)[:MOST_A_SWEEP])
