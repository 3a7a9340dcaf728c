"""What all scopes of a run have in common: its ports, its journal, its limits, and what it adds up to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workflows.engine.errors import LimitReached
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.ports import Journal, Ports
from workflows.engine.runtime.breakpoints import Brake
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.history import Earlier
from workflows.engine.runtime.rounds import Rounds
from workflows.engine.runtime.run_request import RunControl, RunStart
from workflows.engine.runtime.state import RunState, broken
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepError,
    StepKey,
    StepRecord,
    StepStatus,
)
from workflows.engine.runtime.step_reports import ended
from workflows.engine.runtime.streaming import Stage
from workflows.engine.testing.mocks import Mocks


if TYPE_CHECKING:
    from workflows.engine.runtime.frame import Frame


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

    def seconds_left(self) -> float | None:
        """Return how much longer the run may take; None: as long as it likes."""
        limit = self.start.timeout_seconds
        if limit is None:
            return None
        began = self.start.started_at
        return max(limit - (self.now() - (self.wall + self.started if began is None else began)), 0)

    def over_limit(self) -> bool:
        self.steps += 1
        return self.steps > self.start.max_steps

    def limit(self) -> LimitReached:
        start = self.start
        return LimitReached(
            f"The run took more than {start.max_steps:,} steps; raise {start.steps_setting} to allow more"
        )

    async def write_broken_off(self) -> None:
        """Steps of scopes that ended early: stopped, for good or until somebody goes on with the run."""
        while self.broken_off:
            node, key, began = self.broken_off.pop(0)
            record = broken(
                node,
                key,
                StepStatus.STOPPED,
                StepError("RunStopped", "The run ended before this node finished."),
                tries=1,
                started_at=self.wall + began,
                elapsed=self.ports.clock.monotonic() - began,
            )
            self.state.keep(node, record)
            await self.journal.record(record, (ended(node, record),))
