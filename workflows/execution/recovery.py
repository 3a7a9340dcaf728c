"""Runs that nobody holds: found in the database, whatever became of the messages about them.

There is no leader: every worker with room looks, and the claim decides between them (``for update
skip locked``). A worker takes what it finds itself instead of publishing it again, so a wiped, full
or missing broker changes nothing but the second at which a run begins.
"""

from datetime import timedelta
from uuid import UUID

from workflows.execution import claims
from workflows.execution.db import Database
from workflows.execution.events.bus import get_bus_url


# With a broker its message usually wins; without one, looking is the only way to learn of a run.
QUEUED_FOR = timedelta(seconds=3)
AT_MOST = 32  # a look

POISONED = (
    "The worker crashed three times during this run, so the run was aborted. "
    "A step may use more memory than the worker has, or crash it."
)


async def find(db: Database, free: int) -> list[UUID]:
    """Oldest first, no more than there is room for."""
    if free <= 0:
        return []
    waited = QUEUED_FOR if get_bus_url() else timedelta(0)
    return await claims.list_unattended(db, waited, min(free, AT_MOST))


async def park_if_poisoned(db: Database, run_id: UUID) -> bool:
    """Fail a run that has killed its third worker, and say whether this was one."""
    return await claims.park_run(db, run_id, POISONED)
