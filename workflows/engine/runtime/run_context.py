"""What all scopes of a run have in common: its ports, its journal, its limits, and what it adds up to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workflows.engine.brake import Brake
from workflows.engine.earlier import Earlier
from workflows.engine.errors import LimitReached
from workflows.engine.events import Event
from workflows.engine.mocks import Mocks
from workflows.engine.plan import Plan, PlanNode
from workflows.engine.ports import Journal, Ports
from workflows.engine.records import RunStatus, StepError, StepKey, StepRecord, StepStatus
from workflows.engine.reporting import ended
from workflows.engine.rounds import Rounds
from workflows.engine.runs import RunControl, RunStart
from workflows.engine.state import RunState, broken
from workflows.engine.streaming import Stage


if TYPE_CHECKING:
    from workflows.engine.frame import Frame


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a scope ended early."""

    status: RunStatus
    error_type: str
    message: str
    node: str | None = None


class RunHalted(BaseException):
    """The run can't go on, whatever the containers around would make of an error.

    Not an Exception: no node's retry, strategy or error mode may take it for the node's own.
    """

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


class Body(Rounds, Protocol):
    """The rounds of one step of a container."""

    async def close(
        self, record: StepRecord, events: Sequence[Event]
    ) -> tuple[StepRecord, Sequence[Event]]:
        """What is written down of the step itself, once no round is on its way any more."""


class Bodies(Protocol):
    """How a scope comes to the scopes inside it."""

    def open(self, frame: "Frame", node: PlanNode) -> Body: ...

    def absorb(self, frame: "Frame", node: PlanNode) -> None:
        """Take over what an earlier attempt's rounds of a finished container left behind."""


class Shared:
    __slots__ = (
        "bodies",
        "brake",
        "broken_off",
        "control",
        "earlier",
        "journal",
        "mocks",
        "ports",
        "since_turn",
        "stage",
        "start",
        "started",
        "state",
        "steps",
        "wall",
    )

    def __init__(
        self,
        plan: Plan,
        start: RunStart,
        ports: Ports,
        journal: Journal,
        mocks: Mocks | None,
        control: RunControl,
        earlier: Earlier,
        bodies: Bodies,
        brake: Brake | None,
    ) -> None:
        self.start, self.ports, self.journal = start, ports, journal
        self.mocks, self.control, self.earlier = mocks, control, earlier
        self.bodies = bodies
        self.brake = brake
        now = ports.clock.now().timestamp()
        self.started = ports.clock.monotonic()
        self.wall = now - self.started  # turns monotonic into unix seconds: one clock a step
        self.state = RunState(plan, start, now)
        self.stage = Stage(self.publish)
        self.steps = 0
        self.since_turn = 0
        # Steps that had begun when their scope ended, not yet written down.
        self.broken_off: list[tuple[PlanNode, StepKey, float]] = []

    def publish(self, event: Event) -> None:
        self.journal.publish(event)

    def now(self) -> float:
        """In unix seconds."""
        return self.wall + self.ports.clock.monotonic()

    def over_limit(self) -> bool:
        self.steps += 1
        return self.steps > self.start.max_steps

    def limit(self) -> LimitReached:
        start = self.start
        return LimitReached(
            f"The run took more than {start.max_steps:,} steps; {start.steps_setting} allows more"
        )

    async def write_broken_off(self) -> None:
        """Steps of scopes that ended early: stopped, for good or until somebody goes on with the run."""
        while self.broken_off:
            node, key, began = self.broken_off.pop(0)
            record = broken(
                node,
                key,
                StepStatus.STOPPED,
                StepError("RunStopped", "The run ended before this node did."),
                tries=1,
                started_at=self.wall + began,
                elapsed=self.ports.clock.monotonic() - began,
            )
            self.state.keep(node, record)
            await self.journal.record(record, (ended(node, record),))
