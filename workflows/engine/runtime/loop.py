"""Drives one run to its end: its top scope, its time limit, stopping, and what comes out of it."""

import asyncio
from collections.abc import Sequence

from workflows.engine.errors import LimitReached, RunTimedOut, WorkflowFault
from workflows.engine.language.plan import Plan
from workflows.engine.language.untrusted import left_of
from workflows.engine.ports import Journal, Ports
from workflows.engine.runtime.breakpoints import Brake
from workflows.engine.runtime.container_bodies import ScopedBodies
from workflows.engine.runtime.frame import Frame
from workflows.engine.runtime.history import Earlier
from workflows.engine.runtime.run_context import Failure, RunHalted, Shared
from workflows.engine.runtime.run_request import RunControl, RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepRecord
from workflows.engine.testing.mocks import Mocks


async def drive(
    plan: Plan,
    start: RunStart,
    ports: Ports,
    journal: Journal,
    *,
    history: Sequence[StepRecord] = (),
    mocks: Mocks | None = None,
    control: RunControl | None = None,
    brake: Brake | None = None,
    seeds: Sequence[StepRecord] = (),
) -> RunResult:
    """Run to the end, or go on from ``history``: no step in it runs again.

    With a ``brake`` the run may end paused. ``seeds`` are results to be read of nodes that aren't
    in the plan.

    The run's own first and last event belong to who owns the run (``RunResult.event``). A
    cancellation that didn't come through ``control`` passes through: the driver lost the run, and
    somebody else will go on with it.
    """
    control = control or RunControl()
    earlier = Earlier(plan.document, history)
    shared = Shared(plan, start, ports, journal, mocks, control, earlier, ScopedBodies(), brake)
    for record in seeds:
        shared.state.seed(record)
    top = Frame(shared, plan, shared.state.pool)
    control.attach(asyncio.current_task())
    try:
        failure = await _run(top)
    finally:
        control.attach(None)
    if failure is not None:
        await shared.write_broken_off()
    paused = failure is None and top.held
    if not paused:
        top.stream.finish()
    await journal.flush()
    return _result(shared, failure, paused=paused)


async def _run(top: Frame) -> Failure | None:
    shared = top.shared
    try:
        async with asyncio.timeout(shared.seconds_left()) as limit:
            return await top.run()
    except TimeoutError:
        if not limit.expired():
            raise
        seconds = shared.start.timeout_seconds
        return _failed(RunTimedOut(f"The run took longer than {seconds:g} s"))
    except RunHalted as halted:
        if not isinstance(halted.cause, LimitReached):
            raise halted.cause from None
        return _failed(halted.cause)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not shared.control.stopping or task is None:
            raise
        task.uncancel()
        return Failure(RunStatus.STOPPED, "RunStopped", shared.control.reason or "")


def _failed(fault: WorkflowFault) -> Failure:
    return Failure(RunStatus.FAILED, fault.error_type, fault.message)


def _result(shared: Shared, failure: Failure | None, *, paused: bool) -> RunResult:
    state = shared.state
    ended = RunStatus.PAUSED if paused else state.status()
    return RunResult(
        status=failure.status if failure else ended,
        outputs=state.outputs,
        error=failure.message if failure else None,
        error_type=failure.error_type if failure else None,
        error_node=failure.node if failure else None,
        usage=state.usage,
        steps=tuple(state.records),
        stream="".join(shared.stage.text),
        conversation=state.pool.conversation(),
        outside=left_of(state.outside),
        writes=tuple(state.writes),
        exceptions_count=state.exceptions,
        elapsed=shared.ports.clock.monotonic() - shared.started,
        held=tuple(shared.brake.held) if shared.brake and paused else (),
    )
