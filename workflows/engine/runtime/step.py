"""Runs one step with its retries, and builds its record for any outcome."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workflows.engine.errors import NodeTimedOut
from workflows.engine.kinds import NodeContext, NodeResult
from workflows.engine.language.document import Json
from workflows.engine.language.failure_policy import FAIL_HANDLE, Strategy
from workflows.engine.language.plan import PlanNode
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.rounds import StepPaused
from workflows.engine.runtime.state import NodeState
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus
from workflows.engine.runtime.step_reports import build_retry_event, build_step_error
from workflows.engine.testing.mocks import Mock


if TYPE_CHECKING:
    from workflows.engine.runtime.frame import Frame
    from workflows.engine.runtime.run_context import Body, RunContext


class Step(NamedTuple):
    """A node that runs in a scope."""

    frame: "Frame"
    node: PlanNode
    ctx: NodeContext
    key: StepKey
    started: float  # by the run's monotonic clock
    body: "Body | None"

    @property
    def run_context(self) -> "RunContext":
        return self.frame.run_context


First = NodeResult | Awaitable[NodeResult] | Exception | None


async def take_step(step: Step, mock: Mock | None, first: First) -> StepRecord | None:
    """Run a step to its end and record it; return None if a node inside the container waits.

    ``first`` is what a quick node returned already: an awaitable, or the reason why it failed.
    """
    frame, node, run_context = step.frame, step.node, step.run_context
    if node.has_effect and mock is None:
        await run_context.journal.intend(step.key)
    events: Sequence[Event] = ()
    tries = 1
    while True:
        try:
            result = await _attempt(step, mock, tries, first)
            record, events = build_record(step, result, tries), result.events
            break
        except StepPaused:
            return None
        except Exception as fault:
            first = None
            retry = node.policy.retry
            retryable = bool(getattr(fault, "retryable", False))
            retry_after = float(getattr(fault, "retry_after", None) or 0)
            if (
                retry is None
                or not retry.allows(tries, retryable=retryable)
                or not _has_time(run_context, retry_after)
            ):
                record = await _handle_failure(step, fault, tries)
                break
            error = build_step_error(fault, node.id)
            at = run_context.now()
            run_context.journal.note(build_retry_event(node, frame.rounds, error, tries, at))
            frame.state.move(node.index, NodeState.RETRYING)
            seconds = max(retry.compute_delay(tries, f"{step.ctx.run_id}:{node.id}"), retry_after)
            if seconds > 0:
                await run_context.ports.clock.sleep(seconds)
            frame.state.move(node.index, NodeState.RUNNING)
            frame.stream.restart(node.index)
            tries += 1
            if run_context.count_step():
                record = await _handle_failure(step, run_context.build_limit_error(), tries)
                break
    if step.body is not None:
        record, events = await step.body.close(record, events)
    await frame.record_step(node, record, events)
    return record


def build_record(step: Step, result: NodeResult, tries: int) -> StepRecord:
    """Return the record of a step that succeeded."""
    run_context, usage = step.run_context, result.usage
    return StepRecord(
        step.key,
        step.node.kind_name,
        StepStatus.SUCCEEDED,
        handle=result.handle,
        outputs=result.outputs,
        inputs=result.inputs or dict(step.ctx.recorded_inputs),
        writes=result.writes,
        tries=tries,
        started_at=run_context.wall_offset + step.started,
        elapsed=run_context.ports.clock.monotonic() - step.started,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
    )


def _has_time(run_context: "RunContext", retry_after: float) -> bool:
    """Return whether the wait that the server requested ends before the run's time limit."""
    seconds_left = run_context.get_seconds_left()
    return not retry_after or seconds_left is None or retry_after < seconds_left


async def _attempt(step: Step, mock: Mock | None, tries: int, first: First) -> NodeResult:
    if isinstance(first, Exception):
        raise first
    seconds = step.node.policy.timeout_seconds
    if seconds is None:
        return await _try(step, mock, tries, first)
    try:
        async with asyncio.timeout(seconds):
            return await _try(step, mock, tries, first)
    except TimeoutError as timeout:
        raise NodeTimedOut(f"The node took longer than {seconds:g} s") from timeout


async def _try(
    step: Step, mock: Mock | None, tries: int, first: NodeResult | Awaitable[NodeResult] | None
) -> NodeResult:
    node, ctx = step.node, step.ctx
    if mock is not None:
        if mock.replaces_step or mock.should_fail(tries):
            return await mock.play(node, ctx, tries)
        if mock.delay_s:
            await ctx.ports.clock.sleep(mock.delay_s)
        ctx = mock.build_context(ctx)
    result = node.kind.run(node.prepared, ctx) if first is None else first
    return result if isinstance(result, NodeResult) else await result


async def _handle_failure(step: Step, fault: Exception, tries: int) -> StepRecord:
    """Return the record of a step whose last try failed, after its error strategy."""
    node, run_context = step.node, step.run_context
    error = build_step_error(fault, node.id)
    error_outputs: Mapping[str, Json] = {"error_message": error.message, "error_type": error.type}
    status, outputs, handle = StepStatus.EXCEPTION, error_outputs, None
    if node.policy.strategy is Strategy.FAIL_BRANCH:
        handle = FAIL_HANDLE
    elif node.policy.strategy is Strategy.DEFAULT_VALUE:
        outputs = {**node.policy.defaults, **error_outputs}
    else:
        status, outputs = StepStatus.FAILED, {}
    elapsed = run_context.ports.clock.monotonic() - step.started
    return StepRecord(
        step.key,
        node.kind_name,
        status,
        handle=handle,
        outputs=outputs,
        inputs=await _collect_inputs(node, step.ctx),
        error=error,
        tries=tries,
        started_at=run_context.wall_offset + step.started,
        elapsed=elapsed,
    )


async def _collect_inputs(node: PlanNode, ctx: NodeContext) -> Mapping[str, Json]:
    """Return the inputs of a failed step, which users check first."""
    if ctx.recorded_inputs:
        return dict(ctx.recorded_inputs)
    try:
        return await node.kind.preview_inputs(node.prepared, ctx)
    except Exception:  # it failed already, and its message has the reason
        return {}
