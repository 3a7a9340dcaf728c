"""Executes a run to its end: its top scope, its time limit, stopping, and its result."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workflows.engine.errors import EngineFault, LimitReached, RunTimedOut
from workflows.engine.language.content_marks.shown_memories import ShownMemories, bound_memories
from workflows.engine.language.content_marks.untrusted import select_carried_over
from workflows.engine.language.document import Json
from workflows.engine.language.plan import Plan
from workflows.engine.language.variables import SYSTEM
from workflows.engine.ports import Journal, Ports
from workflows.engine.runtime.breakpoints import PauseControl
from workflows.engine.runtime.container_bodies import ScopedBodies
from workflows.engine.runtime.frame import Frame
from workflows.engine.runtime.rounds import RunsRounds, StepPaused
from workflows.engine.runtime.run_context import Failure, RunContext, RunHalted
from workflows.engine.runtime.run_request import RunControl, RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepHistory, StepKey, StepRecord
from workflows.engine.runtime.waits import Answer
from workflows.engine.testing.mocks import Mocks
from workflows.engine.text_rendering import as_text


async def execute_plan(
    plan: Plan,
    start: RunStart,
    ports: Ports,
    journal: Journal,
    *,
    history: Sequence[StepRecord] = (),
    mocks: Mocks | None = None,
    control: RunControl | None = None,
    pause_control: PauseControl | None = None,
    seeds: Sequence[StepRecord] = (),
    answers: Mapping[StepKey, Answer] | None = None,
    begun_steps: Mapping[StepKey, int] | None = None,
) -> RunResult:
    """Run a workflow to its end. The steps in ``history``, of an earlier attempt, do not run again.

    The run ends paused if a step waits for an answer, or where a ``pause_control`` says so. ``answers`` are those to
    the waits of earlier attempts, by step and part. ``begun_steps`` are those that a lost worker began and didn't end, each
    with its last attempt: what they called may have happened or not. ``seeds`` are results of nodes that are not in the plan; other
    nodes may read them.

    The caller publishes the first and the last event of the run (see ``RunResult.build_event``), and writes the last one
    together with the steps that the journal has not written yet. A cancellation that did not come through ``control`` is
    raised, because then the worker lost the run and another worker continues it.
    """
    control = control or RunControl()
    run_context = RunContext(
        plan,
        start,
        ports,
        journal,
        control,
        StepHistory(plan.document, history),
        ScopedBodies(),
        mocks=mocks,
        pause_control=pause_control,
        answers=_group_answers(answers or {}),
        begun_steps=begun_steps or {},
    )
    for record in seeds:
        run_context.state.add_seed(record)
    top_frame = Frame(run_context, plan, run_context.state.pool)
    failure = await _run_to_end(run_context, top_frame.run())
    is_paused = failure is None and top_frame.is_paused
    if not is_paused:
        top_frame.stream.finish()
    return _build_result(run_context, failure, is_paused=is_paused)


@dataclass(frozen=True, slots=True)
class RoundRange:
    """Some rounds of a container at the top level of a run, which another worker runs for it."""

    node_id: str
    indexes: Sequence[int]
    limit: int  # of rounds that run at a time


async def execute_rounds(
    plan: Plan,
    rounds: RoundRange,
    start: RunStart,
    ports: Ports,
    journal: Journal,
    *,
    seeds: Sequence[StepRecord],
    history: Sequence[StepRecord] = (),
    mocks: Mocks | None = None,
    control: RunControl | None = None,
    answers: Mapping[StepKey, Answer] | None = None,
    begun_steps: Mapping[StepKey, int] | None = None,
) -> RunResult:
    """Run some rounds of a container, and nothing else of the run.

    ``start`` is that of the whole run, ``seeds`` are its steps at the top level, and ``history`` are the steps that an
    earlier attempt at these rounds finished. The output ``failed_round`` is the index of the round whose failure ends
    the container.
    """
    control = control or RunControl()
    run_context = RunContext(
        plan,
        start,
        ports,
        journal,
        control,
        StepHistory(plan.document, history),
        ScopedBodies(),
        mocks=mocks,
        answers=_group_answers(answers or {}),
        begun_steps=begun_steps or {},
    )
    for record in seeds:
        run_context.state.add_seed(record)
    outcome: dict[str, Json] = {}
    failure, is_paused = None, False
    try:
        failure = await _run_to_end(run_context, _run_range(run_context, plan, rounds, outcome))
    except StepPaused:
        is_paused = True
    status = RunStatus.PAUSED if is_paused else RunStatus.SUCCEEDED
    return RunResult(
        status=failure.status if failure else status,
        outputs=outcome,
        error=failure.message if failure else None,
        error_type=failure.error_type if failure else None,
        open_waits=tuple(run_context.open_waits) if is_paused else (),
    )


async def _run_range(
    run_context: RunContext, plan: Plan, rounds: RoundRange, outcome: dict[str, Json]
) -> Failure | None:
    node = plan.nodes[plan.by_id[rounds.node_id]]
    frame = Frame(run_context, plan, run_context.state.pool)
    kind = node.kind
    if not isinstance(kind, RunsRounds):
        raise TypeError(f"The rounds of {node.kind_name} can't run elsewhere")
    ctx = frame.build_context(node, run_context.bodies.open(frame, node))
    failed = await kind.run_rounds(node.prepared, ctx, rounds.indexes, rounds.limit)
    outcome["failed_round"] = failed
    return None


async def _run_to_end(
    run_context: RunContext, execution: Coroutine[Any, Any, Failure | None]
) -> Failure | None:
    """Return the failure, if any, of an execution that can be stopped. Record the steps that it left unfinished."""
    run_context.control.attach(asyncio.current_task())
    try:
        failure = await _run_in_time(run_context, execution)
    finally:
        run_context.control.attach(None)
    if failure is not None:
        await run_context.record_unfinished()
    return failure


async def _run_in_time(
    run_context: RunContext, execution: Coroutine[Any, Any, Failure | None]
) -> Failure | None:
    try:
        async with asyncio.timeout(run_context.get_seconds_left()) as limit:
            return await execution
    except TimeoutError:
        if not limit.expired():
            raise
        seconds = run_context.start.timeout_seconds
        return _build_failure(RunTimedOut(f"The run took longer than {seconds:g} s"))
    except RunHalted as halted:
        if not isinstance(halted.cause, LimitReached):
            raise halted.cause from None
        return _build_failure(halted.cause)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not run_context.control.is_stopping or task is None:
            raise
        task.uncancel()
        return Failure(RunStatus.STOPPED, "RunStopped", run_context.control.reason or "")


def _build_failure(fault: EngineFault) -> Failure:
    return Failure(RunStatus.FAILED, fault.error_type, fault.message)


def _build_result(
    run_context: RunContext, failure: Failure | None, *, is_paused: bool
) -> RunResult:
    state, pause_control = run_context.state, run_context.pause_control
    untrusted, flow = state.find_untrusted_results(), run_context.plan.flow
    in_outputs, in_variables = _find_memories(run_context)
    final_status = RunStatus.PAUSED if is_paused else state.resolve_status()
    return RunResult(
        status=failure.status if failure else final_status,
        outputs=state.outputs,
        error=failure.message if failure else None,
        error_type=failure.error_type if failure else None,
        error_node=failure.node if failure else None,
        usage=state.usage,
        steps=tuple(state.records),
        stream="".join(run_context.session_queue.text),
        conversation=state.pool.get_conversation(),
        untrusted=select_carried_over(untrusted),
        has_untrusted_outputs=flow.reaches_outputs(untrusted)
        or (failure is not None and flow.reaches_failure(untrusted, failure.node)),
        memories_in_outputs=in_outputs,
        shown_memories=bound_memories(
            [*run_context.start.shown_memories, *in_outputs, *in_variables]
        ),
        writes=tuple(state.writes),
        exceptions_count=state.exceptions,
        elapsed=run_context.ports.clock.monotonic() - run_context.started,
        waiting_steps=tuple(pause_control.waiting_steps) if pause_control and is_paused else (),
        open_waits=tuple(run_context.open_waits) if is_paused else (),
    )


def _find_memories(run_context: RunContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of memories in the outputs of a run, and in the variables of its conversation.

    What the person just wrote is left out, unless it is from outside.
    """
    state = run_context.state
    if not state.shown_memories:
        return (), ()
    is_own = SYSTEM in state.own_sources and SYSTEM not in state.untrusted
    memories = ShownMemories(as_text(state.pool.get_or_none((SYSTEM, "query"))) if is_own else "")
    memories.add(state.shown_memories)
    return memories.find_in(state.outputs), memories.find_in(state.pool.get_conversation())


def _group_answers(answers: Mapping[StepKey, Answer]) -> dict[StepKey, dict[str, Answer]]:
    grouped: dict[StepKey, dict[str, Answer]] = {}
    for key, answer in answers.items():
        grouped.setdefault(replace(key, part=""), {})[key.part] = answer
    return grouped
