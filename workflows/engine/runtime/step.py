"""Runs one step with its retries, and builds its record for any outcome.

A step is uncertain if a lost worker began it: nobody knows whether its call arrived. The node's ``retry_safety`` says
whether it is called again, or a person decides.
"""

from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workflows.engine.errors import NodeFailed, NodeTimedOut
from workflows.engine.kind_examples import build_example_outputs
from workflows.engine.kinds import Execution, NodeContext, NodeResult
from workflows.engine.language.document import Json
from workflows.engine.language.failure_policy import FAIL_HANDLE, RetrySafety, Strategy
from workflows.engine.language.plan import PlanNode
from workflows.engine.language.variables import ENVIRONMENT
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.partial_runs import iter_reads
from workflows.engine.runtime.rounds import StepPaused
from workflows.engine.runtime.state import NodeState
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus
from workflows.engine.runtime.step_reports import build_retry_event, build_step_error
from workflows.engine.runtime.waits import (
    HAPPENED,
    OUTPUTS,
    UNCERTAIN,
    StepTime,
    StepWaiting,
    Wait,
    build_uncertain_form,
    measure_step,
)
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


NodeRun = NodeResult | Awaitable[NodeResult]
# What a quick node's ``run`` returned or raised when it was called without a task; None if it was not called.
QuickResult = NodeRun | Exception | None


async def run_step(step: Step, mock: Mock | None, quick_result: QuickResult) -> StepRecord | None:
    """Run a step to its end and record it. Return None if it waits, or a node inside the container is paused.

    The first try uses the ``quick_result``, if there is one.
    """
    node, run_context = step.node, step.run_context
    if not node.has_effect or mock is not None:
        return await _run_to_end(step, mock, quick_result)
    try:
        decided_result = await _decide_uncertain(step)
    except StepWaiting as waiting:
        await run_context.add_wait(node, step.key, waiting)
        return None
    if decided_result is not None:
        record = build_record(step, decided_result, 1)
        await step.frame.record_step(node, record, ())
        return record
    if _may_call_again(step):
        return await _call(step, quick_result)
    async with run_context.control.make_call():
        return await _call(step, quick_result)


async def _call(step: Step, quick_result: QuickResult) -> StepRecord | None:
    await step.run_context.journal.intend(step.key)
    return await _run_to_end(step, None, quick_result)


async def _decide_uncertain(step: Step) -> NodeResult | None:
    """Return the result that a person gave an uncertain step, or None if the step is to be called.

    Raises StepWaiting as long as nobody has decided. A call that is lost again is decided again.
    """
    attempt = step.run_context.begun_steps.get(step.key)
    if attempt is None or _may_call_again(step):
        return None
    part = f"{UNCERTAIN}.{attempt}"
    answer = step.ctx.answers.get(part)
    if answer is not None and answer.action != HAPPENED:
        return None
    node, inputs = step.node, await _collect_inputs(step.node, step.ctx)
    if answer is not None:
        return NodeResult(answer.values.get(OUTPUTS) or {}, inputs=inputs)
    # Nobody knows which way a lost branch chose.
    can_have_happened = node.kind.execution is not Execution.BRANCH
    form = build_uncertain_form(
        node.title or node.id,
        inputs,
        can_have_happened=can_have_happened,
        example=build_example_outputs(node.kind, node.spec.data),
    )
    raise StepWaiting(Wait(form), part)


def _may_call_again(step: Step) -> bool:
    """Return whether an uncertain step may be called again without asking a person."""
    node = step.node
    safety = node.policy.retry_safety
    if safety is RetrySafety.SAFE or not node.kind.calls_outside:
        return True
    return safety is RetrySafety.ASK and node.kind.only_reads(node.prepared, step.ctx)


async def _run_to_end(
    step: Step, mock: Mock | None, quick_result: QuickResult
) -> StepRecord | None:
    with measure_step() as step_time:
        return await _run_tries(step, mock, quick_result, step_time)


async def _run_tries(
    step: Step, mock: Mock | None, quick_result: QuickResult, step_time: StepTime
) -> StepRecord | None:
    node, run_context = step.node, step.run_context
    events: Sequence[Event] = ()
    tries = 1
    while True:
        try:
            result = await _try_in_time(step, mock, tries, quick_result, step_time)
            record, events = build_record(step, result, tries), result.events
            break
        except StepPaused as pause:
            if isinstance(pause, StepWaiting):
                await run_context.add_wait(node, step.key, pause)
            return None
        except Exception as fault:
            quick_result = None
            if not await _wait_for_retry(step, fault, tries):
                record = await _handle_failure(step, fault, tries)
                break
            tries += 1
            if run_context.count_step():
                record = await _handle_failure(step, run_context.build_limit_error(), tries)
                break
    record = _exclude_wait(step, record, step_time.waited)
    if record.status is not StepStatus.SUCCEEDED:
        events = (*step.ctx.recorded_events, *events)
    if step.body is not None:
        record, events = await step.body.close(record, events)
    await step.frame.record_step(node, record, events)
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
        error=result.shortfall,
        writes=result.writes,
        tries=tries,
        started_at=run_context.wall_offset + step.started,
        elapsed=run_context.ports.clock.monotonic() - step.started,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
    )


def _exclude_wait(step: Step, record: StepRecord, waited: float) -> StepRecord:
    """Return the record without the time for which the step waited for a place. A container's other rounds went on."""
    if not waited or step.body is not None:
        return record
    return replace(record, elapsed=max(0.0, record.elapsed - waited), waited=waited)


async def _wait_for_retry(step: Step, fault: Exception, tries: int) -> bool:
    """Wait until a failed node may run again. Return False at once if it may not."""
    frame, node, run_context = step.frame, step.node, step.run_context
    retry, retryable = node.policy.retry, bool(getattr(fault, "retryable", False))
    if retry is None or not retry.allows(tries, retryable=retryable):
        return False
    retry_after = float(getattr(fault, "retry_after", None) or 0)
    seconds_left = run_context.get_seconds_left()
    if retry_after and seconds_left is not None and retry_after >= seconds_left:
        return False  # the server asks for a wait beyond the run's time limit
    error = build_step_error(fault, node.id)
    at = run_context.now()
    run_context.journal.add_event(build_retry_event(node, frame.rounds, error, tries, at))
    frame.state.move(node.index, NodeState.RETRYING)
    seconds = max(retry.compute_delay(tries, f"{step.ctx.run_id}:{node.id}"), retry_after)
    if seconds > 0:
        await run_context.ports.clock.sleep(seconds)
    frame.state.move(node.index, NodeState.RUNNING)
    frame.stream.restart(node.index)
    return True


async def _try_in_time(
    step: Step, mock: Mock | None, tries: int, quick_result: QuickResult, step_time: StepTime
) -> NodeResult:
    if isinstance(quick_result, Exception):
        raise quick_result
    seconds = step.node.policy.timeout_seconds
    if seconds is None:
        return await _try_once(step, mock, tries, quick_result)
    try:
        async with step_time.limit(seconds):
            return await _try_once(step, mock, tries, quick_result)
    except TimeoutError as timeout:
        raise NodeTimedOut(f"The node took longer than {seconds:g} s") from timeout


async def _try_once(
    step: Step, mock: Mock | None, tries: int, quick_result: NodeRun | None
) -> NodeResult:
    node, ctx = step.node, step.ctx
    if mock is not None:
        if mock.replaces_step or mock.should_fail(tries):
            return await mock.play(node, ctx, tries)
        if mock.delay_s:
            await ctx.ports.clock.sleep(mock.delay_s)
        ctx = mock.build_context(ctx)
    try:
        await _check_sent(node, ctx)
    except NodeFailed:
        if isinstance(quick_result, Coroutine):  # it was not begun
            quick_result.close()
        raise
    result = node.kind.run(node.prepared, ctx) if quick_result is None else quick_result
    return result if isinstance(result, NodeResult) else await result


async def _check_sent(node: PlanNode, ctx: NodeContext) -> None:
    """Raise NodeFailed if the step would send outside what another step wrote with a secret of the team in it.

    What the author put into the node is configuration, and so are the workflow's own secret variables, wherever they were
    put together: only secrets of the team's connections, models and webhooks count, which no step is ever given.
    """
    port = ctx.ports.secrets
    if port is None or not node.kind.sends_outside(node.spec):
        return
    selectors = dict.fromkeys(iter_reads(node.spec, {node.spec.kind: node.kind}))
    values = [
        value
        for selector in selectors
        if selector[0] != ENVIRONMENT and (value := ctx.pool.get_or_none(selector)) is not None
    ]
    if values and await port.is_team_secret_in(values):
        raise NodeFailed(
            "StoredSecret", "A stored secret is in what this node would send, so it was not sent"
        )


async def _handle_failure(step: Step, fault: Exception, tries: int) -> StepRecord:
    """Return the record of a step whose last try failed, with the outputs that its error strategy gives it."""
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
    """Return the inputs of a step that failed or was lost, so that users can find the cause in them."""
    if ctx.recorded_inputs:
        return dict(ctx.recorded_inputs)
    try:
        return await node.kind.preview_inputs(node.prepared, ctx)
    except Exception:  # the error of a failed step names the cause already
        return {}
