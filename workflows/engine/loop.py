"""Drives one run to its end: asks the scheduler what is ready, runs it, writes it down.

One ready node is awaited in place; of several, those that wait become tasks which report into one
queue. Nothing here knows whether the journal is a list or a database.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass

from workflows.engine.document import Json
from workflows.engine.errors import (
    LimitReached,
    NodeTimedOut,
    RunTimedOut,
    WorkflowFault,
)
from workflows.engine.events import Event, NodeStateChange, TextChunk
from workflows.engine.kinds import NodeContext, NodeResult
from workflows.engine.mocks import Mock, Mocks
from workflows.engine.partial import Brake
from workflows.engine.plan import FAIL_HANDLE, Plan, PlanNode
from workflows.engine.policy import Strategy
from workflows.engine.ports import Journal, Ports
from workflows.engine.records import RunStatus, StepError, StepRecord, StepStatus
from workflows.engine.reporting import ENDS, ended, error_of, retrying
from workflows.engine.runs import RunControl, RunResult, RunStart
from workflows.engine.state import NodeState, RunState, broken, finished_steps, succeeded
from workflows.engine.streaming import Streaming


# After so many steps that never waited the run lets others on its event loop have a turn.
_TURN = 50


async def drive(
    plan: Plan,
    start: RunStart,
    ports: Ports,
    journal: Journal,
    *,
    history: Sequence[StepRecord] = (),
    mocks: Mocks | None = None,
    control: RunControl | None = None,
    brake: Brake | None = None,
    seeds: Sequence[StepRecord] = (),
) -> RunResult:
    """Run to the end, or go on from ``history``: no step in it runs again.

    With a ``brake`` the run may end paused. ``seeds`` are results to be read of nodes that aren't
    in the plan.

    The run's own first and last event belong to who owns the run (``RunResult.event``). A
    cancellation that didn't come through ``control`` passes through: the driver lost the run, and
    somebody else will go on with it.
    """
    control = control or RunControl()
    driver = _Driver(plan, start, ports, journal, mocks, control, brake)
    driver.sow(seeds)
    control.attach(asyncio.current_task())
    try:
        failure = await driver.run(history)
    finally:
        control.attach(None)
    await journal.flush()
    return driver.result(failure)


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a run ended early."""

    status: RunStatus
    error_type: str
    message: str
    node: str | None = None


class _Driver:
    __slots__ = (
        "_begun",
        "_brake",
        "_control",
        "_done",
        "_failure",
        "_flying",
        "_history",
        "_journal",
        "_mocks",
        "_muted",
        "_plan",
        "_ports",
        "_ready",
        "_since_turn",
        "_start",
        "_started",
        "_state",
        "_steps",
        "_stream",
        "_tasks",
        "_wall",
    )

    def __init__(
        self,
        plan: Plan,
        start: RunStart,
        ports: Ports,
        journal: Journal,
        mocks: Mocks | None,
        control: RunControl,
        brake: Brake | None,
    ) -> None:
        self._plan, self._start, self._ports = plan, start, ports
        self._brake = brake
        self._journal, self._mocks, self._control = journal, mocks, control
        now = ports.clock.now().timestamp()
        self._started = ports.clock.monotonic()
        self._wall = now - self._started  # turns monotonic into unix seconds: one clock a step
        self._state = RunState(plan, start, now)
        self._stream = Streaming(plan, self._state.pool, self._publish)
        self._ready: deque[int] = deque()
        self._begun: dict[int, float] = {}  # nodes that run now, since when
        self._tasks: set[asyncio.Task[None]] = set()
        self._flying = 0  # tasks whose report hasn't been taken yet
        self._done: asyncio.Queue[tuple[PlanNode, StepRecord] | BaseException] = asyncio.Queue()
        self._failure: _Failure | None = None
        self._muted = False
        self._steps = 0
        self._since_turn = 0

    async def run(self, history: Sequence[StepRecord]) -> _Failure | None:
        try:
            async with asyncio.timeout(self._remaining()) as limit:
                self._replay(history)
                await self._work()
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = self._start.timeout_seconds
            self._fail(RunTimedOut(f"The run took longer than {seconds:g} s"))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._control.stopping or task is None:
                raise
            task.uncancel()
            reason = self._control.reason or ""
            self._failure = _Failure(RunStatus.STOPPED, "RunStopped", reason)
        finally:
            await self._abandon()
        if self._failure is not None:
            await self._stopped_steps()
        if not self._paused:
            self._stream.finish()
        return self._failure

    def result(self, failure: _Failure | None) -> RunResult:
        state = self._state
        ended = RunStatus.PAUSED if self._paused else state.status()
        return RunResult(
            status=failure.status if failure else ended,
            outputs=state.outputs,
            error=failure.message if failure else None,
            error_type=failure.error_type if failure else None,
            error_node=failure.node if failure else None,
            usage=state.usage,
            steps=tuple(state.records),
            stream="".join(self._stream.text),
            conversation=state.pool.conversation(),
            writes=tuple(state.writes),
            exceptions_count=state.exceptions,
            elapsed=self._ports.clock.monotonic() - self._started,
            held=tuple(self._brake.held) if self._brake and self._paused else (),
        )

    def sow(self, seeds: Sequence[StepRecord]) -> None:
        for record in seeds:
            self._state.pool.set_outputs(record.key.node_id, record.outputs)
            for write in record.writes:
                self._state.pool.set(write.selector, write.value)

    @property
    def _paused(self) -> bool:
        return self._failure is None and self._brake is not None and bool(self._brake.held)

    # -- the loop -------------------------------------------------------------------------------

    async def _work(self) -> None:
        ready, nodes = self._ready, self._plan.nodes
        while self._failure is None and (ready or self._flying):
            if self._control.stopping:
                # Where a cancellation on its way arrives; without one (stopped too early) raise it.
                await asyncio.sleep(0)
                raise asyncio.CancelledError
            if not ready:
                await self._next_report()
                continue
            node = nodes[ready.popleft()]
            if self._brake is not None and self._brake.holds(node.id):
                continue
            if self._over_limit():
                self._fail(self._limit())
                return
            await self._begin(node, alone=not ready and not self._flying)

    async def _begin(self, node: PlanNode, *, alone: bool) -> None:
        """Quick nodes run at once; one that has to wait does so here if it is alone."""
        mock = self._mocks.of(node.id, node.kind_name) if self._mocks is not None else None
        began = self._note_running(node)
        ctx = self._context(node)
        first: NodeResult | Awaitable[NodeResult] | Exception | None = None
        if node.quick and mock is None:
            try:
                first = node.kind.run(node.prepared, ctx)
            except Exception as fault:
                first = fault
            if first.__class__ is NodeResult:
                record = self._made(node, first, 1, began)
                await self._write_down(node, record, first.events)
                self._settle(node, record)
                await self._take_turns()
                return
        if alone:
            self._settle(node, await self._step(node, ctx, began, mock, first))
            return
        task = asyncio.create_task(self._report(node, ctx, began, mock, first))
        self._flying += 1
        tasks = self._tasks
        tasks.add(task)
        task.add_done_callback(lambda done: _forget(done, tasks, first))

    async def _take_turns(self) -> None:
        self._since_turn += 1
        if self._since_turn >= _TURN:
            self._since_turn = 0
            await asyncio.sleep(0)

    async def _report(
        self,
        node: PlanNode,
        ctx: NodeContext,
        began: float,
        mock: Mock | None,
        first: NodeResult | Awaitable[NodeResult] | Exception | None,
    ) -> None:
        try:
            report: tuple[PlanNode, StepRecord] | BaseException = (
                node,
                await self._step(node, ctx, began, mock, first),
            )
        except asyncio.CancelledError:
            raise
        except BaseException as broke:
            report = broke
        self._done.put_nowait(report)

    async def _next_report(self) -> None:
        report = await self._done.get()
        while True:
            self._flying -= 1
            if isinstance(report, BaseException):
                raise report
            self._settle(*report)
            if self._done.empty() or self._failure is not None:
                return
            report = self._done.get_nowait()

    def _settle(self, node: PlanNode, record: StepRecord) -> None:
        """What follows from a finished step: which nodes are ready or skipped, what may be printed."""
        if record.status is StepStatus.FAILED:
            error = record.error or StepError("NodeFailed", "The node failed.")
            self._failure = _Failure(RunStatus.FAILED, error.type, error.message, node.id)
            return
        ready, skipped = self._state.scheduler.finish(node.index, record.handle)
        for index in skipped:
            self._skip(index)
        self._stream.ran(node.index)
        if node.index in self._plan.gates:
            self._stream.passed(node, self._state.scheduler.edges)
        self._ready.extend(ready)

    def _skip(self, index: int) -> None:
        node = self._plan.nodes[index]
        self._state.move(index, NodeState.SKIPPED)
        self._stream.skipped(index)
        if not self._muted:
            at = self._wall + self._ports.clock.monotonic()
            self._journal.note(
                NodeStateChange(node.id, "skipped", node.kind_name, node.title, at=at)
            )

    # -- one step -------------------------------------------------------------------------------

    async def _step(
        self,
        node: PlanNode,
        ctx: NodeContext,
        began: float,
        mock: Mock | None,
        first: NodeResult | Awaitable[NodeResult] | Exception | None,
    ) -> StepRecord:
        """Try, try again, and in the end make a record of it, whatever came out."""
        if node.has_effect and mock is None:
            await self._journal.intend(node.key)
        events: Sequence[Event] = ()
        tries = 1
        while True:
            try:
                result = await self._attempt(node, ctx, mock, tries, first)
                record = self._made(node, result, tries, began)
                events = result.events
                break
            except Exception as fault:
                first = None
                retry = node.policy.retry
                retryable = bool(getattr(fault, "retryable", False))
                if retry is None or not retry.allows(tries, retryable=retryable):
                    record = self._gave_up(node, fault, tries, began)
                    break
                self._note_retry(node, fault, tries)
                self._state.move(node.index, NodeState.RETRYING)
                await self._pause(retry.delay_seconds(tries, f"{ctx.run_id}:{node.id}"))
                self._state.move(node.index, NodeState.RUNNING)
                self._stream.restart(node.index)
                tries += 1
                if self._over_limit():
                    record = self._gave_up(node, self._limit(), tries, began)
                    break
        await self._write_down(node, record, events)
        return record

    async def _attempt(
        self,
        node: PlanNode,
        ctx: NodeContext,
        mock: Mock | None,
        tries: int,
        first: NodeResult | Awaitable[NodeResult] | Exception | None,
    ) -> NodeResult:
        if isinstance(first, Exception):
            raise first
        if node.policy.timeout_seconds is None:
            return await self._try(node, ctx, mock, tries, first)
        try:
            async with asyncio.timeout(node.policy.timeout_seconds):
                return await self._try(node, ctx, mock, tries, first)
        except TimeoutError as late:
            seconds = node.policy.timeout_seconds
            raise NodeTimedOut(f"The node took longer than {seconds:g} s") from late

    async def _try(
        self,
        node: PlanNode,
        ctx: NodeContext,
        mock: Mock | None,
        tries: int,
        first: NodeResult | Awaitable[NodeResult] | None,
    ) -> NodeResult:
        if mock is not None:
            if mock.replaces_step or mock.fails(tries):
                return await mock.play(node, ctx, tries)
            if mock.delay_s:
                await ctx.ports.clock.sleep(mock.delay_s)
            ctx = mock.scripted(ctx)
        result = node.kind.run(node.prepared, ctx) if first is None else first
        return result if isinstance(result, NodeResult) else await result

    def _made(self, node: PlanNode, result: NodeResult, tries: int, began: float) -> StepRecord:
        elapsed = self._ports.clock.monotonic() - began
        return succeeded(node, result, tries=tries, started_at=self._wall + began, elapsed=elapsed)

    def _gave_up(self, node: PlanNode, fault: Exception, tries: int, began: float) -> StepRecord:
        """The last try failed: what the node's error strategy makes of it."""
        error = error_of(fault, node.id)
        says: Mapping[str, Json] = {"error_message": error.message, "error_type": error.type}
        status, outputs, handle = StepStatus.EXCEPTION, says, None
        if node.policy.strategy is Strategy.FAIL_BRANCH:
            handle = FAIL_HANDLE
        elif node.policy.strategy is Strategy.DEFAULT_VALUE:
            outputs = {**node.policy.defaults, **says}
        else:
            status, outputs = StepStatus.FAILED, {}
        elapsed = self._ports.clock.monotonic() - began
        return broken(
            node,
            status,
            error,
            outputs=outputs,
            handle=handle,
            tries=tries,
            started_at=self._wall + began,
            elapsed=elapsed,
        )

    async def _write_down(
        self, node: PlanNode, record: StepRecord, events: Sequence[Event]
    ) -> None:
        # Before anything is awaited: a second assigner must find what the first one wrote.
        self._keep(node, record)
        change = ended(node, record)
        await self._journal.record(record, (*events, change) if events else (change,))

    def _keep(self, node: PlanNode, record: StepRecord) -> None:
        self._begun.pop(node.index, None)
        self._state.move(node.index, ENDS[record.status][0])
        self._state.keep(node, record)

    # -- beginnings and ends --------------------------------------------------------------------

    def _replay(self, history: Sequence[StepRecord]) -> None:
        """Bring everything to where an earlier attempt left it.

        Its events are not told again. Its text is: a journal begins its text anew with each attempt,
        so that half an answer of a lost attempt is never joined to the whole one.
        """
        self._muted = bool(history)
        self._stream.begin()
        self._ready.append(self._plan.root)
        for record in finished_steps(history, self._plan):
            node = self._plan.nodes[self._plan.by_id[record.key.node_id]]
            if node.index in self._ready:
                self._ready.remove(node.index)
            self._state.move(node.index, NodeState.RUNNING)
            self._keep(node, record)
            self._settle(node, record)
            self._steps += record.tries
        self._muted = False

    async def _abandon(self) -> None:
        """Nothing of a run may go on after its end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stopped_steps(self) -> None:
        for index, began in list(self._begun.items()):
            node = self._plan.nodes[index]
            elapsed = self._ports.clock.monotonic() - began
            error = StepError("RunStopped", "The run ended before this node did.")
            record = broken(
                node,
                StepStatus.STOPPED,
                error,
                tries=1,
                started_at=self._wall + began,
                elapsed=elapsed,
            )
            await self._write_down(node, record, ())

    def _fail(self, fault: WorkflowFault) -> None:
        self._failure = _Failure(RunStatus.FAILED, fault.error_type, fault.message)

    # -- small things ---------------------------------------------------------------------------

    def _context(self, node: PlanNode) -> NodeContext:
        say = None
        if node.kind.streams:
            index, stream = node.index, self._stream

            def say(output: str, text: str) -> None:
                stream.chunk(index, output, text)

        return NodeContext(
            node.id,
            self._start.run_id,
            self._state.pool,
            self._ports,
            self._start.inputs,
            self._plan.variable_types,
            say=say,
        )

    def _publish(self, chunk: TextChunk) -> None:
        self._journal.publish(chunk)

    def _note_running(self, node: PlanNode) -> float:
        self._state.move(node.index, NodeState.RUNNING)
        now = self._ports.clock.monotonic()
        self._begun[node.index] = now
        self._journal.note(
            NodeStateChange(node.id, "running", node.kind_name, node.title, at=self._wall + now)
        )
        return now

    def _note_retry(self, node: PlanNode, fault: Exception, tries: int) -> None:
        at = self._wall + self._ports.clock.monotonic()
        self._journal.note(retrying(node, error_of(fault, node.id), tries, at))

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            await self._ports.clock.sleep(seconds)

    def _over_limit(self) -> bool:
        self._steps += 1
        return self._steps > self._start.max_steps

    def _limit(self) -> LimitReached:
        return LimitReached(f"The run took more than {self._start.max_steps} steps")

    def _remaining(self) -> float | None:
        limit = self._start.timeout_seconds
        if limit is None or self._start.started_at is None:
            return limit
        gone = self._wall + self._started - self._start.started_at
        return max(limit - gone, 0)


def _forget(task: asyncio.Task[None], tasks: set[asyncio.Task[None]], first: object) -> None:
    tasks.discard(task)
    if isinstance(first, Coroutine):  # a task cancelled before its first turn never came to it
        first.close()
