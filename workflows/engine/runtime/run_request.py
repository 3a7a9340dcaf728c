"""The input and the result of a run, and the control that stops it."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from workflows.engine.language.document import Json, Mode
from workflows.engine.ports import Usage
from workflows.engine.runtime.events import RunFinished
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord, Write
from workflows.engine.runtime.waits import OpenWait
from workflows.engine.sub_workflows.shares import Share
from workflows.engine.sub_workflows.spending_limits import NO_LIMITS, SpendingLimits


MAX_STEPS = 500
MAX_SECONDS = 1200.0


@dataclass(frozen=True, slots=True)
class RunStart:
    """The input of a run, the same for every attempt. ``inputs`` are already checked against the start form."""

    run_id: str
    inputs: Mapping[str, Json] = field(default_factory=dict)
    system: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, Json] = field(default_factory=dict)
    conversation: Mapping[str, Json] = field(default_factory=dict)
    # Variables with untrusted content from earlier turns; the id of the start node if the inputs have such content.
    untrusted: Collection[str] = ()
    # The words of memories in what earlier turns left, and in the inputs. See ``engine.language.content_marks.shown_memories``.
    shown_memories: Collection[str] = ()
    memories_in_inputs: Collection[str] = ()
    started_at: float | None = None  # unix seconds; None: now
    max_steps: int = MAX_STEPS  # starts of nodes, retries included
    steps_setting: str = "max_steps"  # the setting that raises the limit, for the error message
    timeout_seconds: float | None = MAX_SECONDS
    spending_limits: SpendingLimits = NO_LIMITS  # from the agent that called this workflow, if any
    shares: tuple[Share, ...] = ()  # of that agent, and of those around it


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run, whether it succeeded, failed, was stopped or paused."""

    status: RunStatus
    outputs: Mapping[str, Json] = field(default_factory=dict)
    error: str | None = None
    error_type: str | None = None
    error_node: str | None = None
    usage: Usage = field(default_factory=Usage)
    steps: tuple[StepRecord, ...] = ()
    stream: str = ""  # all text that was streamed to the user, in order
    # The current variables of the conversation, and those with untrusted content.
    conversation: Mapping[str, Json] = field(default_factory=dict)
    untrusted: tuple[str, ...] = ()
    has_untrusted_outputs: bool = False
    # The words of memories in the outputs, and these with those that the next turn of the conversation may read.
    memories_in_outputs: tuple[str, ...] = ()
    shown_memories: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    exceptions_count: int = 0
    elapsed: float = 0.0
    waiting_steps: tuple[StepKey, ...] = ()  # nodes before which a paused run stopped
    open_waits: tuple[OpenWait, ...] = ()  # what a paused run waits for

    @property
    def is_successful(self) -> bool:
        return self.status in (RunStatus.SUCCEEDED, RunStatus.PARTIAL)

    def build_event(self) -> RunFinished:
        """Return the run's last event. The owner of the run's row publishes it together with the row's new state."""
        return RunFinished(
            status=self.status,
            outputs=self.outputs,
            error=self.error,
            error_node=self.error_node,
            elapsed=self.elapsed,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
        )


class RunControl:
    """Stops a run at once, even while it waits, or before its next call. Use it in the event loop of the run."""

    __slots__ = ("_calls", "_may_call", "_task", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._task: asyncio.Task[object] | None = None
        self._calls = 0
        self._may_call = asyncio.Event()
        self._may_call.set()

    @property
    def is_stopping(self) -> bool:
        return self.reason is not None

    def stop(self, reason: str = "The run was stopped.") -> None:
        if self.is_stopping:
            return
        self.reason = reason
        if self._task is not None:
            self._task.cancel()

    def attach(self, task: asyncio.Task[object] | None) -> None:
        """Set the task that ``stop`` cancels, or None when the run has ended."""
        self._task = task

    @property
    def is_calling(self) -> bool:
        """Return whether a call is under way that nobody may repeat without asking a person."""
        return self._calls > 0

    def hold_calls(self) -> None:
        """Let no further call of that kind begin. Those under way go on."""
        self._may_call.clear()

    @asynccontextmanager
    async def make_call(self) -> AsyncIterator[None]:
        """Make a call of that kind in the block, which isn't entered while calls are held."""
        await self._may_call.wait()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1


def build_system_variables(start: RunStart, mode: Mode, now: float) -> dict[str, Json]:
    """Return the ``sys.*`` variables of a run, which depend on its mode. Those in ``start.system`` take precedence."""
    system: dict[str, Json] = {
        "files": [],
        "workflow_run_id": start.run_id,
        "timestamp": int(start.started_at if start.started_at is not None else now),
    }
    if isinstance(start.inputs.get("query"), str):
        system["query"] = start.inputs["query"]
    elif mode is Mode.CHAT:
        system["query"] = ""
    if mode is Mode.CHAT:
        system["dialogue_count"] = 0
    system |= {name: value for name, value in start.system.items() if value is not None}
    # xworkflow's name for the run's id.
    system.setdefault("execution_id", system["workflow_run_id"])
    return system
