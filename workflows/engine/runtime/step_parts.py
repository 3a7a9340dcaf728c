"""The parts of a step: the calls that a node makes one after the other, such as those of an agent.

Each is recorded when it ends. A retry of the node, and a later attempt at the run after a crash, get the recorded
result instead of making the call again.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workflows.engine.language.document import Json
from workflows.engine.ports import Origin, Usage
from workflows.engine.runtime.events import Event, StepPartChange
from workflows.engine.runtime.rounds import StepPaused
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus


if TYPE_CHECKING:
    from workflows.engine.runtime.run_context import RunContext


@dataclass(frozen=True, slots=True)
class PartResult:
    """The result of a call. ``events`` are stored together with it, once."""

    outputs: Mapping[str, Json]
    usage: Usage = field(default_factory=Usage)
    events: tuple[Event, ...] = ()


Call = Callable[[Origin], Awaitable[PartResult]]


class StepParts:
    """Makes the calls of one step and records them. It belongs to all tries of the step."""

    def __init__(self, run_context: "RunContext", step: StepKey) -> None:
        self._run_context = run_context
        self._step = step
        self._finished = {
            record.key.part: _to_result(record)
            for record in run_context.step_history.list_parts(step)
        }

    @property
    def usage(self) -> Usage:
        """Return the tokens of all finished parts, those of earlier attempts included."""
        return sum((result.usage for result in self._finished.values()), Usage())

    def is_finished(self, name: str) -> bool:
        """Return whether a call has a result, of this attempt or an earlier one."""
        return name in self._finished

    def get_key(self, name: str) -> str:
        """Return the idempotency key of a call, which is the same in every attempt."""
        key = StepKey(self._step.node_id, self._step.rounds, name)
        return build_part_origin(self._run_context.start.run_id, key).idempotency_key

    async def run(
        self, name: str, kind: str, call: Call, *, title: str = "", inputs: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Make a call and return its outputs, or those recorded under ``name`` by an earlier attempt.

        ``name`` is unique in the step and the same in every attempt. What ``call`` raises is passed on; then nothing
        is recorded, and a retry calls again with the same idempotency key.
        """
        if name in self._finished:
            return self._finished[name].outputs
        run_context, step = self._run_context, self._step
        journal, clock = run_context.journal, run_context.ports.clock
        key = StepKey(step.node_id, step.rounds, name)
        await journal.intend(step)  # returns when the parts before this one are committed
        started = clock.monotonic()
        change = StepPartChange(
            step.node_id, name, kind, "running", title, step.rounds, run_context.now()
        )
        journal.add_event(change)
        try:
            result = await call(build_part_origin(run_context.start.run_id, key))
        except StepPaused:
            journal.add_event(change.end("paused", run_context.now()))
            raise
        except Exception as fault:
            journal.add_event(change.end("failed", run_context.now(), error=str(fault)))
            raise
        record = StepRecord(
            key,
            kind,
            StepStatus.SUCCEEDED,
            outputs=result.outputs,
            inputs=inputs,
            started_at=run_context.wall_offset + started,
            elapsed=clock.monotonic() - started,
            prompt_tokens=result.usage.prompt_tokens,
            completion_tokens=result.usage.completion_tokens,
        )
        self._finished[name] = result
        tokens = result.usage.total_tokens or None
        end = change.end("completed", run_context.now(), elapsed=record.elapsed, tokens=tokens)
        await journal.record(record, (*result.events, end))
        return result.outputs


def build_part_origin(run_id: str, key: StepKey) -> Origin:
    rounds = ".".join(map(str, key.rounds))
    return Origin(run_id, key.node_id, f"{run_id}:{key.node_id}:{rounds}:{key.part}", key.part)


def _to_result(record: StepRecord) -> PartResult:
    return PartResult(record.outputs, Usage(record.prompt_tokens, record.completion_tokens))
