"""Executes one scope of a run to its end: asks the scheduler for ready nodes, runs and records them.

The top level of a run is a scope, and so is every round of a container. A single ready node is awaited directly; of
several, the nodes that wait become tasks that report to one queue. The code works with any journal, a list or a
database.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial

from workflows.engine.kinds import Execution, NodeContext, NodeResult
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.language.variables import CONVERSATION, VariablePool
from workflows.engine.runtime.events import Event, NodeStateChange
from workflows.engine.runtime.run_context import NO_ANSWERS, Body, Failure, RunContext, RunHalted
from workflows.engine.runtime.state import NodeState, ScopeState
from workflows.engine.runtime.step import QuickResult, Step, build_record, run_step
from workflows.engine.runtime.step_parts import StepParts
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepError,
    StepHistory,
    StepKey,
    StepRecord,
    StepStatus,
)
from workflows.engine.runtime.step_reports import END_STATES, build_end_event
from workflows.engine.runtime.streaming import ScopeStreaming
from workflows.engine.testing.mocks import Mock


# A node with the record of its step, which is None if a node inside it is paused; or the error that ends the scope.
Report = tuple[PlanNode, StepRecord | None] | BaseException

# The number of steps without a wait after which the run yields to the event loop.
_STEPS_PER_TURN = 50


class Frame:
    """Runs the nodes of one scope, and keeps the state of the scope."""

    def __init__(
        self, run_context: RunContext, plan: Plan, pool: VariablePool, rounds: tuple[int, ...] = ()
    ) -> None:
        self.run_context, self.plan, self.rounds = run_context, plan, rounds
        self._journal = run_context.journal
        self.state = ScopeState(plan, pool)
        self.stream = ScopeStreaming(plan, pool, run_context.session_queue)
        self.failure: Failure | None = None
        self.is_paused = False  # a node here waits to be resumed
        self.changed_variables: set[str] = set()  # conversation variables that were set here
        self._ready: deque[int] = deque()
        self._running_since: dict[int, float] = {}  # running node → its start
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsettled = 0  # tasks whose report hasn't been processed yet
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._is_replaying = False  # then no events are published

    async def run(self) -> Failure | None:
        """Run the scope to its end, or continue after the steps of an earlier attempt. Return the failure, if any."""
        try:
            self._replay(self.run_context.step_history)
            await self._run_ready_nodes()
        finally:
            await self._abandon()
        return self.failure

    # -- the loop -------------------------------------------------------------------------------

    async def _run_ready_nodes(self) -> None:
        ready, nodes, run_context = self._ready, self.plan.nodes, self.run_context
        while self.failure is None and (ready or self._unsettled):
            if run_context.control.is_stopping:
                # A pending cancellation is raised here; without one (stopped too early) raise it.
                await asyncio.sleep(0)
                raise asyncio.CancelledError
            if not ready:
                await self._settle_next_report()
                continue
            node = nodes[ready.popleft()]
            # The start of a round has no effect, so limits and breakpoints do not apply.
            if node.kind.execution is not Execution.ENTRY:
                pause_control = run_context.pause_control
                if pause_control is not None and pause_control.pause_before(self._build_key(node)):
                    self.is_paused = True
                    continue
                if run_context.count_step():
                    raise RunHalted(run_context.build_limit_error())
            await self._start_node(node, is_only=not ready and not self._unsettled)

    async def _start_node(self, node: PlanNode, *, is_only: bool) -> None:
        """Run a quick node at once. Await another node if it is the only one, or else start a task for it."""
        mocks = self.run_context.mocks
        mock = mocks.find(node.id, node.kind_name) if mocks is not None else None
        step = self._start_step(node)
        quick_result: QuickResult = None
        if node.is_quick and mock is None:
            try:
                quick_result = node.kind.run(node.prepared, step.ctx)
            except Exception as fault:
                quick_result = fault
            if quick_result.__class__ is NodeResult:
                record = build_record(step, quick_result, 1)
                await self.record_step(node, record, quick_result.events)
                self._settle(node, record)
                await self._yield_turn()
                return
        if is_only:
            self._settle(node, await run_step(step, mock, quick_result))
            return
        task = asyncio.create_task(self._run_step(step, mock, quick_result))
        self._unsettled += 1
        tasks = self._tasks
        tasks.add(task)
        task.add_done_callback(lambda finished: _discard_task(finished, tasks, quick_result))

    async def _yield_turn(self) -> None:
        self.run_context.steps_since_yield += 1
        if self.run_context.steps_since_yield >= _STEPS_PER_TURN:
            self.run_context.steps_since_yield = 0
            await asyncio.sleep(0)

    async def _run_step(self, step: Step, mock: Mock | None, quick_result: QuickResult) -> None:
        try:
            report: Report = (step.node, await run_step(step, mock, quick_result))
        except asyncio.CancelledError:
            raise
        except BaseException as fault:
            report = fault
        self._reports.put_nowait(report)

    async def _settle_next_report(self) -> None:
        report = await self._reports.get()
        while True:
            self._unsettled -= 1
            if isinstance(report, BaseException):
                raise report
            self._settle(*report)
            if self._reports.empty() or self.failure is not None:
                return
            report = self._reports.get_nowait()

    def _settle(self, node: PlanNode, record: StepRecord | None) -> None:
        """Apply a finished step: mark nodes ready or skipped, and print the available text."""
        if record is None:  # a container with a paused node
            self._running_since.pop(node.index, None)
            self.is_paused = True
            return
        if record.status is StepStatus.FAILED:
            error = record.error or StepError("NodeFailed", "The node failed.")
            self.failure = Failure(RunStatus.FAILED, error.type, error.message, node.id)
            return
        scheduler = self.state.scheduler
        ready, skipped = scheduler.finish(node.index, record.handle)
        for index in skipped:
            self._skip(index)
        self.stream.mark_ran(node.index)
        if node.index in self.plan.gates:
            self.stream.open_sessions_after(node, scheduler.edges)
        self._ready.extend(ready)

    def _skip(self, index: int) -> None:
        node = self.plan.nodes[index]
        self.state.move(index, NodeState.SKIPPED)
        self.stream.mark_skipped(index)
        if not self._is_replaying:
            at = self.run_context.now()
            self._journal.add_event(
                NodeStateChange(node.id, "skipped", node.kind_name, node.title, self.rounds, at)
            )

    # -- beginnings and ends --------------------------------------------------------------------

    def _replay(self, step_history: StepHistory) -> None:
        """Restore the state in which an earlier attempt left the scope.

        Its events are not published again, but its text is: a journal restarts its text with each
        attempt, so that a partial answer of a lost attempt is never joined to a complete answer.
        """
        self.stream.begin()
        self._ready.append(self.plan.root)
        if not step_history:
            return
        self._is_replaying = True
        for record in step_history.list_steps(self.plan.container, self.rounds):
            index = self.plan.by_id.get(record.key.node_id)
            if index is None:
                continue
            node = self.plan.nodes[index]
            if index in self._ready:
                self._ready.remove(index)
            if node.body is not None:
                self.run_context.bodies.restore(self, node)
            self.state.move(index, NodeState.RUNNING)
            self._add_record(node, record)
            self._settle(node, record)
            if node.kind.execution is not Execution.ENTRY:
                self.run_context.steps += record.tries
        self._is_replaying = False

    async def _abandon(self) -> None:
        """Cancel all tasks of the scope, so that none outlives it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        for index, started in self._running_since.items():
            node = self.plan.nodes[index]
            self.run_context.unfinished_steps.append((node, self._build_key(node), started))
        self._running_since.clear()

    # -- called by the step ---------------------------------------------------------------------

    async def record_step(
        self, node: PlanNode, record: StepRecord, events: Sequence[Event]
    ) -> None:
        # Set before anything is awaited, so that a second assigner reads the new value.
        self._add_record(node, record)
        change = build_end_event(node, record)
        await self._journal.record(record, (*events, change) if events else (change,))

    def _add_record(self, node: PlanNode, record: StepRecord) -> None:
        self._running_since.pop(node.index, None)
        self.state.move(node.index, END_STATES[record.status][0])
        self.state.add_record(node, record)
        self.run_context.state.add_record(node, record)
        for write in record.writes:
            if write.selector[0] == CONVERSATION:
                self.changed_variables.add(write.selector[1])

    # -- starting steps -------------------------------------------------------------------------

    def _build_key(self, node: PlanNode) -> StepKey:
        return StepKey(node.id, self.rounds) if self.rounds else node.key

    def _start_step(self, node: PlanNode) -> Step:
        self.state.move(node.index, NodeState.RUNNING)
        run_context, key = self.run_context, self._build_key(node)
        now = run_context.ports.clock.monotonic()
        self._running_since[node.index] = now
        at = run_context.wall_offset + now
        self._journal.add_event(
            NodeStateChange(node.id, "running", node.kind_name, node.title, self.rounds, at)
        )
        body = run_context.bodies.open(self, node) if node.body is not None else None
        return Step(self, node, self._build_context(node, key, body), key, now, body)

    def build_context(self, node: PlanNode, body: Body | None) -> NodeContext:
        return self._build_context(node, self._build_key(node), body)

    def _build_context(self, node: PlanNode, key: StepKey, body: Body | None) -> NodeContext:
        run_context = self.run_context
        answers = run_context.answers
        return NodeContext(
            node.id,
            run_context.start.run_id,
            self.state.pool,
            run_context.ports,
            run_context.start.inputs,
            self.plan.variable_types,
            self.rounds,
            partial(self.stream.add_chunk, node.index) if node.kind.streams else None,
            body,
            untrusted=run_context.state.untrusted,
            recalled=run_context.plan.flow.recalled,
            shown_memories=run_context.state.shown_memories,
            own_sources=run_context.state.own_sources,
            parts=StepParts(run_context, key) if node.kind.has_parts else None,
            answers=answers.get(key, NO_ANSWERS) if answers else NO_ANSWERS,
        )


def _discard_task(
    task: asyncio.Task[None], tasks: set[asyncio.Task[None]], quick_result: object
) -> None:
    tasks.discard(task)
    if isinstance(quick_result, Coroutine):  # the task was cancelled before it ran
        quick_result.close()
