"""One step: try, try again, and in the end make a record of it, whatever came out."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workflows.engine.errors import NodeTimedOut
from workflows.engine.kinds import NodeContext, NodeResult
from workflows.engine.language.document import Json
from workflows.engine.language.failure_policy import Strategy
from workflows.engine.language.plan import FAIL_HANDLE, PlanNode
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.rounds import Held
from workflows.engine.runtime.state import NodeState, broken, succeeded
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus
from workflows.engine.runtime.step_reports import error_of, retrying
from workflows.engine.testing.mocks import Mock


if TYPE_CHECKING:
    from workflows.engine.runtime.frame import Frame
    from workflows.engine.runtime.run_context import Body, Shared


class Begun(NamedTuple):
    key: StepKey
    at: float  # by the run's monotonic clock
    body: "Body | None" = None


First = NodeResult | Awaitable[NodeResult] | Exception | None


async def take_step(
    frame: "Frame",
    node: PlanNode,
    ctx: NodeContext,
    begun: Begun,
    mock: Mock | None,
    first: First,
) -> StepRecord | None:
    """None: a container something is held in. ``first`` is what a quick node gave already: what to
    wait for, or why it failed."""
    shared = frame.shared
    if node.has_effect and mock is None:
        await shared.journal.intend(begun.key)
    events: Sequence[Event] = ()
    tries = 1
    while True:
        try:
            result = await _attempt(node, ctx, mock, tries, first)
            record = made(frame, node, ctx, result, tries, begun)
            events = result.events
            break
        except Held:
            return None
        except Exception as fault:
            first = None
            retry = node.policy.retry
            retryable = bool(getattr(fault, "retryable", False))
            asked = float(getattr(fault, "retry_after", None) or 0)
            if (
                retry is None
                or not retry.allows(tries, retryable=retryable)
                or not _has_time(shared, asked)
            ):
                record = await _gave_up(frame, node, ctx, fault, tries, begun)
                break
            at = shared.now()
            shared.journal.note(retrying(node, frame.rounds, error_of(fault, node.id), tries, at))
            frame.state.move(node.index, NodeState.RETRYING)
            seconds = max(retry.delay_seconds(tries, f"{ctx.run_id}:{node.id}"), asked)
            if seconds > 0:
                await shared.ports.clock.sleep(seconds)
            frame.state.move(node.index, NodeState.RUNNING)
            frame.stream.restart(node.index)
            tries += 1
            if shared.over_limit():
                record = await _gave_up(frame, node, ctx, shared.limit(), tries, begun)
                break
    if begun.body is not None:
        record, events = await begun.body.close(record, events)
    await frame.write_down(node, record, events)
    return record


def _has_time(shared: "Shared", asked: float) -> bool:
    """Return whether the wait that the other side asked for ends before the run must."""
    left = shared.seconds_left()
    return not asked or left is None or asked < left


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
    except TimeoutError as late:
        seconds = node.policy.timeout_seconds
        raise NodeTimedOut(f"The node took longer than {seconds:g} s") from late


async def _try(
    node: PlanNode,
    ctx: NodeContext,
    mock: Mock | None,
    tries: int,
    first: NodeResult | Awaitable[NodeResult] | None,
) -> NodeResult:
    if mock is not None:
        if mock.replaces_step or mock.fails(tries):
            return await mock.play(node, ctx, tries)
        if mock.delay_s:
            await ctx.ports.clock.sleep(mock.delay_s)
        ctx = mock.scripted(ctx)
    result = node.kind.run(node.prepared, ctx) if first is None else first
    return result if isinstance(result, NodeResult) else await result


def made(
    frame: "Frame",
    node: PlanNode,
    ctx: NodeContext,
    result: NodeResult,
    tries: int,
    begun: Begun,
) -> StepRecord:
    shared = frame.shared
    elapsed = shared.ports.clock.monotonic() - begun.at
    return succeeded(
        node,
        begun.key,
        result,
        inputs=result.inputs or dict(ctx.given),
        tries=tries,
        started_at=shared.wall + begun.at,
        elapsed=elapsed,
    )


async def _gave_up(
    frame: "Frame", node: PlanNode, ctx: NodeContext, fault: Exception, tries: int, begun: Begun
) -> StepRecord:
    """The last try failed: what the node's error strategy makes of it."""
    error = error_of(fault, node.id)
    says: Mapping[str, Json] = {"error_message": error.message, "error_type": error.type}
    status, outputs, handle = StepStatus.EXCEPTION, says, None
    if node.policy.strategy is Strategy.FAIL_BRANCH:
        handle = FAIL_HANDLE
    elif node.policy.strategy is Strategy.DEFAULT_VALUE:
        outputs = {**node.policy.defaults, **says}
    else:
        status, outputs = StepStatus.FAILED, {}
    shared = frame.shared
    elapsed = shared.ports.clock.monotonic() - begun.at
    return broken(
        node,
        begun.key,
        status,
        error,
        outputs=outputs,
        inputs=await _given(node, ctx),
        handle=handle,
        tries=tries,
        started_at=shared.wall + begun.at,
        elapsed=elapsed,
    )


async def _given(node: PlanNode, ctx: NodeContext) -> Mapping[str, Json]:
    """What the failed step was given: people look there first."""
    if ctx.given:
        return dict(ctx.given)
    try:
        return await node.kind.rehearse(node.prepared, ctx)
    except Exception:  # it failed already, and its own words say why
        return {}
