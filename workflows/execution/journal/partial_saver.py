"""Save the partial text of all runs of a worker, in one statement at most once a second."""

from collections.abc import Sequence

from config.ids import uuid7
from workflows.execution.db import Database
from workflows.execution.driver import RunExecution


SAVE = "select execution_save_partials(%s, %s)"


async def save_texts(db: Database, executions: Sequence[RunExecution]) -> None:
    rows: list[str] = []
    teams = set()
    for execution in executions:
        journal = execution.journal
        if journal is None or not journal.unsaved:
            continue
        journal.unsaved = False
        segments = journal.segments()
        if segments is None:
            continue
        claim = execution.claim
        teams.add(claim.team_id)
        rows.append(
            f'{{"id":"{uuid7()}","team":"{claim.team_id}","run":"{claim.run_id}",'
            f'"attempt":{claim.attempt},"segments":{segments}}}'
        )
    if rows:
        await db.fetch_rows(SAVE, (list(teams), f"[{','.join(rows)}]"))
