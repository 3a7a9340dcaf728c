"""Execute a claimed run: load its document and finished steps, run the remaining steps, and write the result."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import loads

from django.conf import settings
from django.db import DatabaseError

from config.redaction import Redactor
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_use.merged_functions import MergingTools
from workflows.engine.ports import Ports
from workflows.engine.runtime.events import NodeStateChange, RunFinished, RunStarted
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.partial_runs import select_missing_node_steps
from workflows.engine.runtime.run_request import RunControl, RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey
from workflows.engine.runtime.waits import Answer, get_reason
from workflows.engine.testing.mocks import Mocks
from workflows.execution import claims
from workflows.execution.claims import Claim
from workflows.execution.curation.reminder import add_reminder
from workflows.execution.curation.run_summary import plan_curation
from workflows.execution.db import Database
from workflows.execution.debugging import run_options
from workflows.execution.errors import JournalRefused
from workflows.execution.journal.codec import (
    dump,
    parse_answer,
    parse_step_key,
    parse_step_record,
)
from workflows.execution.journal.journal import DurableJournal
from workflows.execution.journal.masking import build_run_redactor
from workflows.execution.journal.outbox import Outbox
from workflows.execution.plans import PreparedDocument
from workflows.execution.ports.adapters import (
    Services,
    build_ports,
    build_tools,
    clear_notes,
    record_run_start,
)
from workflows.execution.ports.children import ChildDriver, ChildRuns
from workflows.execution.ports.workflow_tools import WorkflowTools
from workflows.execution.question_mail import has_mail, mail_questions
from workflows.execution.run_setup import Setup, load_setup
from workflows.execution.threads import run_in_thread


log = logging.getLogger(__name__)

STOPPED = "The run was stopped."
BROKEN = "Internal error in the engine. See the server log for details."


@dataclass(slots=True)
class RunExecution:
    """The execution of a claimed run by this worker. The worker stops, hands over or loses it from outside."""

    claim: Claim
    control: RunControl = field(default_factory=RunControl)
    task: "asyncio.Task[None] | None" = None
    journal: DurableJournal | None = None
    handing_over: bool = False  # the worker stops, so the run is released unfinished
    lost: Exception | None = None  # why the run's journal can't be written any more
    debug: run_options.DebugOptions = field(init=False)

    def __post_init__(self) -> None:
        self.debug = run_options.DebugOptions.from_row(self.claim.row)

    def stop(self) -> None:
        """Cancel the running steps, and end the run as stopped."""
        self.control.stop(STOPPED)

    def hand_over(self) -> None:
        """Interrupt the execution, and release the run for another worker."""
        self.handing_over = True
        self._cancel()

    def lose(self, reason: Exception) -> None:
        """Interrupt the execution, because its journal can't be written any more."""
        if self.lost is None:
            self.lost = reason
            self._cancel()

    def is_leaving(self) -> bool:
        """Return whether the run goes on in another worker."""
        return self.handing_over or self.lost is not None

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The resources that all runs of a worker share."""

    db: Database
    outbox: Outbox
    services: Services
    children: ChildDriver


async def execute_run(execution: RunExecution, context: WorkerContext) -> None:
    """Execute a run until it ends, pauses, is released or is claimed by another worker. An error fails the run."""
    claim = execution.claim
    try:
        prepared = await run_options.load_prepared(claim, execution.debug)
        setup = await load_setup(claim, prepared)
    except EngineFault as fault:
        await _fail(execution, context, fault)
        return
    except asyncio.CancelledError:
        await claims.release_run(context.db, claim)
        return
    redactor = build_run_redactor(str(claim.run_id), setup.secrets)
    journal = execution.journal = DurableJournal(
        claim,
        context.db,
        context.outbox,
        redactor=redactor,
        titles=prepared.titles,
        on_lost=execution.lose,
    )
    run = _Attempt(execution, context, prepared, setup, journal, redactor)
    try:
        await run.execute()
    except asyncio.CancelledError:
        await run.handle_interruption()
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at a run, with its loaded document and setup."""

    execution: RunExecution
    context: WorkerContext
    prepared: PreparedDocument
    setup: Setup
    journal: DurableJournal
    redactor: Redactor

    async def execute(self) -> None:
        claim, debug = self.execution.claim, self.execution.debug
        if claim.row["cancel_requested_at"]:
            self.execution.stop()
        rows = await self._load_history()
        parts = await self._load_parts()
        history = tuple(parse_step_record(row) for row in (*rows, *parts))
        plan = self.prepared.plan
        missing_steps = [] if debug.part.is_whole else select_missing_node_steps(plan, history)
        start = self._build_start()
        mocks = Mocks(claim.row["mocks"]) if claim.row["mocks"] else None
        pause_control = run_options.build_pause_control(claim, debug, rows)
        ports = add_reminder(build_ports(claim, self.setup, self.context.services), claim)
        children = ChildRuns(claim, self.context.children, self.execution.is_leaving, self.redactor)
        workflow_tools = WorkflowTools(claim, children)
        tools = MergingTools(
            build_tools(claim, self.context.services, workflow_tools), workflow_tools.load
        )
        ports = replace(ports, sub_workflows=children, tools=tools)
        await record_run_start(claim, self.prepared.document)
        try:
            result = await execute_plan(
                plan,
                start,
                ports,
                self.journal,
                history=history,
                mocks=mocks,
                control=self.execution.control,
                pause_control=pause_control,
                seeds=missing_steps,
                answers=await self._load_answers(),
            )
        except EngineFault as fault:
            if self.execution.lost is not None:
                await self.handle_interruption()
                return
            result = _build_failure(start, fault.message, fault.error_type)
        except Exception:
            log.exception("run_broke", extra={"run": str(claim.run_id)})
            result = _build_failure(start, BROKEN)
        if result.status is RunStatus.PAUSED:
            reason = pause_control.reason if pause_control else ""
            await self._pause(result, len(missing_steps), reason or get_reason(result.open_waits))
        else:
            await self._finish(result, ports)

    def _build_start(self) -> RunStart:
        claim, variables = self.execution.claim, self.execution.debug.variables
        return RunStart(
            run_id=str(claim.run_id),
            inputs=claim.row["inputs"],
            system=claim.row["system"],
            environment=self.setup.secrets,
            conversation=self.setup.conversation if variables is None else variables,
            untrusted=self._list_untrusted(),
            started_at=time.time() - claim.age,
            max_steps=settings.RUN_MAX_STEPS,
            steps_setting="the server's RUN_MAX_STEPS",
            timeout_seconds=run_options.get_time_limit(claim),
        )

    def _list_untrusted(self) -> Collection[str]:
        if not self.execution.claim.row["has_untrusted_inputs"]:
            return self.setup.untrusted
        return (*self.setup.untrusted, *self.prepared.plan.input_sources)

    async def _load_history(self) -> Sequence[Mapping[str, Json]]:
        """Return the rows of the steps that earlier attempts finished, and announce that the open steps are retried."""
        claim, debug = self.execution.claim, self.execution.debug
        if claim.last_seq == 0:
            self.journal.add_event(RunStarted(claim.row["inputs"]))
        if claim.attempt == 1 and not debug.has_history:
            return ()
        steps, open_steps = await claims.load_history(self.context.db, claim)
        if self.redactor:
            steps = loads(self.redactor.restore_json_text(dump(steps)))
        if claim.last_seq == 0:
            for event in run_options.list_reused_events(steps, debug):
                self.journal.add_event(event)
        for step in open_steps:
            self.journal.add_event(
                NodeStateChange(
                    step.node_id,
                    "retrying",
                    rounds=step.rounds,
                    at=time.time(),
                    attempt=claim.attempt,
                    error="The worker was lost before this step finished.",
                    error_type="WorkerLost",
                )
            )
        return steps

    async def _load_parts(self) -> Sequence[Mapping[str, Json]]:
        """Return the finished parts of steps that earlier attempts left unfinished."""
        if self.execution.claim.attempt == 1 or not self.prepared.plan.has_parts:
            return ()
        parts = await claims.load_parts(self.context.db, self.execution.claim)
        return loads(self.redactor.restore_json_text(dump(parts))) if self.redactor else parts

    async def _load_answers(self) -> Mapping[StepKey, Answer]:
        """Return the answers to what earlier attempts waited for."""
        if self.execution.claim.attempt == 1:
            return {}
        rows = await claims.load_answers(self.context.db, self.execution.claim)
        return {parse_step_key(row): parse_answer(row) for row in rows}

    async def _pause(self, result: RunResult, inserted_count: int, reason: str) -> None:
        claim, paused_at = self.execution.claim, time.time()
        event, state = run_options.build_pause(
            claim, result, self.prepared.document, inserted_count, reason, paused_at
        )
        events = [*run_options.list_paused_events(self.prepared, result, paused_at), event]
        if has_mail(each.wait.form for each in result.open_waits):
            await _mail_questions(claim)
        try:
            await self.journal.pause(events, state)
        except EngineFault:
            await self.handle_interruption()

    async def _finish(self, result: RunResult, ports: Ports) -> None:
        claim = self.execution.claim
        try:
            await self.journal.finish(result.build_event(), _build_final_state(claim, result))
        except EngineFault:
            await self.handle_interruption()
        else:
            await clear_notes(claim, ports)
            await plan_curation(ports, claim)

    async def handle_interruption(self) -> None:
        """Fail or release a run whose execution was interrupted; if another worker may execute it, only log that."""
        execution = self.execution
        if isinstance(execution.lost, JournalRefused):
            await _fail(execution, self.context, execution.lost)
        elif execution.lost is not None:
            _log_lost(execution.claim, execution.lost)
        elif execution.handing_over:
            try:
                await self.journal.flush()
            except EngineFault as fault:
                _log_lost(execution.claim, fault)
                return
            await claims.release_run(self.context.db, execution.claim)


def _build_failure(start: RunStart, error: str, error_type: str | None = None) -> RunResult:
    """Return the result of a run that failed inside the engine, which leaves its conversation unchanged."""
    return RunResult(
        RunStatus.FAILED,
        error=error,
        error_type=error_type,
        conversation=start.conversation,
        untrusted=tuple(start.untrusted),
    )


async def _mail_questions(claim: Claim) -> None:
    try:
        await run_in_thread(mail_questions, claim.team_id, claim.run_id)
    except DatabaseError as error:
        log.warning("questions_not_mailed", extra={"run": str(claim.run_id), "why": str(error)})


def _build_final_state(claim: Claim, result: RunResult) -> Mapping[str, Json]:
    """Return the columns of the ended run, and for a chat its variables and answer."""
    state: dict[str, Json] = {
        "status": result.status.value,
        "outputs": result.outputs,
        "error": result.error,
        "error_node": result.error_node,
        "exceptions_count": result.exceptions_count,
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "has_untrusted_outputs": result.has_untrusted_outputs,
    }
    if claim.row["conversation_id"]:
        state["variables"] = result.conversation
        state["outside"] = result.untrusted
        if result.is_successful:
            state["answer"] = str(result.outputs.get("answer", ""))
    return state


async def _fail(execution: RunExecution, context: WorkerContext, fault: EngineFault) -> None:
    """Fail the run through a new journal that continues after the stored events, because its own can't be written."""
    seq = execution.journal.seq if execution.journal is not None else execution.claim.last_seq
    claim = replace(execution.claim, last_seq=seq)
    journal = DurableJournal(claim, context.db, context.outbox)
    try:
        if seq == 0:
            journal.add_event(RunStarted(claim.row["inputs"]))
        await journal.finish(
            RunFinished(RunStatus.FAILED.value, error=fault.message),
            {"status": RunStatus.FAILED.value, "error": fault.message, "outputs": {}},
        )
    except EngineFault as error:
        _log_lost(claim, error)
    finally:
        journal.close()


def _log_lost(claim: Claim, reason: Exception) -> None:
    log.warning("run_lost", extra={"run": str(claim.run_id), "why": str(reason)})
