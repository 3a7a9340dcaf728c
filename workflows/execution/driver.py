"""Execute a claimed run: load its document and finished steps, run the remaining steps, and write the result."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from json import loads

import structlog
from django.conf import settings
from django.db import DatabaseError

from config.monitoring.metrics import RUNS_ENDED
from config.monitoring.tracing import open_span
from config.redaction import Redactor
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_use.merged_functions import MergingTools
from workflows.engine.ports import Ports
from workflows.engine.runtime.events import NodeStateChange, RunFinished, RunStarted
from workflows.engine.runtime.loop import execute_plan, execute_rounds
from workflows.engine.runtime.partial_runs import select_missing_node_steps
from workflows.engine.runtime.run_request import RunControl, RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord
from workflows.engine.runtime.waits import Answer, get_reason
from workflows.engine.sub_workflows.limited_tools import LimitedTools
from workflows.engine.sub_workflows.spending import Spending, limit_model, sum_recorded
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.execution import claims
from workflows.execution.called_runs import mark_calls
from workflows.execution.claims import Claim
from workflows.execution.curation.reminder import add_reminder
from workflows.execution.curation.run_summary import build_learning_question, plan_curation
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
from workflows.execution.journal.mocks import read_mocks
from workflows.execution.journal.outbox import Outbox
from workflows.execution.plans import PreparedDocument
from workflows.execution.ports.adapters import (
    Services,
    build_ports,
    build_tools,
    clear_notes,
    record_run_start,
)
from workflows.execution.ports.children import ChildDriver, ChildRuns, parse_shares, store_spent
from workflows.execution.ports.runs_below import build_reservation
from workflows.execution.ports.shares import StoredShares
from workflows.execution.ports.workflow_tools import WorkflowTools
from workflows.execution.questions.mail import has_mail, mail_questions
from workflows.execution.rounds.collecting import DistributedRounds
from workflows.execution.rounds.ranges import parse_range
from workflows.execution.rounds.whole_run import WholeRun, load_whole_run
from workflows.execution.run_setup import Setup, load_setup
from workflows.execution.threads import run_in_thread
from workflows.sandbox.places import run_for
from workflows.tools.kept_connections import ParkedConnections, keep_connections


log = logging.getLogger(__name__)

STOPPED = "The run was stopped."
ARCHIVED = "The workflow was archived, so nobody answers its question any more."
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
        pause = self.claim.row.get("pause") or {}
        self.control.stop(ARCHIVED if pause.get("stop_reason") == "archived" else STOPPED)

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
    connections: ParkedConnections = field(default_factory=ParkedConnections)


async def execute_run(execution: RunExecution, context: WorkerContext) -> None:
    """Execute a run until it ends, pauses, is released or is claimed by another worker. An error fails the run."""
    with run_for(execution.claim.team_id, execution.claim.row["workflow_id"]):
        await _execute_run(execution, context)


async def _execute_run(execution: RunExecution, context: WorkerContext) -> None:
    claim = execution.claim
    # For every log line of this task.
    structlog.contextvars.bind_contextvars(
        run=str(claim.run_id),
        request=claim.row.get("request_id") or None,
        trace=claim.row.get("trace_id") or None,
    )
    whole_run: WholeRun | None = None
    try:
        if claim.row["rounds"]:
            whole_run = await load_whole_run(context.db, claim)
        acting = whole_run.claim if whole_run else claim
        prepared = await run_options.load_prepared(claim, execution.debug)
        setup = await load_setup(acting, prepared)
    except EngineFault as fault:
        await _fail(execution, context, fault)
        return
    except asyncio.CancelledError:
        await claims.release_run(context.db, claim)
        return
    redactor = build_run_redactor(str(acting.run_id), setup.secrets)
    journal = execution.journal = DurableJournal(
        claim,
        context.db,
        context.outbox,
        redactor=redactor,
        titles=prepared.titles,
        on_lost=execution.lose,
    )
    run = _Attempt(execution, context, prepared, setup, journal, redactor, acting, whole_run)
    request_id, trace_id = (str(claim.row.get(name) or "") for name in ("request_id", "trace_id"))
    try:
        with open_span("run", run=str(claim.run_id), request=request_id, trace=trace_id):
            await run.execute()
    except asyncio.CancelledError:
        await run.handle_interruption()
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at a run, with its loaded document and setup.

    A run that executes rounds of another one acts as that run, whose claim is then ``acting``.
    """

    execution: RunExecution
    context: WorkerContext
    prepared: PreparedDocument
    setup: Setup
    journal: DurableJournal
    redactor: Redactor
    acting: Claim
    whole_run: WholeRun | None

    async def execute(self) -> None:
        claim, debug = self.execution.claim, self.execution.debug
        if claim.row["cancel_requested_at"]:
            self.execution.stop()
        rows, begun_steps = await self._load_history()
        parts = await self._load_parts()
        history = tuple(parse_step_record(row) for row in (*rows, *parts))
        plan = self.prepared.plan
        missing_steps = [] if debug.part.is_whole else select_missing_node_steps(plan, history)
        start = self._build_start()
        pause_control = run_options.build_pause_control(claim, debug, rows)
        spending = Spending(
            start.spending_limits,
            sum_recorded(history),
            shares=start.shares,
            port=StoredShares(self.execution.claim),
            reserve_steps=build_reservation(self.execution.claim, self.acting),
        )
        ports = self._build_ports(spending)
        run_plan = partial(
            self._get_executor(),
            start=start,
            ports=ports,
            journal=self.journal,
            history=history,
            mocks=read_mocks(self.acting.row["mocks"], self.redactor),
            control=self.execution.control,
        )
        if self.whole_run is not None:
            run_plan = partial(run_plan, seeds=self._list_seeds(self.whole_run))
        else:
            run_plan = partial(run_plan, seeds=missing_steps, pause_control=pause_control)
            await record_run_start(claim, self.prepared)
        try:
            connections = keep_connections(self.context.connections, claim.run_id)
            async with mark_calls(self.acting, spending), connections as pool:
                answers = await self._load_answers()
                result = await run_plan(answers=answers, begun_steps=begun_steps)
                pool.is_pausing = result.status is RunStatus.PAUSED
        except EngineFault as fault:
            if self.execution.lost is not None:
                await self.handle_interruption()
                return
            result = _build_failure(start, fault.message, fault.error_type)
        except Exception:
            log.exception("run_broke", extra={"run": str(claim.run_id)})
            result = _build_failure(start, BROKEN)
        if start.spending_limits:
            result = replace(result, usage=spending.complete(result.usage))
            await self._store_spent(start, spending.usage.cost)
        if result.status is RunStatus.PAUSED:
            reason = pause_control.reason if pause_control else ""
            await self._pause(result, len(missing_steps), reason or get_reason(result.open_waits))
        else:
            await self._finish(result, ports)

    async def _store_spent(self, start: RunStart, cost: float | None) -> None:
        """Store what the run has spent, for the agent above it. The run ends as it has, whether that can be stored or not."""
        claim, limits = self.execution.claim, start.spending_limits
        if limits.max_cost is None or not cost:
            return
        try:
            await run_in_thread(store_spent, claim, limits, start.shares, cost)
        except DatabaseError:
            log.exception("spending_not_stored", extra={"run": str(claim.run_id)})

    def _get_executor(self) -> Callable[..., Awaitable[RunResult]]:
        """Return the function that executes the plan, or the rounds of it that this run is for."""
        if self.whole_run is None:
            return partial(execute_plan, self.prepared.plan)
        return partial(execute_rounds, self.prepared.plan, parse_range(self.execution.claim.row))

    def _build_ports(self, spending: Spending) -> Ports:
        claim, services, is_leaving = (
            self.execution.claim,
            self.context.services,
            self.execution.is_leaving,
        )
        ports = add_reminder(build_ports(self.acting, self.setup, services), self.acting)
        if self.prepared.plan.begins_with_model:
            _expect_model(ports)
        children = ChildRuns(claim, self.context.children, is_leaving, self.redactor, spending)
        workflow_tools = WorkflowTools(claim, children)
        tools = MergingTools(
            build_tools(self.acting, services, workflow_tools), workflow_tools.load
        )
        rounds = DistributedRounds(claim, self.context.children, is_leaving, self.redactor)
        return replace(
            ports,
            model=limit_model(ports.model, spending),
            sub_workflows=children,
            tools=LimitedTools(tools, spending),
            rounds=rounds if self.whole_run is None else None,
        )

    def _list_seeds(self, whole_run: WholeRun) -> list[StepRecord]:
        rows = whole_run.steps
        if self.redactor:
            rows = loads(self.redactor.restore_json_text(dump(rows)))
        return [parse_step_record(row) for row in rows]

    def _get_conversation(self) -> Mapping[str, Json]:
        """Return the conversation variables with which the run begins."""
        if self.whole_run is not None:
            variables = self.execution.claim.row["rounds"]["conversation"]
            restored: Mapping[str, Json] = loads(self.redactor.restore_json_text(dump(variables)))
            return restored
        variables = self.execution.debug.variables
        return self.setup.conversation if variables is None else variables

    def _build_start(self) -> RunStart:
        claim = self.acting
        return RunStart(
            run_id=str(claim.run_id),
            inputs=claim.row["inputs"],
            system=claim.row["system"],
            environment=self.setup.secrets,
            conversation=self._get_conversation(),
            untrusted=self._list_untrusted(),
            shown_memories=self.setup.shown_memories,
            memories_in_inputs=claim.row["memories_in_inputs"],
            started_at=time.time() - claim.age,
            max_steps=settings.RUN_MAX_STEPS,
            steps_setting="the server's RUN_MAX_STEPS",
            timeout_seconds=run_options.get_time_limit(claim),
            spending_limits=SpendingLimits.from_json(claim.row.get("spending_limits")),
            shares=parse_shares(claim.row.get("spending_limits")),
        )

    def _list_untrusted(self) -> Collection[str]:
        row = self.acting.row
        starts = self.prepared.plan.list_untrusted_starts(
            has_untrusted_inputs=row["has_untrusted_inputs"],
            is_chosen=row["is_chosen_by_untrusted"],
        )
        return (*self.setup.untrusted, *starts)

    async def _load_history(
        self,
    ) -> tuple[Sequence[Mapping[str, Json]], Mapping[StepKey, int]]:
        """Return the rows of the steps that earlier attempts finished, and the steps that a lost worker began.

        Announce that those are retried.
        """
        claim, debug = self.execution.claim, self.execution.debug
        if claim.last_seq == 0:
            self.journal.add_event(RunStarted(claim.row["inputs"]))
        if claim.attempt == 1 and not debug.has_history:
            return (), {}
        steps, begun_steps = await claims.load_history(self.context.db, claim)
        if self.redactor:
            steps = loads(self.redactor.restore_json_text(dump(steps)))
        if claim.last_seq == 0:
            for event in run_options.list_reused_events(steps, debug):
                self.journal.add_event(event)
        lost_steps = [step for step, attempt in begun_steps.items() if attempt == claim.attempt - 1]
        for step in lost_steps:
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
        self.journal.expect_repeats(begun_steps)
        return steps, begun_steps

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
        else:
            RUNS_ENDED.labels(RunStatus.PAUSED.value).inc()

    async def _finish(self, result: RunResult, ports: Ports) -> None:
        claim = self.execution.claim
        try:
            is_learning = await self.journal.finish(
                result.build_event(),
                _build_final_state(claim, result),
                build_learning_question(ports, claim) if self.whole_run is None else None,
            )
        except EngineFault:
            await self.handle_interruption()
        else:
            if self.whole_run is None:
                RUNS_ENDED.labels(result.status.value).inc()
                await clear_notes(claim, ports)
                if is_learning:
                    await plan_curation(claim)

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
    except Exception:  # the run pauses, whatever happens to the mail
        log.exception("questions_not_mailed", extra={"run": str(claim.run_id)})


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
        "memories_in_outputs": result.memories_in_outputs,
    }
    if claim.row["conversation_id"]:
        state["variables"] = result.conversation
        state["outside"] = result.untrusted
        state["shown_memories"] = result.shown_memories
        if result.is_successful:
            state["answer"] = str(result.outputs.get("answer", ""))
    return state


def _expect_model(ports: Ports) -> None:
    """Look up what the first request to a model needs while the steps before it are executed and committed."""
    for port in (ports.model, ports.reminder):
        expect = getattr(port, "expect", None)  # not every port looks something up
        if expect is not None:
            expect()


async def _fail(execution: RunExecution, context: WorkerContext, fault: EngineFault) -> None:
    """Fail the run through a new journal that continues after the stored events, because its own can't be written."""
    claim, broken_journal = execution.claim, execution.journal
    if broken_journal is not None:
        await broken_journal.wait_for_writer()
        claim = replace(
            claim, last_seq=broken_journal.seq, commit_count=broken_journal.commit_count
        )
    journal = DurableJournal(claim, context.db, context.outbox)
    try:
        if claim.last_seq == 0:
            journal.add_event(RunStarted(claim.row["inputs"]))
        await journal.finish(
            RunFinished(RunStatus.FAILED.value, error=fault.message),
            {"status": RunStatus.FAILED.value, "error": fault.message, "outputs": {}},
        )
    except EngineFault as error:
        _log_lost(claim, error)
    else:
        RUNS_ENDED.labels(RunStatus.FAILED.value).inc()
    finally:
        journal.close()


def _log_lost(claim: Claim, reason: Exception) -> None:
    log.warning("run_lost", extra={"run": str(claim.run_id), "why": str(reason)})
