"""Curates queued runs, one at a time in each process, so that curation never takes the workers that runs need.

The workflows app curates a run, through ``memory.host``. A sweep finds the runs of a worker that died.
"""

from datetime import datetime, timedelta

from django.utils import timezone

from memory.host import get_host
from memory.models import Curation
from memory.upkeep.isolation import list_abandoned
from memory.upkeep.job_queue import JobQueue


OVERDUE_AFTER = timedelta(seconds=60)
MAX_PER_SWEEP = 200

_QUEUE = JobQueue(lambda team_id, curation_id: get_host().curate_run(team_id, curation_id))
curate_queued = _QUEUE.run


def sweep_curations(now: datetime | None = None) -> int:
    """Curate the abandoned runs of every team and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(Curation, now or timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return sum(curate_queued(team_id, curation_id) for team_id, curation_id in abandoned)
