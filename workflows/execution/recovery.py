"""Find runs that no worker holds in the database, independently of their messages.

There is no leader: every worker with room looks, and the claim decides between them (``for update skip locked``). A
worker takes what it finds itself instead of publishing it again, so an empty, full or missing broker only changes the
second at which a run begins.
"""

from datetime import timedelta
from uuid import UUID

from workflows.execution import claims
from workflows.execution.db import Database
from workflows.execution.events.bus import get_bus_url


# With a broker its message usually wins; without one, looking is the only way to learn of a run.
QUEUED_FOR = timedelta(seconds=3)
MAX_RUNS = 32  # a look

POISONED = (
    "The worker crashed three times during this run, so the run was aborted. "
    "A step may use more memory than the worker has, or crash it."
)


async def find_runs(db: Database, free: int) -> list[UUID]:
    """Return the oldest unattended runs, at most ``free``."""
    if free <= 0:
        return []
    queued_for = QUEUED_FOR if get_bus_url() else timedelta(0)
    return await claims.list_unattended(db, queued_for, min(free, MAX_RUNS))


async def park_if_poisoned(db: Database, run_id: UUID) -> bool:
    """Fail a run that has killed its third worker, and say whether this was one."""
    return await claims.park_run(db, run_id, POISONED)
