"""Ranges of an iteration's rounds: how many rounds one has, and the child runs that execute them.

A range is a child run of the same snapshot, which acts as the whole run: with its id, inputs, secrets and memory. Its
lease and its attempt number are its own, so any worker claims it, and it survives the death of a worker like any run.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import derive_uuid7
from workflows.engine.language.document import Json
from workflows.engine.ports import RoundsRequest
from workflows.engine.runtime.loop import RoundRange
from workflows.execution.claims import Claim
from workflows.execution.wake_up import wake_workers
from workflows.models import Run


MAX_RANGES: Final = 8  # that run at a time
MAX_ROUNDS: Final = 100  # of one range
_SHARES: Final = 3  # ranges for each that runs at a time, so that a slow one doesn't keep the others waiting at the end


@dataclass(frozen=True, slots=True)
class Division:
    """The ranges of a container's rounds, of which ``at_once`` run at a time with ``limit`` rounds each."""

    at_once: int
    limit: int
    ranges: Sequence[range]


def divide_rounds(count: int, limit: int) -> Division:
    """Divide the rounds into ranges, the same in every attempt, so that at most ``limit`` rounds run at a time."""
    rounds_at_once = ceil(limit / MAX_RANGES)
    at_once = limit // rounds_at_once
    size = min(max(ceil(count / (at_once * _SHARES)), rounds_at_once), MAX_ROUNDS)
    ranges = [range(first, min(first + size, count)) for first in range(0, count, size)]
    return Division(at_once, rounds_at_once, ranges)


def make_range_id(run_id: UUID, node_id: str, first: int) -> UUID:
    """Return the id of the child run of a range, the same in every attempt."""
    return derive_uuid7(run_id, _make_key(node_id, first))


def start_ranges(
    claim: Claim,
    request: RoundsRequest,
    limit: int,
    ranges: Collection[range],
    conversation: Mapping[str, Json],
) -> None:
    """Queue the child runs of these ranges, unless an earlier attempt has done so, and wake workers."""
    runs = [_build_run(claim, request, limit, rounds, conversation) for rounds in ranges]
    with tenant([claim.team_id]):
        Run.objects.bulk_create(runs, ignore_conflicts=True)
    wake_workers(run.pk for run in runs)


def parse_range(row: Mapping[str, Json]) -> RoundRange:
    """Return the rounds that a run with this row executes."""
    rounds = row["rounds"]
    return RoundRange(
        rounds["node"], range(rounds["first"], rounds["first"] + rounds["count"]), rounds["limit"]
    )


def _build_run(
    claim: Claim,
    request: RoundsRequest,
    limit: int,
    rounds: range,
    conversation: Mapping[str, Json],
) -> Run:
    row = claim.row
    return Run(
        id=make_range_id(claim.run_id, request.node_id, rounds.start),
        team_id=claim.team_id,
        workflow_id=row["workflow_id"],
        snapshot_id=row["snapshot_id"],
        version_id=row["version_id"],
        parent_id=claim.run_id,
        parent_key=_make_key(request.node_id, rounds.start)[-255:],
        rounds={
            "node": request.node_id,
            "first": rounds.start,
            "count": len(rounds),
            "limit": limit,
            "conversation": dict(conversation),
        },
        subject=row["subject"],
        subject_user_id=row["subject_user_id"],
        started_by_id=row["started_by_id"],
        api_key_id=row["api_key_id"],
        actor=row["actor"],
        channel=row["channel"],
        client_call=row["client_call"],
        request_id=row["request_id"],
        trace_id=row["trace_id"],
        approval=row["approval"],
        offline=row["offline"],
        system=row["system"],
        is_counted=True,  # the whole run is counted, with the steps that it takes over
        queued_at=timezone.now(),
    )


def _make_key(node_id: str, first: int) -> str:
    return f"rounds:{node_id}:{first}"
