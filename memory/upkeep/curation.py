"""Curates queued runs, one at a time in each process, so that curation never takes the workers that runs need.

The workflows app curates a run, through ``memory.host``. A sweep finds the runs of a worker that died.
"""

import threading
from collections import deque
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from memory.host import get_host
from memory.models import Curation
from memory.upkeep.isolation import list_abandoned


OVERDUE_AFTER = timedelta(seconds=60)
MAX_PER_SWEEP = 200

_QUEUE: deque[tuple[UUID, UUID]] = deque()
_QUEUE_LOCK = threading.Lock()


def curate_queued(team_id: UUID, curation_id: UUID) -> int:
    """Queue the run, curate all queued runs and return their number.

    Return 0 if another thread of this process is already curating, because that thread takes this run as well.
    """
    _QUEUE.append((team_id, curation_id))
    count = 0
    # Check again after releasing the lock: another thread may have queued a run while the lock was held.
    while _QUEUE and _QUEUE_LOCK.acquire(blocking=False):
        try:
            count += _curate_queue()
        finally:
            _QUEUE_LOCK.release()
    return count


def sweep_curations(now: datetime | None = None) -> int:
    """Curate the abandoned runs of every team and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(Curation, now or timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return sum(curate_queued(team_id, curation_id) for team_id, curation_id in abandoned)


def _curate_queue() -> int:
    """Curate the queued runs. Only the thread that holds the lock takes runs from the queue."""
    count = 0
    while _QUEUE:
        get_host().curate_run(*_QUEUE.popleft())
        count += 1
    return count
