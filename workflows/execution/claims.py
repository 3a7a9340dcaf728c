"""Claim runs, renew the claims and release them. The attempt number is the fencing token."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from workflows.engine.language.document import Json
from workflows.engine.runtime.step_records import StepKey
from workflows.execution.db import Database
from workflows.execution.journal.codec import dump


LEASE = timedelta(seconds=15)
RENEW_EVERY = 5.0  # seconds; two renewals may fail before the lease is gone

CLAIM = "select execution_claim(%s, %s, %s)"
NEXT_TURN = "select execution_next_turn(%s, %s)"
RENEW = "select run_id from execution_renew(%s, %s, %s, %s)"
RELEASE = "select execution_release(%s, %s, %s)"
CANCELLED = "select run_id from execution_cancelled(%s, %s)"
UNATTENDED = "select run_id from execution_unattended(%s, %s)"
FAIL_POISONED = "select execution_park(%s, %s, %s)"
HISTORY = "select steps, begun from execution_history(%s, %s)"


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this worker may execute and write to, until another worker claims it."""

    run_id: UUID
    team_id: UUID
    attempt: int
    last_seq: int
    age: float  # seconds since the first attempt began
    row: Mapping[str, Json] = field(repr=False)


async def claim_run(db: Database, run_id: UUID, worker: str) -> Claim | None:
    """Claim a run, or return None if another worker holds it or there is nothing left to do."""
    row_and_age = await db.fetch_value(CLAIM, (run_id, worker, LEASE))
    if row_and_age is None:
        return None
    row = row_and_age["run"]
    return Claim(
        run_id,
        UUID(row["team_id"]),
        row["attempt"],
        row["last_seq"],
        float(row_and_age["age"]),
        row,
    )


async def find_next_turn(db: Database, finished: Claim) -> UUID | None:
    """Return the next turn of the conversation, which waited for the finished turn."""
    if finished.row.get("conversation_id") is None:
        return None
    run_id: UUID | None = await db.fetch_value(NEXT_TURN, (finished.team_id, finished.run_id))
    return run_id


async def renew_claims(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """Renew all claims of a worker in one statement; return the runs that the worker still holds."""
    rows = await db.fetch_rows(
        RENEW,
        (
            list({claim_.team_id for claim_ in claims}),
            [claim_.run_id for claim_ in claims],
            [claim_.attempt for claim_ in claims],
            LEASE,
        ),
    )
    return {row[0] for row in rows}


async def release_run(db: Database, claim_: Claim) -> bool:
    return bool(await db.fetch_value(RELEASE, (claim_.team_id, claim_.run_id, claim_.attempt)))


async def list_cancelled(db: Database, claims: Iterable[Claim]) -> set[UUID]:
    claim_list = list(claims)
    teams = list({claim_.team_id for claim_ in claim_list})
    return {
        row[0]
        for row in await db.fetch_rows(CANCELLED, (teams, [claim_.run_id for claim_ in claim_list]))
    }


async def list_unattended(db: Database, queued_for: timedelta, limit: int = 100) -> list[UUID]:
    """List runs of every team that no worker holds although they are due, oldest first."""
    return [row[0] for row in await db.fetch_rows(UNATTENDED, (queued_for, limit))]


async def fail_poisoned_run(db: Database, run_id: UUID, error: str) -> bool:
    """Fail a run whose lease ran out for the third time. Return False if that isn't so."""
    finished: dict[str, Json] = {
        "status": "failed",
        "outputs": {},
        "error": error,
        "error_node": None,
    }
    return bool(await db.fetch_value(FAIL_POISONED, (run_id, error, dump(finished))))


async def load_history(
    db: Database, claim_: Claim
) -> tuple[Sequence[Mapping[str, Json]], Sequence[StepKey]]:
    """Return the rows of the finished steps, and the steps that began but didn't end."""
    rows = await db.fetch_rows(HISTORY, (claim_.team_id, claim_.run_id))
    return rows[0][0], [
        StepKey(open_step["node"], tuple(open_step["rounds"])) for open_step in rows[0][1]
    ]
