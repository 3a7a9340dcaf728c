"""The loop: retries, error strategies, limits, stopping, and going on from a history."""

import asyncio
from collections.abc import Callable

import pytest

from tests.support.cases import for_each
from tests.support.documents import assign, branch, document, end, llm, node, start, template
from tests.support.engine import ports, run_plan
from tests.support.movable_time import movable_time
from tests.support.waiting import until_async
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunControl, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepStatus


pytestmark = pytest.mark.asyncio


class Nap(NodeKind[NodeConfig, NodeConfig]):
    """Waits for some turns of the loop, or for ever, and counts how often it ran, and how many did at once."""

    name = "nap"
    title = "Nap"

    def __init__(self, turns: int | None = 1, on_begin: Callable[[], None] = lambda: None) -> None:
        self.turns, self.on_begin = turns, on_begin  # None: it never wakes up
        self.ran: list[str] = []
        self.cancelled: list[str] = []
        self.now = self.most = 0

    async def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        self.ran.append(ctx.node_id)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            self.on_begin()
            await take_turns(self.turns)
        except asyncio.CancelledError:
            self.cancelled.append(ctx.node_id)
            raise
        finally:
            self.now -= 1
        return NodeResult({"output": ctx.node_id})


async def take_turns(turns: int | None) -> None:
    if turns is None:
        await asyncio.Event().wait()
    for _ in range(turns or 0):
        await asyncio.sleep(0)


def guarded(**data: object):
    nodes = [start("q"), llm("x", **data), template("bad", "BAD"), template("good", "GOOD"),
             end("e1", o=["bad", "output"]), end("e2", o=["good", "output"])]  # fmt: skip
    edges = ["start -> x", "x:fail-branch -> bad", "x -> good", "bad -> e1", "good -> e2"]
    return document(nodes, edges)


async def test_fail_branch_failure_goes_its_way_and_run_is_partial() -> None:
    result = await run_plan(guarded(error_strategy="fail-branch"), mocks={"x": {"error": "kaput"}})

    assert (result.status, result.outputs) == (RunStatus.PARTIAL, {"o": "BAD"})
    failed = next(step for step in result.steps if step.key.node_id == "x")
    assert failed.status is StepStatus.EXCEPTION
    assert failed.outputs == {"error_message": "kaput", "error_type": "MockError"}


async def test_fail_branch_success_goes_the_plain_way() -> None:
    result = await run_plan(
        guarded(error_strategy="fail-branch"), mocks={"x": {"outputs": {"text": "fine"}}}
    )

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"o": "GOOD"})


async def test_retry_fails_twice_then_succeeds() -> None:
    journal = ListJournal()
    retry = {"retry_enabled": True, "max_retries": 3, "retry_interval": 1}

    result = await run_plan(
        guarded(retry_config=retry),
        mocks={"x": {"fail_times": 2, "outputs": {"text": "fine"}}},
        journal=journal,
    )

    assert result.is_successful
    assert next(step.tries for step in result.steps if step.key.node_id == "x") == 3
    words = [event.status for event in journal.events if getattr(event, "node", "") == "x"]
    assert words == ["running", "retrying", "retrying", "completed"]


async def test_failure_without_strategy_ends_run_and_stops_the_others() -> None:
    nap = Nap(None)
    nodes = [start(), llm("x"), node("slow", "nap"), end()]

    result = await run_plan(
        document(nodes, ["start -> slow", "start -> x", "x -> end", "slow -> end"]),
        mocks={"x": {"error": "kaput"}},
        plugins=[nap],
    )

    assert (result.status, result.error, result.error_node) == (RunStatus.FAILED, "kaput", "x")
    assert nap.cancelled == ["slow"]
    statuses = {step.key.node_id: step.status for step in result.steps}
    assert statuses["slow"] is StepStatus.STOPPED
    assert "end" not in statuses


async def test_unexpected_exception_fails_the_node_by_its_name(caplog) -> None:
    class Broken(Nap):
        name = "broken"

        async def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
            raise KeyError("oops")

    nodes = [start(), node("b", "broken"), end()]

    result = await run_plan(document(nodes, ["start -> b", "b -> end"]), plugins=[Broken()])

    assert (result.status, result.error_type) == (RunStatus.FAILED, "KeyError")
    assert "node_broke" in caplog.text


async def test_node_timeout_is_a_failure_of_the_node() -> None:
    nodes = [start(), node("slow", "nap", timeout_secs=60), end()]

    with movable_time() as time:
        nap = Nap(None, on_begin=lambda: time.let_pass(61))
        result = await run_plan(document(nodes, ["start -> slow", "slow -> end"]), plugins=[nap])

    assert (result.status, result.error_type) == (RunStatus.FAILED, "NodeTimedOut")
    assert nap.cancelled == ["slow"]


async def test_run_timeout_ends_the_run() -> None:
    nodes = [start(), node("slow", "nap"), end()]

    with movable_time() as time:
        nap = Nap(None, on_begin=lambda: time.let_pass(61))
        result = await run_plan(
            document(nodes, ["start -> slow", "slow -> end"]), plugins=[nap], timeout_seconds=60
        )

    assert (result.status, result.error_type) == (RunStatus.FAILED, "RunTimedOut")
    assert nap.cancelled == ["slow"]


async def test_step_limit_ends_the_run() -> None:
    nodes = [start(), template("a", "A"), template("b", "B"), end()]

    result = await run_plan(document(nodes, ["start -> a", "a -> b", "b -> end"]), max_steps=2)

    assert (result.status, result.error_type) == (RunStatus.FAILED, "LimitReached")


async def test_many_ready_nodes_wait_at_the_same_time() -> None:
    nap = Nap(100)
    names = [f"n{index}" for index in range(20)]
    nodes = [start(), *(node(name, "nap") for name in names), end()]
    edges = [f"start -> {name}" for name in names] + [f"{name} -> end" for name in names]

    result = await run_plan(document(nodes, edges), plugins=[nap])

    assert result.is_successful
    assert sorted(nap.ran) == sorted(names)
    assert nap.most == len(names)


async def test_stop_ends_a_waiting_run_at_once() -> None:
    nap, control = Nap(None), RunControl()
    nodes = [start(), node("slow", "nap"), end()]
    plan = compile_plan(
        document(nodes, ["start -> slow", "slow -> end"]), build_kinds(plugins=[nap])
    )
    task = asyncio.create_task(
        execute_plan(plan, RunStart("r"), ports(), ListJournal(), control=control)
    )
    await until_async(lambda: nap.ran)

    control.stop("enough")

    result = await asyncio.wait_for(task, 60)
    assert (result.status, result.error) == (RunStatus.STOPPED, "enough")
    assert nap.cancelled == ["slow"]


async def test_cancellation_from_elsewhere_passes_through() -> None:
    nap, nodes = Nap(None), [start(), node("slow", "nap"), end()]
    plan = compile_plan(
        document(nodes, ["start -> slow", "slow -> end"]), build_kinds(plugins=[nap])
    )
    task = asyncio.create_task(execute_plan(plan, RunStart("r"), ports(), ListJournal()))
    await until_async(lambda: nap.ran)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_effect_is_intended_before_and_recorded_before_anything_after() -> None:
    class Effect(Nap):
        name = "effect"
        has_effect = True

    order: list[str] = []

    class Watching(ListJournal):
        async def intend(self, step: StepKey) -> None:
            order.append(f"intend {step.node_id}")

        async def record(self, record, events) -> None:
            await take_turns(20)
            order.append(f"record {record.key.node_id}")

    nodes = [start(), node("a", "effect"), node("b", "effect"), end()]
    await run_plan(
        document(nodes, ["start -> a", "a -> b", "b -> end"]),
        plugins=[Effect(0)],
        journal=Watching(),
    )

    assert order == ["record start", "intend a", "record a", "intend b", "record b", "record end"]


def busy_document():
    nodes = [
        start("q"), template("t", "{{ q }}!", q=["start", "q"]), branch("if", ["start", "q"], "x"),
        assign("set", "v", "append", ["t", "output"], "variable"), template("other", "OTHER"),
        node("nap1", "nap"), node("nap2", "nap"),
        end("end", t=["t", "output"], v=["conversation", "v"], n=["nap1", "output"],
            o=["other", "output"]),
    ]  # fmt: skip
    edges = ["start -> t", "t -> if", "if:true -> set", "if:false -> other", "set -> nap1",
             "set -> nap2", "other -> end", "nap1 -> end", "nap2 -> end"]  # fmt: skip
    return document(nodes, edges, conversation={"v": ("array[string]", ["first"])})


@for_each("kept", range(8))
async def test_resume_after_any_step_gives_the_same_and_repeats_nothing(kept: int) -> None:
    whole = await run_plan(busy_document(), inputs={"q": "x"}, plugins=[Nap(0)])
    nap, journal = Nap(0), ListJournal()

    resumed = await run_plan(
        busy_document(),
        inputs={"q": "x"},
        plugins=[nap],
        history=whole.steps[:kept],
        journal=journal,
    )

    assert (resumed.status, resumed.outputs) == (whole.status, whole.outputs)
    assert resumed.conversation == {"v": ["first", "x!"]}
    assert resumed.stream == whole.stream
    done = {step.key for step in whole.steps[:kept]}
    assert done.isdisjoint(record.key for record in journal.records)
    assert len(resumed.steps) == len(whole.steps) == 7
