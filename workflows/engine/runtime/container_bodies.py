"""Runs the bodies of containers, each round in its own frame. The container's kind decides on the rounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workflows.engine.kinds import Execution
from workflows.engine.language.document import Json
from workflows.engine.language.plan import Plan, PlanNode, Session, build_finished_session
from workflows.engine.language.variables import CONVERSATION, VariablePool
from workflows.engine.ports import RoundsRequest
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.frame import Frame
from workflows.engine.runtime.rounds import RoundFailed, RoundResult, RoundVariables, StepPaused
from workflows.engine.runtime.run_context import Body, RunContext, RunHalted
from workflows.engine.runtime.step_records import StepError, StepKey, StepRecord, StepStatus, Write


class BodyRounds:
    """Runs the rounds of one step of a container and publishes their events."""

    def __init__(self, frame: Frame, node: PlanNode, plan: Plan) -> None:
        self._frame, self._node, self._plan = frame, node, plan
        self._started_at = frame.run_context.now()
        self._total: int | None = None
        self._changed_variables: set[str] = set()  # conversation variables that rounds have set
        self._count = self._failed = 0

    def begin(self, total: int | None) -> None:
        self._total = total
        run_context = self._frame.run_context
        if not run_context.step_history.list_inner_steps(self._node.id, self._frame.rounds):
            run_context.journal.add_event(
                self._node.kind.round_events.started(*self._get_event_fields())
            )

    async def run(self, index: int, variables: RoundVariables) -> RoundResult:
        run_context = self._frame.run_context
        rounds = (*self._frame.rounds, index)
        frame = Frame(run_context, self._plan, self._build_pool(variables, rounds), rounds)
        self._count += 1
        if not run_context.step_history.list_steps(self._node.id, rounds):
            event = self._node.kind.round_events.next(*self._get_event_fields(), index=index)
            run_context.journal.add_event(event)
        try:
            failure = await frame.run()
        except Exception as fault:  # an error of the journal or a bug, not a failure of a node
            raise RunHalted(fault) from fault
        except BaseException:
            frame.stream.abandon()
            raise
        if failure is None and frame.is_paused:
            frame.stream.abandon()
            raise StepPaused
        if self._shares_pool or failure is None:
            self._adopt_variables(frame)
        if failure is not None:
            self._failed += 1
            frame.stream.abandon()
            await run_context.record_unfinished()
            error = StepError(failure.error_type, failure.message)
            raise RoundFailed(index, failure.node or "", error)
        frame.stream.finish()
        return RoundResult(frame.state.pool, frame.state.results, frame.state.is_last)

    async def distribute(self, count: int, limit: int, *, stops_at_failure: bool) -> int | None:
        run_context = self._frame.run_context
        port = run_context.ports.rounds
        if port is None or not count or not self._is_distributable():
            return None
        await run_context.journal.flush()  # the other workers read the results of the steps so far
        recorder = InnerStepRecorder(run_context, self._node, self._plan)
        request = RoundsRequest(
            self._node.id,
            count,
            limit,
            stops_at_failure,
            dict(self._frame.state.pool.get_conversation()),
        )
        failed = await port.run_rounds(request, recorder)
        if failed is not None:
            # Only the failed round is replayed, because others are unfinished.
            self._count = recorder.add_to_totals(excluded_round=failed)
        return failed

    def _is_distributable(self) -> bool:
        """Return whether rounds may run elsewhere: not inside other rounds, for debugging, or with a person."""
        run_context = self._frame.run_context
        is_nested, is_debugging = self._frame.rounds, run_context.pause_control is not None
        return not (is_nested or is_debugging or self._plan.waits_for_people)

    async def close(
        self, record: StepRecord, events: Sequence[Event]
    ) -> tuple[StepRecord, Sequence[Event]]:
        run_context = self._frame.run_context
        await run_context.record_unfinished()
        pool = self._frame.state.pool
        writes = tuple(
            Write((CONVERSATION, name), pool.get((CONVERSATION, name)))
            for name in sorted(self._changed_variables)
        )
        event = self._node.kind.round_events.ended(
            *self._get_event_fields(),
            count=self._count,
            failed=self._failed,
            elapsed=run_context.now() - self._started_at,
            error=record.error.message if record.error else None,
        )
        marks = run_context.state.list_marks_of(self._plan.inside)
        inputs = {**record.inputs, **marks} if marks else record.inputs
        return replace(record, inputs=inputs, writes=(*record.writes, *writes)), (*events, event)

    @property
    def _shares_pool(self) -> bool:
        return self._node.kind.shares_pool(self._node.prepared)

    def _get_event_fields(self) -> tuple[str, str, tuple[int, ...], int | None, float]:
        node, frame = self._node, self._frame
        return node.id, node.title, frame.rounds, self._total, frame.run_context.now()

    def _build_pool(self, variables: RoundVariables, rounds: tuple[int, ...]) -> VariablePool:
        """Return the pool for a round with its initial variables, or the recorded ones if the round has started before."""
        pool = self._frame.state.pool
        if self._shares_pool:
            pool.discard(self._plan.inside)
        else:
            pool = pool.copy()
        stored = self._get_start_inputs(rounds)
        for source_id, values in variables.items():
            pool.set_outputs(source_id, {name: stored.get(name, values[name]) for name in values})
        if stored and self._shares_pool:
            pool.set_outputs(self._node.id, stored)
        return pool

    def _get_start_inputs(self, rounds: tuple[int, ...]) -> Mapping[str, Json]:
        """Return the inputs that the round's start node recorded, if it ran. Their sources may have changed since."""
        steps = self._frame.run_context.step_history.list_steps(self._node.id, rounds)
        root_id = self._plan.nodes[self._plan.root].id
        return next((record.inputs for record in steps if record.key.node_id == root_id), {})

    def _adopt_variables(self, frame: Frame) -> None:
        """Take over the conversation variables that a round changed. The last of concurrent rounds to finish wins."""
        self._changed_variables |= frame.changed_variables
        if self._shares_pool:
            return
        for name in frame.changed_variables:
            selector = (CONVERSATION, name)
            self._frame.state.pool.set(selector, frame.state.pool.get(selector))


class InnerStepRecorder:
    """Implements ``engine.ports.RoundsRecorder`` for one step of a container at the top level.

    The steps become part of the run's history, from which the container replays its rounds.
    """

    def __init__(self, run_context: RunContext, node: PlanNode, plan: Plan) -> None:
        self._run_context, self._container = run_context, node.id
        self._nodes = {
            inner_id: inner_node
            for inner_id, (inner_node, _, _) in _iter_inner_nodes(plan, shares_pool=False)
        }
        self._recorded: set[StepKey] = set()
        self._step_count = 0
        for record in run_context.step_history.list_inner_steps(node.id, ()):
            self._count(record)

    def is_recorded(self, step: StepKey) -> bool:
        return step in self._recorded

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        run_context, key = self._run_context, record.key
        if not key.part and (key.node_id not in self._nodes or key in self._recorded):
            return
        if not key.part:
            self._count(record)
            run_context.step_history.add(record)
        try:
            await run_context.journal.record(record, events)
        except Exception as fault:  # an error of the journal, not a failure of a node
            raise RunHalted(fault) from fault
        if run_context.steps + self._step_count > run_context.start.max_steps:
            raise RunHalted(run_context.build_limit_error())

    def add_event(self, event: Event) -> None:
        self._run_context.journal.add_event(event)

    def add_to_totals(self, *, excluded_round: int) -> int:
        """Add the steps of all rounds but one to the run's totals, and return the number of these rounds."""
        rounds = set()
        for record in self._run_context.step_history.list_inner_steps(self._container, ()):
            index = record.key.rounds[0]
            if index != excluded_round:
                rounds.add(index)
                self._run_context.state.add_record(self._nodes[record.key.node_id], record)
        return len(rounds)

    def _count(self, record: StepRecord) -> None:
        node = self._nodes.get(record.key.node_id)
        if node is None:
            return
        if record.status is not StepStatus.STOPPED:  # a stopped step may run again
            self._recorded.add(record.key)
        if node.kind.execution is not Execution.ENTRY:
            self._step_count += record.tries


class ScopedBodies:
    """Opens the bodies of containers, and restores the effects of rounds in earlier attempts."""

    def open(self, frame: Frame, node: PlanNode) -> Body:
        if node.body is None:
            raise ValueError(f"{node.id} has no body")
        return BodyRounds(frame, node, node.body)

    def restore(self, frame: Frame, node: PlanNode) -> None:
        if node.body is None:
            return
        run_context = frame.run_context
        shares_pool = node.kind.shares_pool(node.prepared)
        inner_nodes = dict(_iter_inner_nodes(node.body, shares_pool=shares_pool))
        last_rounds: dict[str, tuple[int, ...]] = {}  # the last round of each scope
        sessions: list[tuple[int, Session]] = []
        for record in run_context.step_history.list_inner_steps(node.id, frame.rounds):
            if record.key.node_id not in inner_nodes:
                continue
            inner_node, plan, uses_frame_pool = inner_nodes[record.key.node_id]
            run_context.state.add_record(inner_node, record)
            if inner_node.kind.execution is not Execution.ENTRY:
                run_context.steps += record.tries
            if _has_answer(inner_node, plan, record):
                answer = record.outputs["answer"]
                session = build_finished_session(inner_node.index, inner_node.id, answer)
                sessions.append((record.key.rounds[len(frame.rounds)], session))
            if not uses_frame_pool or plan.container is None:
                continue
            pool = frame.state.pool
            if last_rounds.get(plan.container) != record.key.rounds:
                last_rounds[plan.container] = record.key.rounds
                pool.discard(plan.inside)
            pool.set_outputs(inner_node.id, record.outputs)
        # Concurrent rounds may have ended in any order; their text is in the order of the rounds.
        frame.stream.replay(session for _, session in sorted(sessions, key=lambda entry: entry[0]))


def _has_answer(node: PlanNode, plan: Plan, record: StepRecord) -> bool:
    is_response = any(session.node == node.index for session in plan.sessions)
    return is_response and isinstance(record.outputs.get("answer"), str)


def _iter_inner_nodes(
    plan: Plan, *, shares_pool: bool
) -> Iterator[tuple[str, tuple[PlanNode, Plan, bool]]]:
    """Yield the id of each node in a body, at every depth, with the node, its plan and whether it uses the outer pool."""
    for node in plan.nodes:
        yield node.id, (node, plan, shares_pool)
        if node.body is not None:
            inner_shares = shares_pool and node.kind.shares_pool(node.prepared)
            yield from _iter_inner_nodes(node.body, shares_pool=inner_shares)
