"""Runs the body of a container, a scope a round, for the kind that decides which rounds there are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workflows.engine.kinds import Execution
from workflows.engine.language.document import Json
from workflows.engine.language.plan import Plan, PlanNode, Session, spoken
from workflows.engine.language.variables import CONVERSATION, VariablePool
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.frame import Frame
from workflows.engine.runtime.rounds import Heads, Held, Round, RoundFailed
from workflows.engine.runtime.run_context import Body, RunHalted
from workflows.engine.runtime.step_records import StepError, StepRecord, Write


class BodyRounds:
    """Implements ``engine.shared.Body``."""

    __slots__ = ("_began", "_count", "_failed", "_frame", "_node", "_plan", "_total", "_touched")

    def __init__(self, frame: Frame, node: PlanNode, plan: Plan) -> None:
        self._frame, self._node, self._plan = frame, node, plan
        self._began = frame.shared.now()
        self._total: int | None = None
        self._touched: set[str] = set()  # conversation variables that rounds have set
        self._count = self._failed = 0

    def begin(self, total: int | None) -> None:
        self._total = total
        if not self._frame.shared.earlier.inside(self._node.id, self._frame.rounds):
            event = self._node.kind.round_events.started
            self._frame.shared.journal.note(event(*self._about()))

    async def run(self, index: int, heads: Heads) -> Round:
        shared = self._frame.shared
        rounds = (*self._frame.rounds, index)
        frame = Frame(shared, self._plan, self._pool(heads, rounds), rounds)
        self._count += 1
        if not shared.earlier.steps(self._node.id, rounds):
            event = self._node.kind.round_events.next
            shared.journal.note(event(*self._about(), index=index))
        try:
            failure = await frame.run()
        except Exception as broke:  # the journal, or a bug: not a failure of any node
            raise RunHalted(broke) from broke
        except BaseException:
            frame.stream.break_off()
            raise
        if failure is None and frame.held:
            frame.stream.break_off()
            raise Held
        if self._shares or failure is None:
            self._take_over(frame)
        if failure is not None:
            self._failed += 1
            frame.stream.break_off()
            await shared.write_broken_off()
            error = StepError(failure.error_type, failure.message)
            raise RoundFailed(index, failure.node or "", error)
        frame.stream.finish()
        return Round(frame.state.pool, frame.state.results, frame.state.broke)

    async def close(
        self, record: StepRecord, events: Sequence[Event]
    ) -> tuple[StepRecord, Sequence[Event]]:
        shared = self._frame.shared
        await shared.write_broken_off()
        pool = self._frame.state.pool
        changed = tuple(
            Write((CONVERSATION, name), pool.get((CONVERSATION, name)))
            for name in sorted(self._touched)
        )
        event = self._node.kind.round_events.ended(
            *self._about(),
            count=self._count,
            failed=self._failed,
            elapsed=shared.now() - self._began,
            error=record.error.message if record.error else None,
        )
        return replace(record, writes=(*record.writes, *changed)), (*events, event)

    @property
    def _shares(self) -> bool:
        return self._node.kind.shares_pool(self._node.prepared)

    def _about(self) -> tuple[str, str, tuple[int, ...], int | None, float]:
        node, frame = self._node, self._frame
        return node.id, node.title, frame.rounds, self._total, frame.shared.now()

    def _pool(self, heads: Heads, rounds: tuple[int, ...]) -> VariablePool:
        """With the variables the round begins with: those it began with before, if it did."""
        pool = self._frame.state.pool
        if self._shares:
            pool.discard(self._plan.inside)
        else:
            pool = pool.copy()
        stored = self._stored(rounds)
        for head, values in heads.items():
            pool.set_outputs(head, {name: stored.get(name, values[name]) for name in values})
        if stored and self._shares:
            pool.set_outputs(self._node.id, stored)
        return pool

    def _stored(self, rounds: tuple[int, ...]) -> Mapping[str, Json]:
        """What the start of the round wrote down: other branches may have changed its source since."""
        for record in self._frame.shared.earlier.steps(self._node.id, rounds):
            index = self._plan.by_id.get(record.key.node_id)
            if index == self._plan.root:
                return record.inputs
        return {}

    def _take_over(self, frame: Frame) -> None:
        """Conversation variables come back from every round; of two at once the last to finish wins."""
        self._touched |= frame.touched
        if self._shares:
            return
        for name in frame.touched:
            selector = (CONVERSATION, name)
            self._frame.state.pool.set(selector, frame.state.pool.get(selector))


class ScopedBodies:
    """Implements ``engine.shared.Bodies``."""

    def open(self, frame: Frame, node: PlanNode) -> Body:
        if node.body is None:
            raise ValueError(f"{node.id} has no body")
        return BodyRounds(frame, node, node.body)

    def absorb(self, frame: Frame, node: PlanNode) -> None:
        if node.body is None:
            return
        shared = frame.shared
        known = dict(_inside(node.body, shares=node.kind.shares_pool(node.prepared)))
        rounds_of: dict[str, tuple[int, ...]] = {}  # the round each scope came to
        said: list[tuple[int, Session]] = []
        for record in shared.earlier.inside(node.id, frame.rounds):
            if record.key.node_id not in known:
                continue
            inner, plan, shares = known[record.key.node_id]
            shared.state.keep(inner, record)
            if inner.kind.execution is not Execution.ENTRY:
                shared.steps += record.tries
            if _speaks(inner, plan, record):
                session = spoken(inner.index, inner.id, record.outputs["answer"])
                said.append((record.key.rounds[len(frame.rounds)], session))
            if not shares or plan.container is None:
                continue
            pool = frame.state.pool
            if rounds_of.get(plan.container) != record.key.rounds:
                rounds_of[plan.container] = record.key.rounds
                pool.discard(plan.inside)
            pool.set_outputs(inner.id, record.outputs)
        # Rounds at once may have ended in any order, and were heard in theirs.
        frame.stream.repeat(session for _, session in sorted(said, key=lambda entry: entry[0]))


def _speaks(node: PlanNode, plan: Plan, record: StepRecord) -> bool:
    heard = any(session.node == node.index for session in plan.sessions)
    return heard and isinstance(record.outputs.get("answer"), str)


def _inside(plan: Plan, *, shares: bool) -> Iterator[tuple[str, tuple[PlanNode, Plan, bool]]]:
    """Nodes of a body however deep, with their scope, and whether that works on the outer pool."""
    for node in plan.nodes:
        yield node.id, (node, plan, shares)
        if node.body is not None:
            yield from _inside(node.body, shares=shares and node.kind.shares_pool(node.prepared))
