"""Search the database for runs that began and that no worker holds, because their worker is dead.

Every worker with free slots searches, and claiming decides which of them executes a run (``for update skip locked``).
"""

from collections.abc import Sequence
from uuid import UUID

from workflows.execution.db import Database
from workflows.execution.journal.codec import dump


ABANDONED = "select run_id, team_id from execution_abandoned(%s, %s, %s)"
HELD_BY = "select run_id from execution_held_by(%s)"
PARK = "select execution_park(%s, %s, %s, %s)"

MAX_RUNS = 32  # in one search

CRASHED = (
    "The worker crashed three times in a row during the same steps of this run, the last time in a process that executed "
    "nothing else, so the run was aborted. One of the steps may use more memory than there is, or crash the process."
)


async def find_abandoned_runs(
    db: Database, full_teams: Sequence[UUID], free_slots: int, *, is_isolated: bool = False
) -> list[tuple[UUID, UUID]]:
    """Return run and team of runs whose worker is dead, oldest first and at most ``free_slots``.

    An isolated worker finds only the runs that may be what kills their workers; the others don't find these.
    """
    if free_slots <= 0:
        return []
    values = (list(full_teams), min(free_slots, MAX_RUNS), is_isolated)
    return [(run_id, team_id) for run_id, team_id in await db.fetch_rows(ABANDONED, values)]


async def fail_runs_of_crashed(db: Database, worker: str) -> list[UUID]:
    """Fail the runs over which an isolated worker has died without finishing a step, and return their ids."""
    event = dump({"status": "failed", "outputs": {}, "error": CRASHED, "error_node": None})
    run_ids = [row[0] for row in await db.fetch_rows(HELD_BY, (worker,))]
    return [
        run_id for run_id in run_ids if await db.fetch_value(PARK, (run_id, worker, CRASHED, event))
    ]
