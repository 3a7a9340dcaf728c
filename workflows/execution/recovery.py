"""Search the database for runs that are due but not claimed by a worker, for example because a message was lost.

Every worker with free capacity searches, and claiming decides which of them executes a run (``for update skip
locked``). The worker executes the runs that it finds instead of publishing messages again, so a broker that is empty,
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


async def find_runs(db: Database, free_slots: int) -> list[UUID]:
    """Return runs of all teams that are due but not claimed, oldest first and at most ``free_slots``."""
    if free_slots <= 0:
        return []
    queued_for = QUEUED_FOR if get_bus_url() else timedelta(0)
    return [
        row[0] for row in await db.fetch_rows(UNATTENDED, (queued_for, min(free_slots, MAX_RUNS)))
    ]


async def fail_if_poisoned(db: Database, run_id: UUID) -> bool:
    """Fail the run if three workers have crashed while executing it. Return whether it was failed."""
    event = dump({"status": "failed", "outputs": {}, "error": POISONED, "error_node": None})
    return bool(await db.fetch_value(FAIL_POISONED, (run_id, POISONED, event)))
