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
from workflows.engine.runtime.state import NodeState, build_failure_record, build_success_record
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus
from workflows.engine.runtime.step_reports import build_retry_event, build_step_error
from workflows.engine.testing.mocks import Mock


if TYPE_CHECKING:
    from workflows.engine.runtime.frame import Frame
    from workflows.engine.runtime.run_context import Body, RunContext


class StepStart(NamedTuple):
    key: StepKey
    at: float  # by the run's monotonic clock
    body: "Body | None" = None


First = NodeResult | Awaitable[NodeResult] | Exception | None


async def take_step(
    frame: "Frame",
    node: PlanNode,
    ctx: NodeContext,
    step_start: StepStart,
    mock: Mock | None,
    first: First,
) -> StepRecord | None:
    """Run a step to its end and record it; return None if a node inside the container waits.

    ``first`` is what a quick node returned already: an awaitable, or the reason why it failed.
    """
    run_context = frame.run_context
    if node.has_effect and mock is None:
        await run_context.journal.intend(step_start.key)
    events: Sequence[Event] = ()
    tries = 1
    while True:
        try:
            result = await _attempt(node, ctx, mock, tries, first)
            record = build_record(frame, node, ctx, result, tries, step_start)
            events = result.events
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
                record = await _handle_failure(frame, node, ctx, fault, tries, step_start)
                break
            at = run_context.now()
            run_context.journal.note(
                build_retry_event(node, frame.rounds, build_step_error(fault, node.id), tries, at)
            )
            frame.state.move(node.index, NodeState.RETRYING)
            seconds = max(retry.compute_delay(tries, f"{ctx.run_id}:{node.id}"), retry_after)
            if seconds > 0:
                await run_context.ports.clock.sleep(seconds)
            frame.state.move(node.index, NodeState.RUNNING)
            frame.stream.restart(node.index)
            tries += 1
            if run_context.count_step():
                record = await _handle_failure(
                    frame, node, ctx, run_context.build_limit_error(), tries, step_start
                )
                break
    if step_start.body is not None:
        record, events = await step_start.body.close(record, events)
    await frame.record_step(node, record, events)
    return record


def _has_time(run_context: "RunContext", retry_after: float) -> bool:
    """Return whether the wait that the server requested ends before the run's time limit."""
    seconds_left = run_context.get_seconds_left()
    return not retry_after or seconds_left is None or retry_after < seconds_left


async def _attempt(
    node: PlanNode, ctx: NodeContext, mock: Mock | None, tries: int, first: First
) -> NodeResult:
    if isinstance(first, Exception):
        raise first
    if node.policy.timeout_seconds is None:
        return await _try(node, ctx, mock, tries, first)
    try:
        async with asyncio.timeout(node.policy.timeout_seconds):
            return await _try(node, ctx, mock, tries, first)
    except TimeoutError as timeout:
        seconds = node.policy.timeout_seconds
        raise NodeTimedOut(f"The node took longer than {seconds:g} s") from timeout


async def _try(
    node: PlanNode,
    ctx: NodeContext,
    mock: Mock | None,
    tries: int,
    first: NodeResult | Awaitable[NodeResult] | None,
) -> NodeResult:
    if mock is not None:
        if mock.replaces_step or mock.should_fail(tries):
            return await mock.play(node, ctx, tries)
        if mock.delay_s:
            await ctx.ports.clock.sleep(mock.delay_s)
        ctx = mock.build_context(ctx)
    result = node.kind.run(node.prepared, ctx) if first is None else first
    return result if isinstance(result, NodeResult) else await result


def build_record(
    frame: "Frame",
    node: PlanNode,
    ctx: NodeContext,
    result: NodeResult,
    tries: int,
    step_start: StepStart,
) -> StepRecord:
    run_context = frame.run_context
    elapsed = run_context.ports.clock.monotonic() - step_start.at
    return build_success_record(
        node,
        step_start.key,
        result,
        inputs=result.inputs or dict(ctx.recorded_inputs),
        tries=tries,
        started_at=run_context.wall_offset + step_start.at,
        elapsed=elapsed,
    )


async def _handle_failure(
    frame: "Frame",
    node: PlanNode,
    ctx: NodeContext,
    fault: Exception,
    tries: int,
    step_start: StepStart,
) -> StepRecord:
    """Return the record of a step whose last try failed, after its error strategy."""
    error = build_step_error(fault, node.id)
    error_outputs: Mapping[str, Json] = {"error_message": error.message, "error_type": error.type}
    status, outputs, handle = StepStatus.EXCEPTION, error_outputs, None
    if node.policy.strategy is Strategy.FAIL_BRANCH:
        handle = FAIL_HANDLE
    elif node.policy.strategy is Strategy.DEFAULT_VALUE:
        outputs = {**node.policy.defaults, **error_outputs}
    else:
        status, outputs = StepStatus.FAILED, {}
    run_context = frame.run_context
    elapsed = run_context.ports.clock.monotonic() - step_start.at
    return build_failure_record(
        node,
        step_start.key,
        status,
        error,
        outputs=outputs,
        inputs=await _collect_inputs(node, ctx),
        handle=handle,
        tries=tries,
        started_at=run_context.wall_offset + step_start.at,
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
