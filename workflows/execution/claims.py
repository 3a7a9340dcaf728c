"""Claim runs, renew the claims and release them. The attempt number is the fencing token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings

from config.postgres.outages import retry_during_outage
from workflows.engine.language.document import Json
from workflows.engine.runtime.step_records import StepKey
from workflows.execution.db import Database
from workflows.fair_shares import Shares


LEASE = timedelta(seconds=15)
RENEW_EVERY = 5.0  # seconds; two renewals may fail before the lease is gone

CLAIM = "select execution_claim(%s, %s, %s, %s)"
CLAIM_NEXT = "select execution_claim_next(%s, %s, %s, %s, %s, %s)"
CHILD = "select execution_find_child(%s, %s, %s)"
STOP_CHILD = "select execution_stop_child(%s, %s)"
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
    commit_count: int = 0  # the commits of earlier attempts


async def claim_run(
    db: Database, run_id: UUID, worker: str, *, is_isolated: bool = False
) -> Claim | None:
    """Claim a run, or return None if another worker holds it or there is nothing left to do.

    Only an isolated worker gets a run that may be what kills its workers.
    """
    return _build_claim(await db.fetch_value(CLAIM, (run_id, worker, LEASE, is_isolated)))


async def claim_next_run(db: Database, worker: str, shares: Shares[UUID]) -> Claim | None:
    """Claim the queued run whose turn it is, or return None if no team may take a slot of the worker for one.

    ``shares`` are the slots of the worker by team. The order is in ``sql/queue.sql``.
    """
    values = (
        *(worker, LEASE, shares.list_full(), shares.list_by_last_turn()),
        *(settings.TEAM_RUNNING_RUNS, settings.WORKFLOW_RUNNING_RUNS),
    )
    return _build_claim(await db.fetch_value(CLAIM_NEXT, values))


async def find_child(db: Database, parent: Claim, key: str) -> Mapping[str, Json] | None:
    """Return the child that a step of the run started under this key, or None."""
    values = (parent.team_id, parent.run_id, key)
    row: Mapping[str, Json] | None = await retry_during_outage(
        partial(db.fetch_value, CHILD, values)
    )
    return row


async def stop_child(db: Database, parent: Claim, child_id: UUID) -> None:
    await retry_during_outage(partial(db.fetch_value, STOP_CHILD, (parent.team_id, child_id)))


async def renew_claims(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """Renew all claims of a worker in one statement, and return the ids of the runs that it still holds.

    In an outage it is tried again at short intervals: several outages in a row, each shorter than a lease, would otherwise
    end one if the worker's turns happened to fall into them.
    """
    attempts = [claim.attempt for claim in claims]
    values = (*_list_ids(claims), attempts, LEASE)
    rows = await retry_during_outage(partial(db.fetch_rows, RENEW, values))
    return {row[0] for row in rows}


async def release_run(db: Database, claim: Claim) -> bool:
    """End the claim of an unfinished run, so that another worker can claim it. Return False if it has been lost."""
    values = (claim.team_id, claim.run_id, claim.attempt)
    return bool(await retry_during_outage(partial(db.fetch_value, RELEASE, values)))


async def list_cancelled(db: Database, claims: Sequence[Claim]) -> set[UUID]:
    """Return the ids of the claimed runs whose cancellation has been requested."""
    return {row[0] for row in await db.fetch_rows(CANCELLED, _list_ids(claims))}


async def load_history(
    db: Database, claim: Claim
) -> tuple[Sequence[Mapping[str, Json]], Mapping[StepKey, int]]:
    """Return the rows of the finished steps, and the steps that a lost worker began, each with its last attempt."""
    values = (claim.team_id, claim.run_id)
    rows = await retry_during_outage(partial(db.fetch_rows, HISTORY, values))
    finished, open_steps = rows[0]
    begun_steps = {
        StepKey(step["node"], tuple(step["rounds"])): step["attempt"] for step in open_steps
    }
    return finished, begun_steps


async def load_parts(db: Database, claim: Claim) -> Sequence[Mapping[str, Json]]:
    """Return the rows of the finished parts of steps."""
    values = (claim.team_id, claim.run_id)
    rows: Sequence[Mapping[str, Json]] = await retry_during_outage(
        partial(db.fetch_value, PARTS, values)
    )
    return rows


async def load_answers(db: Database, claim: Claim) -> Sequence[Mapping[str, Json]]:
    """Return the rows of the waits that have ended, with an answer or because they were due."""
    values = (claim.team_id, claim.run_id)
    rows: Sequence[Mapping[str, Json]] = await retry_during_outage(
        partial(db.fetch_value, ANSWERS, values)
    )
    return rows


def _build_claim(claimed: Mapping[str, Json] | None) -> Claim | None:
    if claimed is None:
        return None
    row = claimed["run"]
    return Claim(
        UUID(row["id"]),
        UUID(row["team_id"]),
        row["attempt"],
        row["last_seq"],
        float(claimed["age"]),
        row,
        claimed["commits"],
    )


def _list_ids(claims: Sequence[Claim]) -> tuple[list[UUID], list[UUID]]:
    return list({claim.team_id for claim in claims}), [claim.run_id for claim in claims]
