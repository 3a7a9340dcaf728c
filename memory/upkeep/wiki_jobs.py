"""Carries out wiki jobs with the function that the services register, one at a time in each process.

A model may take minutes for each page, so wiki jobs must not take all workers. The rows of ``WikiJob`` are the queue:
if a message or a worker is lost, a sweep finds the row.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from memory.models import WikiJob
from memory.upkeep.isolation import list_abandoned
from memory.upkeep.job_queue import JobQueue


# Takes the ids of a team and a job. It claims the job, stores the outcome in the row and raises nothing.
WikiWorker = Callable[[UUID, UUID], object]

OVERDUE_AFTER: Final = timedelta(seconds=60)
MAX_PER_SWEEP: Final = 50

_WORKERS: dict[str, WikiWorker] = {}
_QUEUE: Final = JobQueue(lambda team_id, job_id: _WORKERS["wiki"](team_id, job_id))
run_wiki_job = _QUEUE.run


def register_wiki_worker(worker: WikiWorker) -> None:
    """Set the function that carries out a wiki job."""
    _WORKERS["wiki"] = worker


def sweep_wiki_jobs() -> int:
    """Carry out the abandoned jobs of every team and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(WikiJob, timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return sum(run_wiki_job(team_id, job_id) for team_id, job_id in abandoned)
