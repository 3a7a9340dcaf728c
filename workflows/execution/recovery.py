"""Find runs that no worker holds in the database, independently of their messages.

There is no leader: every worker with free capacity searches, and the claim decides between them (``for update skip
locked``). A worker executes the runs that it finds itself instead of publishing them again, so a broker that is empty,
full or missing only delays the start of a run.
"""

from datetime import timedelta
from uuid import UUID

from workflows.execution import claims
from workflows.execution.db import Database
from workflows.execution.events.bus import get_bus_url


# With a broker, a run's message usually arrives earlier; without one, only this search finds the run.
QUEUED_FOR = timedelta(seconds=3)
MAX_RUNS = 32  # in one search

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


async def fail_if_poisoned(db: Database, run_id: UUID) -> bool:
    """Fail the run if its worker has crashed three times, and return whether that is so."""
    return await claims.fail_poisoned_run(db, run_id, POISONED)
