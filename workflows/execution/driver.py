"""Drives one claimed run: loads what is pinned and what is done, runs the rest, writes the end."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import loads

from django.conf import settings

from workflows.engine.document import Json
from workflows.engine.errors import WorkflowFault
from workflows.engine.events import NodeStateChange, RunFinished, RunStarted
from workflows.engine.loop import drive
from workflows.engine.mocks import Mocks
from workflows.engine.partial import seeds
from workflows.engine.ports import Ports
from workflows.engine.records import RunStatus
from workflows.engine.runs import RunControl, RunResult, RunStart
from workflows.execution import claims
from workflows.execution.adapters import Services, ports_for, run_began, run_ended
from workflows.execution.claims import Claim
from workflows.execution.codec import dump, step_record
from workflows.execution.db import Database
from workflows.execution.debugging import (
    Debug,
    brake_of,
    held_events,
    patience,
    paused,
    prepared_for,
    reused_events,
)
from workflows.execution.errors import JournalRefused
from workflows.execution.journal import DurableJournal
from workflows.execution.learning import plan_curation, with_learning
from workflows.execution.masking import Mask, mask_for
from workflows.execution.outbox import Outbox
from workflows.execution.plans import Prepared
from workflows.execution.setup import Setup, load_setup


log = logging.getLogger(__name__)

STOPPED = "The run was stopped."


@dataclass(slots=True)
class Drive:
    """A run in this worker's hands."""

    claim: Claim
    control: RunControl = field(default_factory=RunControl)
    task: "asyncio.Task[None] | None" = None
    journal: DurableJournal | None = None
    handing_over: bool = False  # the worker stops: give the run back as it is
    lost: Exception | None = None
    debug: Debug = field(init=False)

    def __post_init__(self) -> None:
        self.debug = Debug.of(self.claim.row)

    def stop(self) -> None:
        self.control.stop(STOPPED)

    def hand_over(self) -> None:
        self.handing_over = True
        self._cancel()

    def lose(self, reason: Exception) -> None:
        if self.lost is None:
            self.lost = reason
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


@dataclass(frozen=True, slots=True)
class World:
    """What every run of a worker shares."""

    db: Database
    outbox: Outbox
    services: Services


async def drive_run(held: Drive, world: World) -> None:
    """Returns when the run ended, paused, was handed back or lost; only a bug raises."""
    claim = held.claim
    try:
        ready = await prepared_for(claim, held.debug)
        setup = await load_setup(claim, ready)
    except WorkflowFault as fault:
        await _fail(held, world, fault)
        return
    except asyncio.CancelledError:
        await claims.release(world.db, claim)
        return
    mask = mask_for(str(claim.run_id), setup.secrets)
    journal = held.journal = DurableJournal(
        claim, world.db, world.outbox, mask=mask, titles=ready.titles, on_lost=held.lose
    )
    try:
        await _drive(held, world, ready, setup, journal, mask)
    except asyncio.CancelledError:
        await _interrupted(held, world, journal)
    finally:
        journal.close()


async def _drive(
    held: Drive, world: World, ready: Prepared, setup: Setup, journal: DurableJournal, mask: Mask
) -> None:
    claim = held.claim
    if claim.row["cancel_requested_at"]:
        held.control.stop(STOPPED)
    debug = held.debug
    rows = await _history(claim, debug, world.db, journal, mask)
    history = tuple(step_record(row) for row in rows)
    outside = seeds(ready.plan, history) if not debug.part.is_whole else []
    start = RunStart(
        run_id=str(claim.run_id),
        inputs=claim.row["inputs"],
        system=claim.row["system"],
        environment=setup.environment,
        conversation=setup.conversation if debug.variables is None else debug.variables,
        outside=setup.outside,
        started_at=time.time() - claim.age,
        max_steps=settings.RUN_MAX_STEPS,
        steps_setting="the server's RUN_MAX_STEPS",
        timeout_seconds=patience(claim),
    )
    brake = brake_of(claim, debug, rows)
    mocks = Mocks(claim.row["mocks"]) if claim.row["mocks"] else None
    ports = with_learning(ports_for(claim, setup, world.services), claim)
    await run_began(ports, ready.document)
    try:
        result = await drive(
            ready.plan,
            start,
            ports,
            journal,
            history=history,
            mocks=mocks,
            control=held.control,
            brake=brake,
            seeds=outside,
        )
    except WorkflowFault as fault:
        if held.lost is not None:
            await _interrupted(held, world, journal)
            return
        result = _broke(start, fault.message, fault.error_type)
    except Exception:
        log.exception("run_broke", extra={"run": str(claim.run_id)})
        result = _broke(start, "Something went wrong inside the engine; the log has the details.")
    if result.status is RunStatus.PAUSED and brake is not None:
        await _pause(held, world, journal, ready, result, len(outside), brake.reason)
    else:
        await _finish(held, world, journal, result, ports)


def _broke(start: RunStart, error: str, error_type: str | None = None) -> RunResult:
    """The conversation stays as the run found it."""
    return RunResult(
        RunStatus.FAILED,
        error=error,
        error_type=error_type,
        conversation=start.conversation,
        outside=tuple(start.outside),
    )


async def _history(
    claim: Claim, debug: Debug, db: Database, journal: DurableJournal, mask: Mask
) -> Sequence[Mapping[str, Json]]:
    """Finished steps of earlier attempts; the nodes these left open are announced as tried again."""
    if claim.last_seq == 0:
        journal.note(RunStarted(claim.row["inputs"]))
    if claim.attempt == 1 and not debug.has_history:
        return ()
    steps, begun = await claims.history(db, claim)
    if mask.pairs:
        steps = loads(mask.off(dump(steps)))
    if claim.last_seq == 0:
        for event in reused_events(steps, debug):
            journal.note(event)
    for step in begun:
        journal.note(
            NodeStateChange(
                step.node_id,
                "retrying",
                rounds=step.rounds,
                at=time.time(),
                attempt=claim.attempt,
                error="The worker was lost before this step was done.",
                error_type="WorkerLost",
            )
        )
    return steps


async def _pause(
    held: Drive,
    world: World,
    journal: DurableJournal,
    ready: Prepared,
    result: RunResult,
    kept: int,
    reason: str,
) -> None:
    at = time.time()
    event, state = paused(held.claim, result, ready.document, kept, reason, at)
    try:
        await journal.pause([*held_events(ready, result, at), event], state)
    except WorkflowFault:
        await _interrupted(held, world, journal)


async def _finish(
    held: Drive, world: World, journal: DurableJournal, result: RunResult, ports: Ports
) -> None:
    try:
        await journal.finish(result.event(), _end(held.claim, result))
    except WorkflowFault:
        await _interrupted(held, world, journal)
    else:
        await run_ended(ports)
        await plan_curation(ports, held.claim)


def _end(claim: Claim, result: RunResult) -> Mapping[str, Json]:
    end: dict[str, Json] = {
        "status": result.status.value,
        "outputs": result.outputs,
        "error": result.error,
        "error_node": result.error_node,
        "exceptions_count": result.exceptions_count,
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
    }
    if claim.row["conversation_id"]:
        end["variables"] = result.conversation
        end["outside"] = result.outside
        if result.succeeded:
            end["answer"] = str(result.outputs.get("answer", ""))
    return end


async def _interrupted(held: Drive, world: World, journal: DurableJournal) -> None:
    """The run isn't over, but this worker is done with it."""
    if isinstance(held.lost, JournalRefused):
        await _fail(held, world, held.lost)
    elif held.lost is not None:
        log.warning("run_lost", extra={"run": str(held.claim.run_id), "why": str(held.lost)})
    elif held.handing_over:
        try:
            await journal.flush()
        except WorkflowFault as fault:
            log.warning("run_lost", extra={"run": str(held.claim.run_id), "why": str(fault)})
            return
        await claims.release(world.db, held.claim)


async def _fail(held: Drive, world: World, fault: WorkflowFault) -> None:
    """Its journal can't take it any further: say so in a journal of its own, after what was stored."""
    seq = held.journal.seq if held.journal is not None else held.claim.last_seq
    claim = Claim(
        held.claim.run_id,
        held.claim.team_id,
        held.claim.attempt,
        seq,
        held.claim.age,
        held.claim.row,
    )
    journal = DurableJournal(claim, world.db, world.outbox)
    try:
        if seq == 0:
            journal.note(RunStarted(claim.row["inputs"]))
        await journal.finish(
            RunFinished(RunStatus.FAILED.value, error=fault.message),
            {"status": RunStatus.FAILED.value, "error": fault.message, "outputs": {}},
        )
    except WorkflowFault as lost:
        log.warning("run_lost", extra={"run": str(claim.run_id), "why": str(lost)})
    finally:
        journal.close()
