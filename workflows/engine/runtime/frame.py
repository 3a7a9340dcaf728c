"""One scope of a run, driven to its end: asks the scheduler what is ready, runs it, writes it down.

The top level of a run is a scope, and so is every round of a container. One ready node is awaited in
place; of several, those that wait become tasks which report into one queue. Nothing here knows
whether the journal is a list or a database.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence

from workflows.engine.kinds import Execution, NodeContext, NodeResult
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.language.variables import CONVERSATION, VariablePool
from workflows.engine.runtime.events import Event, NodeStateChange
from workflows.engine.runtime.history import Earlier
from workflows.engine.runtime.run_context import Failure, RunHalted, Shared
from workflows.engine.runtime.state import NodeState, ScopeState
from workflows.engine.runtime.step import Begun, made, take_step
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepError,
    StepKey,
    StepRecord,
    StepStatus,
)
from workflows.engine.runtime.step_reports import ENDS, ended
from workflows.engine.runtime.streaming import Streaming
from workflows.engine.testing.mocks import Mock


# After so many steps that never waited the run lets others on its event loop have a turn.
_TURN = 50


class Frame:
    __slots__ = (
        "_begun",
        "_done",
        "_flying",
        "_journal",
        "_muted",
        "_ready",
        "_tasks",
        "failure",
        "held",
        "plan",
        "rounds",
        "shared",
        "state",
        "stream",
        "touched",
    )

    def __init__(
        self, shared: Shared, plan: Plan, pool: VariablePool, rounds: tuple[int, ...] = ()
    ) -> None:
        self.shared, self.plan, self.rounds = shared, plan, rounds
        self._journal = shared.journal
        self.state = ScopeState(plan, pool)
        self.stream = Streaming(plan, pool, shared.stage)
        self.failure: Failure | None = None
        self.held = False  # a node here waits for somebody to let it begin
        self.touched: set[str] = set()  # conversation variables that were set here
        self._ready: deque[int] = deque()
        self._begun: dict[int, float] = {}  # nodes that run now, since when
        self._tasks: set[asyncio.Task[None]] = set()
        self._flying = 0  # tasks whose report hasn't been taken yet
        self._done: asyncio.Queue[tuple[PlanNode, StepRecord | None] | BaseException] = (
            asyncio.Queue()
        )
        self._muted = False

    async def run(self) -> Failure | None:
        """Go on from where an earlier attempt left the scope, to its end."""
        try:
            self._replay(self.shared.earlier)
            await self._work()
        finally:
            await self._abandon()
        return self.failure

    # -- the loop -------------------------------------------------------------------------------

    async def _work(self) -> None:
        ready, nodes, shared = self._ready, self.plan.nodes, self.shared
        while self.failure is None and (ready or self._flying):
            if shared.control.stopping:
                # Where a cancellation on its way arrives; without one (stopped too early) raise it.
                await asyncio.sleep(0)
                raise asyncio.CancelledError
            if not ready:
                await self._next_report()
                continue
            node = nodes[ready.popleft()]
            # The start of a round does nothing; limits and breakpoints are for what does.
            if node.kind.execution is not Execution.ENTRY:
                if shared.brake is not None and shared.brake.holds(self._key(node)):
                    self.held = True
                    continue
                if shared.over_limit():
                    raise RunHalted(shared.limit())
            await self._begin(node, alone=not ready and not self._flying)

    async def _begin(self, node: PlanNode, *, alone: bool) -> None:
        """Quick nodes run at once; one that has to wait does so here if it is alone."""
        mocks = self.shared.mocks
        mock = mocks.of(node.id, node.kind_name) if mocks is not None else None
        begun = self._note_running(node)
        ctx = self._context(node, begun)
        first: NodeResult | Awaitable[NodeResult] | Exception | None = None
        if node.quick and mock is None:
            try:
                first = node.kind.run(node.prepared, ctx)
            except Exception as fault:
                first = fault
            if first.__class__ is NodeResult:
                record = made(self, node, ctx, first, 1, begun)
                await self.write_down(node, record, first.events)
                self._settle(node, record)
                await self._take_turns()
                return
        if alone:
            self._settle(node, await take_step(self, node, ctx, begun, mock, first))
            return
        task = asyncio.create_task(self._report(node, ctx, begun, mock, first))
        self._flying += 1
        tasks = self._tasks
        tasks.add(task)
        task.add_done_callback(lambda done: _forget(done, tasks, first))

    async def _take_turns(self) -> None:
        self.shared.since_turn += 1
        if self.shared.since_turn >= _TURN:
            self.shared.since_turn = 0
            await asyncio.sleep(0)

    async def _report(
        self,
        node: PlanNode,
        ctx: NodeContext,
        begun: Begun,
        mock: Mock | None,
        first: NodeResult | Awaitable[NodeResult] | Exception | None,
    ) -> None:
        try:
            report: tuple[PlanNode, StepRecord | None] | BaseException = (
                node,
                await take_step(self, node, ctx, begun, mock, first),
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
            if self._done.empty() or self.failure is not None:
                return
            report = self._done.get_nowait()

    def _settle(self, node: PlanNode, record: StepRecord | None) -> None:
        """What follows from a finished step: which nodes are ready or skipped, what may be printed."""
        if record is None:  # a container something is held in
            self._begun.pop(node.index, None)
            self.held = True
            return
        if record.status is StepStatus.FAILED:
            error = record.error or StepError("NodeFailed", "The node failed.")
            self.failure = Failure(RunStatus.FAILED, error.type, error.message, node.id)
            return
        scheduler = self.state.scheduler
        ready, skipped = scheduler.finish(node.index, record.handle)
        for index in skipped:
            self._skip(index)
        self.stream.ran(node.index)
        if node.index in self.plan.gates:
            self.stream.passed(node, scheduler.edges)
        self._ready.extend(ready)

    def _skip(self, index: int) -> None:
        node = self.plan.nodes[index]
        self.state.move(index, NodeState.SKIPPED)
        self.stream.skipped(index)
        if not self._muted:
            at = self.shared.now()
            self._journal.note(
                NodeStateChange(node.id, "skipped", node.kind_name, node.title, self.rounds, at=at)
            )

    # -- beginnings and ends --------------------------------------------------------------------

    def _replay(self, earlier: Earlier) -> None:
        """Bring everything to where an earlier attempt left it.

        Its events are not told again. Its text is: a journal begins its text anew with each attempt,
        so that half an answer of a lost attempt is never joined to the whole one.
        """
        self.stream.begin()
        self._ready.append(self.plan.root)
        if not earlier:
            return
        self._muted = True
        for record in earlier.steps(self.plan.container, self.rounds):
            index = self.plan.by_id.get(record.key.node_id)
            if index is None:
                continue
            node = self.plan.nodes[index]
            if index in self._ready:
                self._ready.remove(index)
            if node.body is not None:
                self.shared.bodies.absorb(self, node)
            self.state.move(index, NodeState.RUNNING)
            self._keep(node, record)
            self._settle(node, record)
            if node.kind.execution is not Execution.ENTRY:
                self.shared.steps += record.tries
        self._muted = False

    async def _abandon(self) -> None:
        """Nothing of a scope may go on after its end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        for index, began in self._begun.items():
            node = self.plan.nodes[index]
            self.shared.broken_off.append((node, self._key(node), began))
        self._begun.clear()

    # -- asked by the step ----------------------------------------------------------------------

    async def write_down(self, node: PlanNode, record: StepRecord, events: Sequence[Event]) -> None:
        # Before anything is awaited: a second assigner must find what the first one wrote.
        self._keep(node, record)
        change = ended(node, record)
        await self._journal.record(record, (*events, change) if events else (change,))

    def _keep(self, node: PlanNode, record: StepRecord) -> None:
        self._begun.pop(node.index, None)
        self.state.move(node.index, ENDS[record.status][0])
        self.state.keep(node, record)
        self.shared.state.keep(node, record)
        for write in record.writes:
            if write.selector[0] == CONVERSATION:
                self.touched.add(write.selector[1])

    # -- small things ---------------------------------------------------------------------------

    def _key(self, node: PlanNode) -> StepKey:
        return StepKey(node.id, self.rounds) if self.rounds else node.key

    def _context(self, node: PlanNode, begun: Begun) -> NodeContext:
        say = None
        if node.kind.streams:
            index, stream = node.index, self.stream

            def say(output: str, text: str) -> None:
                stream.chunk(index, output, text)

        shared = self.shared
        return NodeContext(
            node.id,
            shared.start.run_id,
            self.state.pool,
            shared.ports,
            shared.start.inputs,
            self.plan.variable_types,
            self.rounds,
            say,
            begun.body,
            outside=shared.state.outside,
        )

    def _note_running(self, node: PlanNode) -> Begun:
        self.state.move(node.index, NodeState.RUNNING)
        shared = self.shared
        now = shared.ports.clock.monotonic()
        self._begun[node.index] = now
        self._journal.note(
            NodeStateChange(
                node.id, "running", node.kind_name, node.title, self.rounds, shared.wall + now
            )
        )
        body = shared.bodies.open(self, node) if node.body is not None else None
        return Begun(self._key(node), now, body)


def _forget(task: asyncio.Task[None], tasks: set[asyncio.Task[None]], first: object) -> None:
    tasks.discard(task)
    if isinstance(first, Coroutine):  # a task cancelled before its first turn never came to it
        first.close()
