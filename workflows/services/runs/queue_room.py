"""The limit on the runs of a team that wait in the queue.

How many of them run at once is decided when a worker claims one (``execution/sql/queue.sql``): those beyond it wait.
"""

from uuid import UUID

from django.conf import settings

from workflows.errors import QueueFull
from workflows.models import ActiveRun


def check_queue_room(team_id: UUID) -> None:
    """Raise QueueFull if no further run of the team may wait. Runs in the caller's tenant block.

    Starts at the same moment may exceed the limit by their number.
    """
    limit = settings.TEAM_QUEUED_RUNS
    queued_runs = ActiveRun.objects.unscoped().filter(team_id=team_id, is_running=False)
    if queued_runs[:limit].count() >= limit:
        raise QueueFull(limit)
