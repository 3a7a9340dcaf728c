"""Runs taken for a while: claim, keep, hand back. The attempt number is the fencing token."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from workflows.engine.document import Json
from workflows.engine.records import StepKey
from workflows.execution.codec import dump
from workflows.execution.db import Database


LEASE = timedelta(seconds=15)
RENEW_EVERY = 5.0  # seconds; two renewals may fail before the lease is gone

CLAIM = "select execution_claim(%s, %s, %s)"
NEXT_TURN = "select execution_next_turn(%s, %s)"
RENEW = "select run_id from execution_renew(%s, %s, %s, %s)"
RELEASE = "select execution_release(%s, %s, %s)"
CANCELLED = "select run_id from execution_cancelled(%s, %s)"
UNATTENDED = "select run_id from execution_unattended(%s, %s)"
PARK = "select execution_park(%s, %s, %s)"
HISTORY = "select steps, begun from execution_history(%s, %s)"


@dataclass(frozen=True, slots=True)
class Claim:
    """A run this worker may drive, and write to as long as nobody else has claimed it since."""

    run_id: UUID
    team_id: UUID
    attempt: int
    last_seq: int
    age: float  # seconds since the first attempt began
    row: Mapping[str, Json] = field(repr=False)


async def claim(db: Database, run_id: UUID, worker: str) -> Claim | None:
    """None: somebody else holds it, or there is nothing left to do."""
    found = await db.value(CLAIM, (run_id, worker, LEASE))
    if found is None:
        return None
    row = found["run"]
    return Claim(
        run_id, UUID(row["team_id"]), row["attempt"], row["last_seq"], float(found["age"]), row
    )


async def next_turn(db: Database, done: Claim) -> UUID | None:
    """The turn of the same conversation that waited for this one."""
    if done.row.get("conversation_id") is None:
        return None
    found: UUID | None = await db.value(NEXT_TURN, (done.team_id, done.run_id))
    return found


async def renew(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """One statement for all runs of a worker; gives those that are still its own."""
    rows = await db.rows(
        RENEW,
        (
            list({held.team_id for held in claims}),
            [held.run_id for held in claims],
            [held.attempt for held in claims],
            LEASE,
        ),
    )
    return {row[0] for row in rows}


async def release(db: Database, held: Claim) -> bool:
    return bool(await db.value(RELEASE, (held.team_id, held.run_id, held.attempt)))


async def cancelled(db: Database, claims: Iterable[Claim]) -> set[UUID]:
    held = list(claims)
    teams = list({one.team_id for one in held})
    return {row[0] for row in await db.rows(CANCELLED, (teams, [one.run_id for one in held]))}


async def unattended(db: Database, queued_for: timedelta, limit: int = 100) -> list[UUID]:
    """Runs of every team that nobody holds and somebody should; oldest first."""
    return [row[0] for row in await db.rows(UNATTENDED, (queued_for, limit))]


async def park(db: Database, run_id: UUID, error: str) -> bool:
    """Fail a run whose lease ran out for the third time. False: it isn't such a run."""
    finished: dict[str, Json] = {
        "status": "failed",
        "outputs": {},
        "error": error,
        "error_node": None,
    }
    return bool(await db.value(PARK, (run_id, error, dump(finished))))


async def history(
    db: Database, held: Claim
) -> tuple[Sequence[Mapping[str, Json]], Sequence[StepKey]]:
    """Rows of finished steps, and the ones that had begun and not ended."""
    rows = await db.rows(HISTORY, (held.team_id, held.run_id))
    return rows[0][0], [StepKey(begun["node"], tuple(begun["rounds"])) for begun in rows[0][1]]
