"""Find runs that no worker holds in the database, independently of their messages.

There is no leader: every worker with free capacity searches, and the claim decides between them (``for update skip
locked``). A worker executes the runs that it finds itself instead of publishing them again, so a broker that is empty,
full or missing only delays the start of a run.
"""

from datetime import timedelta
from uuid import UUID

from workflows.execution.db import Database
from workflows.execution.events.bus import get_bus_url
from workflows.execution.journal.codec import dump


UNATTENDED = "select run_id from execution_unattended(%s, %s)"
FAIL_POISONED = "select execution_park(%s, %s, %s)"

# With a broker, a run's message usually arrives earlier; without one, only this search finds the run.
QUEUED_FOR = timedelta(seconds=3)
MAX_RUNS = 32  # in one search

POISONED = (
    "The worker crashed three times during this run, so the run was aborted. "
    "A step may use more memory than the worker has, or crash it."
)


async def find_runs(db: Database, free: int) -> list[UUID]:
    """Return runs of every team that no worker holds although they are due, oldest first and at most ``free``."""
    if free <= 0:
        return []
    queued_for = QUEUED_FOR if get_bus_url() else timedelta(0)
    return [row[0] for row in await db.fetch_rows(UNATTENDED, (queued_for, min(free, MAX_RUNS)))]


async def fail_if_poisoned(db: Database, run_id: UUID) -> bool:
    """Fail the run if its worker has crashed three times, and return whether that is so."""
    event = dump({"status": "failed", "outputs": {}, "error": POISONED, "error_node": None})
    return bool(await db.fetch_value(FAIL_POISONED, (run_id, POISONED, event)))
