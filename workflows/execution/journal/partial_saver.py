"""Partial text of all runs of a worker, saved in one statement at most once a second."""

from collections.abc import Sequence

from config.ids import uuid7
from workflows.execution.db import Database
from workflows.execution.driver import Drive


SAY = "select execution_say(%s, %s)"


async def save_texts(db: Database, drives: Sequence[Drive]) -> None:
    rows: list[str] = []
    teams = set()
    for drive in drives:
        journal = drive.journal
        if journal is None or not journal.unsaved:
            continue
        journal.unsaved = False
        segments = journal.segments()
        if segments is None:
            continue
        held = drive.claim
        teams.add(held.team_id)
        rows.append(
            f'{{"id":"{uuid7()}","team":"{held.team_id}","run":"{held.run_id}",'
            f'"attempt":{held.attempt},"segments":{segments}}}'
        )
    if rows:
        await db.rows(SAY, (list(teams), f"[{','.join(rows)}]"))
