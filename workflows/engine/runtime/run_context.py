"""The state that all scopes of a run use: its ports, its journal, its limits and its totals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from workflows.engine.errors import LimitReached
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.ports import Journal, Ports
from workflows.engine.runtime.breakpoints import PauseControl
from workflows.engine.runtime.events import Event, InputRequired, NodeStateChange
from workflows.engine.runtime.rounds import Rounds
from workflows.engine.runtime.run_request import RunControl, RunStart
from workflows.engine.runtime.state import RunState
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepError,
    StepHistory,
    StepKey,
    StepRecord,
    StepStatus,
)
from workflows.engine.runtime.step_reports import build_end_event
from workflows.engine.runtime.streaming import SessionQueue
from workflows.engine.runtime.waits import Answer, OpenWait, StepWaiting
from workflows.engine.testing.mocks import Mocks


if TYPE_CHECKING:
    from workflows.engine.runtime.frame import Frame


NO_ANSWERS: Final[Mapping[str, Answer]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a scope ended early."""

    status: RunStatus
    error_type: str
    message: str
    node: str | None = None


class RunHalted(BaseException):
    """The run cannot continue, regardless of the error handling of the containers around.

    This is not an Exception, so that no retry, strategy or error mode of a node handles it.
    """

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


class Body(Rounds, Protocol):
    """The rounds of one step of a container, and the end of that step."""

    async def close(
        self, record: StepRecord, events: Sequence[Event]
    ) -> tuple[StepRecord, Sequence[Event]]:
        """Return the step's record and events, after all rounds have ended."""


class Bodies(Protocol):
    """Opens the bodies of the containers in a scope, and restores what they did in an earlier attempt."""

    def open(self, frame: "Frame", node: PlanNode) -> Body: ...

    def restore(self, frame: "Frame", node: PlanNode) -> None:
        """Restore the state that a finished container's rounds left behind in an earlier attempt."""


@dataclass(eq=False)
class RunContext:
    """The ports, limits and totals of a run. ``steps`` counts starts of nodes, ``started`` is a monotonic time."""

    plan: Plan
    start: RunStart
    ports: Ports
    journal: Journal
    control: RunControl
    step_history: StepHistory
    bodies: Bodies
    mocks: Mocks | None = None
    pause_control: PauseControl | None = None
    answers: Mapping[StepKey, Mapping[str, Answer]] = field(
        default_factory=dict
    )  # by step and part
    # The steps that earlier attempts began without an end, each with the last of these attempts.
    begun_steps: Mapping[StepKey, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        now = self.ports.clock.now().timestamp()
        self.started = self.ports.clock.monotonic()
        self.wall_offset = now - self.started  # added to monotonic seconds gives unix seconds
        self.state = RunState(self.plan, self.start, now)
        self.session_queue = SessionQueue(self.journal.publish)
        self.steps = 0
        self.steps_since_yield = 0
        # Steps that were running when their scope ended and are not recorded yet.
        self.unfinished_steps: list[tuple[PlanNode, StepKey, float]] = []
        self.open_waits: list[OpenWait] = []

    def now(self) -> float:
        """Return the current time in unix seconds."""
        return self.wall_offset + self.ports.clock.monotonic()

    def get_seconds_left(self) -> float | None:
        """Return the seconds until the run's time limit, or None for a run without a limit."""
        limit, started_at = self.start.timeout_seconds, self.start.started_at
        if limit is None:
            return None
        if started_at is None:
            started_at = self.wall_offset + self.started
        return max(limit - (self.now() - started_at), 0)

    def count_step(self) -> bool:
        """Count one more step, and return whether the run now exceeds its limit."""
        self.steps += 1
        return self.steps > self.start.max_steps

    async def add_wait(self, node: PlanNode, step: StepKey, waiting: StepWaiting) -> None:
        """Add the wait of a step, which stays open until somebody answers it or its time has come."""
        wait, at = waiting.wait, self.now()
        open_wait = OpenWait(replace(step, part=waiting.part), wait)
        self.open_waits.append(open_wait)
        wait_id = await self.journal.open_wait(open_wait)
        self.journal.add_event(
            NodeStateChange(
                node.id,
                "paused",
                node.kind_name,
                node.title,
                step.rounds,
                at,
                waits_for=wait.awaited,
                due_at=wait.due_at,
            )
        )
        if wait.form is not None and wait_id:
            self.journal.add_event(
                InputRequired(
                    node.id, wait_id, wait.form, waiting.part, step.rounds, wait.due_at, at
                )
            )

    def build_limit_error(self) -> LimitReached:
        start = self.start
        return LimitReached(
            f"The run took more than {start.max_steps:,} steps; raise {start.steps_setting} to allow more"
        )

    async def record_unfinished(self) -> None:
        """Record as stopped the steps that were running when their scope ended early."""
        while self.unfinished_steps:
            node, key, started = self.unfinished_steps.pop(0)
            record = StepRecord(
                key,
                node.kind_name,
                StepStatus.STOPPED,
                error=StepError("RunStopped", "The run ended before this node finished."),
                started_at=self.wall_offset + started,
                elapsed=self.ports.clock.monotonic() - started,
            )
            self.state.add_record(node, record)
            await self.journal.record(record, (build_end_event(node, record),))
