"""Carries out wiki jobs with the function that the services register, one at a time in each process.

A model may take minutes for each page, so wiki jobs must not take all workers. The rows of ``WikiJob`` are the queue:
if a message or a worker is lost, a sweep finds the row.
"""

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from memory.models import WikiJob
from memory.upkeep.isolation import list_abandoned


# Takes the ids of a team and a job. It claims the job, stores the outcome in the row and raises nothing.
WikiWorker = Callable[[UUID, UUID], object]

OVERDUE_AFTER: Final = timedelta(seconds=60)
MAX_PER_SWEEP: Final = 50

_WORKERS: dict[str, WikiWorker] = {}
_QUEUE: Final[deque[tuple[UUID, UUID]]] = deque()
_QUEUE_LOCK: Final = threading.Lock()


def register_wiki_worker(worker: WikiWorker) -> None:
    """Set the function that carries out a wiki job."""
    _WORKERS["wiki"] = worker


def run_wiki_job(team_id: UUID, job_id: UUID) -> int:
    """Queue the job, carry out all queued jobs and return their number.

    Return 0 if another thread of this process is already at work, because that thread takes this job as well.
    """
    _QUEUE.append((team_id, job_id))
    count = 0
    # Check again after releasing the lock: another thread may have queued a job while the lock was held.
    while _QUEUE and _QUEUE_LOCK.acquire(blocking=False):
        try:
            count += _run_queue()
        finally:
            _QUEUE_LOCK.release()
    return count


def sweep_wiki_jobs(now: datetime | None = None) -> int:
    """Carry out the abandoned jobs of every team and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(WikiJob, now or timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return sum(run_wiki_job(team_id, job_id) for team_id, job_id in abandoned)


def _run_queue() -> int:
    """Carry out the queued jobs. Only the thread that holds the lock takes jobs from the queue."""
    count = 0
    while _QUEUE:
        _WORKERS["wiki"](*_QUEUE.popleft())
        count += 1
    return count
