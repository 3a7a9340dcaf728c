"""Claim runs, renew the claims and release them. The attempt number is the fencing token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from workflows.engine.language.document import Json
from workflows.engine.runtime.step_records import StepKey
from workflows.execution.db import Database


LEASE = timedelta(seconds=15)
RENEW_EVERY = 5.0  # seconds; two renewals may fail before the lease is gone

CLAIM = "select execution_claim(%s, %s, %s)"
CHILD = "select execution_find_child(%s, %s, %s)"
STOP_CHILD = "select execution_stop_child(%s, %s)"
NEXT_TURN = "select execution_next_turn(%s, %s)"
RENEW = "select run_id from execution_renew(%s, %s, %s, %s)"
RELEASE = "select execution_release(%s, %s, %s)"
CANCELLED = "select run_id from execution_cancelled(%s, %s)"
HISTORY = "select steps, begun from execution_history(%s, %s)"
PARTS = "select execution_parts(%s, %s)"
ANSWERS = "select execution_answers(%s, %s)"


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this worker may execute until another worker claims it. ``row`` has the columns of ``Run``."""

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
    row, age = row_and_age["run"], float(row_and_age["age"])
    return Claim(run_id, UUID(row["team_id"]), row["attempt"], row["last_seq"], age, row)


async def find_next_turn(db: Database, finished: Claim) -> UUID | None:
    """Return the run of the conversation's next turn, which waited for the finished one, or None."""
    if finished.row.get("conversation_id") is None:
        return None
    run_id: UUID | None = await db.fetch_value(NEXT_TURN, (finished.team_id, finished.run_id))
    return run_id


async def find_child(db: Database, parent: Claim, key: str) -> Mapping[str, Json] | None:
    """Return the child that a step of the run started under this key, or None."""
    row: Mapping[str, Json] | None = await db.fetch_value(
        CHILD, (parent.team_id, parent.run_id, key)
    )
    return row


async def stop_child(db: Database, parent: Claim, child_id: UUID) -> None:
    await db.fetch_value(STOP_CHILD, (parent.team_id, child_id))


async def renew_claims(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """Renew all claims of a worker in one statement, and return the ids of the runs that it still holds."""
    attempts = [claim.attempt for claim in claims]
    rows = await db.fetch_rows(RENEW, (*_list_ids(claims), attempts, LEASE))
    return {row[0] for row in rows}


async def release_run(db: Database, claim: Claim) -> bool:
    """End the claim of an unfinished run, so that another worker can claim it. Return False if it has been lost."""
    return bool(await db.fetch_value(RELEASE, (claim.team_id, claim.run_id, claim.attempt)))


async def list_cancelled(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """Return the ids of the claimed runs whose cancellation has been requested."""
    return {row[0] for row in await db.fetch_rows(CANCELLED, _list_ids(claims))}


async def load_history(
    db: Database, claim: Claim
) -> tuple[Sequence[Mapping[str, Json]], Sequence[StepKey]]:
    """Return the rows of the finished steps, and the keys of the steps that began but didn't end."""
    rows = await db.fetch_rows(HISTORY, (claim.team_id, claim.run_id))
    finished, open_steps = rows[0]
    return finished, [StepKey(step["node"], tuple(step["rounds"])) for step in open_steps]


async def load_parts(db: Database, claim: Claim) -> Sequence[Mapping[str, Json]]:
    """Return the rows of the finished parts of steps."""
    rows: Sequence[Mapping[str, Json]] = await db.fetch_value(PARTS, (claim.team_id, claim.run_id))
    return rows


async def load_answers(db: Database, claim: Claim) -> Sequence[Mapping[str, Json]]:
    """Return the rows of the waits that have ended, with an answer or because they were due."""
    rows: Sequence[Mapping[str, Json]] = await db.fetch_value(
        ANSWERS, (claim.team_id, claim.run_id)
    )
    return rows


def _list_ids(claims: Sequence[Claim]) -> tuple[list[UUID], list[UUID]]:
    return list({claim.team_id for claim in claims}), [claim.run_id for claim in claims]
