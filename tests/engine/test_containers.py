"""Rounds of containers: going on from a history, limits, stopping, time limits, holding, and what is told."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import (
    answer,
    change,
    document,
    end,
    inside,
    iteration,
    llm,
    loop,
    node,
    start,
    template,
)
from tests.support.engine import ports, run_plan
from tests.support.movable_time import movable_time
from tests.support.steps import check_growth_async
from tests.support.waiting import until_async
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import Mode
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.breakpoints import PauseControl
from workflows.engine.runtime.events import (
    IterationCompleted,
    IterationNext,
    IterationStarted,
    LoopCompleted,
    LoopNext,
    LoopStarted,
    NodeStateChange,
)
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunControl, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepStatus


LETTERS = {"v": ("array[string]", ["a", "b", "c"]), "n": ("number", 0)}


class Nap(NodeKind[NodeConfig, NodeConfig]):
    """Waits for some turns of the loop, or for ever, and notes what it was asked for, and how many do so at once."""

    name = "nap"
    title = "Nap"
    streams = frozenset({"text"})

    def __init__(
        self,
        turns: int | None = 1,
        fails: set[tuple[int, ...]] | None = None,
        on_begin: Callable[[], None] = lambda: None,
    ) -> None:
        self.turns, self.on_begin = turns, on_begin  # None: it never wakes up
        self.fails = fails or set()
        self.ran: list[tuple[str, tuple[int, ...]]] = []
        self.cancelled: list[tuple[str, tuple[int, ...]]] = []
        self.keys: list[str] = []
        self.now = self.most = 0

    async def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        self.ran.append((ctx.node_id, ctx.rounds))
        self.keys.append(ctx.origin.idempotency_key)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            self.on_begin()
            await self.wait()
        except asyncio.CancelledError:
            self.cancelled.append((ctx.node_id, ctx.rounds))
            raise
        finally:
            self.now -= 1
        if ctx.rounds in self.fails:
            raise ValueError("it failed")
        return NodeResult({"output": list(ctx.rounds), "text": f"{ctx.rounds[-1:]}"})

    async def wait(self) -> None:
        if self.turns is None:
            await asyncio.Event().wait()
        for _ in range(self.turns or 0):
            await asyncio.sleep(0)


def napping(**data: Any):
    nodes = [start(), *inside(iteration("it", ["conversation", "v"], ["nap", "output"], **data),
                              node("nap", "nap")), end(o=["it", "output"])]  # fmt: skip
    return document(nodes, ["start -> it", "itstart -> nap", "it -> end"], conversation=LETTERS)


def three_deep():
    """An iteration holds a loop, which holds an iteration; answers, assigners and naps at all depths."""
    inner = inside(iteration("inner", ["conversation", "v"], ["deep", "output"],
                             is_parallel=True), node("deep", "nap"))  # fmt: skip
    middle = inside(
        loop("lp", 2, {"i": ("number", 0)}),
        change("add", ["lp", "i"], "+=", 1),
        *inner,
        answer("say", "{{#outer.item#}}{{#lp.i#}} "),
    )
    outer = inside(
        iteration("outer", ["start", "words"], ["lp", "i"]),
        *middle,
        change("count", ["conversation", "n"], "+=", 1),
    )
    nodes = [start("words"), *outer, node("after", "nap"), answer("done", "n={{#conversation.n#}}")]
    edges = ["start -> outer", "outerstart -> lp", "lpstart -> add", "add -> inner",
             "innerstart -> deep", "inner -> say", "lp -> count", "outer -> after",
             "after -> done"]  # fmt: skip
    short = {"v": ("array[string]", ["a", "b"]), "n": ("number", 0)}
    return document(nodes, edges, mode=Mode.CHAT, conversation=short)


DEEP: dict[str, Any] = {"inputs": {"words": ["x", "y"]}}
# start, after, done, outer; of each of its rounds: start, lp, count, and of each of lp's: eight.
WHOLE = 4 + 2 * (3 + 2 * 8)


async def test_whole_run_of_nested_containers() -> None:
    result = await run_plan(three_deep(), plugins=[Nap()], **DEEP)

    assert result.outputs["answer"] == result.stream == "x1 x2 y1 y2 n=2", result.error
    assert result.conversation["n"] == 2
    assert len(result.steps) == WHOLE
    assert len({step.key for step in result.steps}) == WHOLE


@for_each("kept", range(WHOLE + 1))
async def test_resume_after_any_step_of_any_round_gives_the_same_and_repeats_nothing(
    kept: int,
) -> None:
    whole = await run_plan(three_deep(), plugins=[Nap()], **DEEP)
    nap, journal = Nap(), ListJournal()
    history = whole.steps[:kept]

    resumed = await run_plan(three_deep(), plugins=[nap], journal=journal, history=history, **DEEP)

    assert (resumed.status, resumed.outputs) == (whole.status, whole.outputs)
    assert resumed.stream == whole.stream
    assert resumed.conversation == whole.conversation
    done = {step.key for step in history}
    assert done.isdisjoint(record.key for record in journal.records)
    assert {step.key for step in resumed.steps} == {step.key for step in whole.steps}
    assert len(resumed.steps) == WHOLE
    naps = {(key.node_id, key.rounds) for key in done if key.node_id in ("deep", "after")}
    assert naps.isdisjoint(nap.ran)


async def test_effects_of_rounds_have_keys_of_their_own() -> None:
    nap = Nap()

    await run_plan(napping(), plugins=[nap])

    assert nap.keys == ["run:nap:0", "run:nap:1", "run:nap:2"]


async def test_round_goes_on_with_the_item_it_began_with() -> None:
    """Another branch has replaced the list since: rounds that had begun don't mix old and new."""
    made = napping()
    whole = await run_plan(made, plugins=[Nap()])
    begun = [step for step in whole.steps if step.key.rounds in ((), (0,), (1,))][:4]
    later = document(made.nodes, ["start -> it", "itstart -> nap", "it -> end"],
                     conversation={"v": ("array[string]", ["x", "y", "z"])})  # fmt: skip
    journal = ListJournal()

    await run_plan(later, plugins=[Nap()], history=begun, journal=journal)

    assert [step.key for step in begun] == [
        StepKey("start"), StepKey("itstart", (0,)), StepKey("nap", (0,)), StepKey("itstart", (1,))
    ]  # fmt: skip
    began = {r.key.rounds: r.inputs for r in journal.records if r.key.node_id == "itstart"}
    assert began == {(2,): {"item": "z", "index": 2}}


async def test_rounds_at_once_are_as_many_as_allowed() -> None:
    nap = Nap(100)
    made = document(
        [start("q"), *inside(iteration("it", ["start", "q"], ["nap", "output"], is_parallel=True,
                                       parallel_nums=3), node("nap", "nap")), end(o=["it", "output"])],
        ["start -> it", "itstart -> nap", "it -> end"],
    )  # fmt: skip

    result = await run_plan(made, plugins=[nap], inputs={"q": list("abcdefgh")})

    assert result.outputs == {"o": list(range(8))}
    assert nap.most == 3


async def test_failed_round_stops_the_others_and_the_iteration_fails_with_its_error() -> None:
    nap = Nap(100, fails={(0,)})

    result = await run_plan(napping(is_parallel=True, parallel_nums=3), plugins=[nap])

    assert (result.status, result.error, result.error_type, result.error_node) == (
        RunStatus.FAILED, "it failed", "ValueError", "it"
    )  # fmt: skip
    statuses = {step.key: step.status for step in result.steps if step.key.node_id == "nap"}
    assert statuses[StepKey("nap", (0,))] is StepStatus.FAILED
    assert set(statuses.values()) <= {StepStatus.FAILED, StepStatus.STOPPED, StepStatus.SUCCEEDED}


async def test_inner_strategy_comes_before_the_containers() -> None:
    saved = [{"key": "output", "type": "string", "value": "saved"}]
    guarded = node("nap", "nap", error_strategy="default-value", default_value=saved)
    made = document(
        [start(), *inside(iteration("it", ["conversation", "v"], ["nap", "output"]), guarded),
         end(o=["it", "output"])],
        ["start -> it", "itstart -> nap", "it -> end"],
        conversation=LETTERS,
    )  # fmt: skip

    result = await run_plan(made, plugins=[Nap(fails={(1,)})])

    assert result.outputs == {"o": [[0], "saved", [2]]}
    assert (result.status, result.exceptions_count) == (RunStatus.PARTIAL, 1)


async def test_stop_reaches_a_node_deep_inside() -> None:
    nap, control, journal = Nap(None), RunControl(), ListJournal()
    plan = compile_plan(three_deep(), build_kinds(plugins=[nap]))
    begin = RunStart("r", inputs={"words": ["x"]})
    task = asyncio.create_task(execute_plan(plan, begin, ports(), journal, control=control))
    await until_async(lambda: len(nap.ran) == 2)

    control.stop("enough")

    result = await asyncio.wait_for(task, 60)
    assert result.status is RunStatus.STOPPED
    assert sorted(nap.cancelled) == [("deep", (0, 0, 0)), ("deep", (0, 0, 1))]
    stopped = {r.key for r in journal.records if r.status is StepStatus.STOPPED}
    assert stopped == {StepKey("outer"), StepKey("lp", (0,)), StepKey("inner", (0, 0)),
                       StepKey("deep", (0, 0, 0)), StepKey("deep", (0, 0, 1))}  # fmt: skip


async def test_time_limit_of_a_container_ends_its_rounds_and_is_its_failure() -> None:
    journal = ListJournal()
    made = napping(timeout_secs=60, error_strategy="default-value",
                   default_value=[{"key": "output", "type": "array[string]", "value": "[]"}])  # fmt: skip

    with movable_time() as time:
        nap = Nap(None, on_begin=lambda: time.let_pass(61))
        result = await run_plan(made, plugins=[nap], journal=journal)

    assert (result.status, result.outputs) == (RunStatus.PARTIAL, {"o": []})
    assert nap.cancelled == [("nap", (0,))]
    ends = [(r.key, r.status) for r in journal.records if r.key.node_id in ("nap", "it")]
    assert ends == [
        (StepKey("nap", (0,)), StepStatus.STOPPED),
        (StepKey("it"), StepStatus.EXCEPTION),
    ]


async def test_step_limit_counts_what_runs_in_rounds_and_no_error_mode_handles_it() -> None:
    made = napping(error_handle_mode="continue-on-error")

    # start, iteration and two naps
    result = await run_plan(made, plugins=[Nap()], max_steps=4)
    enough = await run_plan(made, plugins=[Nap()], max_steps=6)

    assert (result.status, result.error_type) == (RunStatus.FAILED, "LimitReached")
    assert enough.status is RunStatus.SUCCEEDED


async def test_broken_journal_is_no_failure_of_a_node() -> None:
    class Lost(Exception):
        pass

    class Journal(ListJournal):
        async def record(self, record, events) -> None:
            if record.key.rounds == (1,):
                raise Lost
            await super().record(record, events)

    with pytest.raises(Lost):
        await run_plan(napping(error_handle_mode="continue-on-error"), plugins=[Nap()],
                       journal=Journal())  # fmt: skip


async def test_usage_of_all_rounds_is_summed() -> None:
    made = document(
        [start(), *inside(iteration("it", ["conversation", "v"], ["m", "text"]), llm("m")),
         end(o=["it", "output"])],
        ["start -> it", "itstart -> m", "it -> end"],
        conversation=LETTERS,
    )  # fmt: skip
    used = {"prompt_tokens": 3, "completion_tokens": 2}

    result = await run_plan(made, mocks={"m": {"outputs": {"text": "x", "usage": used}}})

    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (9, 6)


async def test_rounds_are_told_with_their_numbers() -> None:
    journal = ListJournal()
    nodes = [start(), *inside(loop("lp", 2, {"i": ("number", 0)}),
                              *inside(iteration("it", ["conversation", "v"], ["it", "item"]))),
             end()]  # fmt: skip

    await run_plan(document(nodes, ["start -> lp", "lpstart -> it", "lp -> end"],
                            conversation={"v": ("array[string]", ["a"])}), journal=journal)  # fmt: skip

    told = [event for event in journal.events if isinstance(
        event, LoopStarted | LoopNext | LoopCompleted | IterationStarted | IterationNext
        | IterationCompleted)]  # fmt: skip
    assert [(event.name, event.node, event.rounds, event.total) for event in told] == [
        ("loop_started", "lp", (), 2),
        ("loop_next", "lp", (), 2),
        ("iteration_started", "it", (0,), 1),
        ("iteration_next", "it", (0,), 1),
        ("iteration_completed", "it", (0,), 1),
        ("loop_next", "lp", (), 2),
        ("iteration_started", "it", (1,), 1),
        ("iteration_next", "it", (1,), 1),
        ("iteration_completed", "it", (1,), 1),
        ("loop_completed", "lp", (), 2),
    ]
    assert [event.index for event in told if isinstance(event, LoopNext)] == [0, 1]
    assert [(event.count, event.failed) for event in told if isinstance(event, LoopCompleted)] == [
        (2, 0)
    ]
    changes = [(e.node, e.status, e.rounds) for e in journal.events
               if isinstance(e, NodeStateChange) and e.node == "itstart"]  # fmt: skip
    assert changes == [("itstart", "running", (0, 0)), ("itstart", "completed", (0, 0)),
                       ("itstart", "running", (1, 0)), ("itstart", "completed", (1, 0))]  # fmt: skip


async def test_answers_of_rounds_at_once_are_streamed_in_the_order_of_the_rounds() -> None:
    ended = [asyncio.Event() for _ in range(4)]
    ended[3].set()

    class Backwards(Nap):
        """Ends the last round first."""

        async def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
            [number] = ctx.rounds
            await ended[number + 1].wait()
            for piece in ("p", "q"):
                ctx.stream("text", f"{piece}{number} ")
                await self.wait()
            ended[number].set()
            return NodeResult({"text": "", "output": 0})

    made = document(
        [start(), *inside(iteration("it", ["conversation", "v"], ["nap", "output"],
                                    is_parallel=True), node("nap", "nap"),
                          answer("say", "{{#it.item#}}: {{#nap.text#}}")), answer("end", "end")],
        ["start -> it", "itstart -> nap", "nap -> say", "it -> end"],
        mode=Mode.CHAT,
        conversation=LETTERS,
    )  # fmt: skip

    result = await run_plan(made, plugins=[Backwards(20)])

    assert result.stream == "a: p0 q0 b: p1 q1 c: p2 q2 end"


async def test_answer_of_a_failed_round_is_not_waited_for() -> None:
    made = document(
        [start(), *inside(iteration("it", ["conversation", "v"], ["nap", "output"],
                                    error_handle_mode="continue-on-error"), node("nap", "nap"),
                          answer("say", "{{#it.item#}} {{#nap.output#}} ")), answer("end", "end")],
        ["start -> it", "itstart -> nap", "nap -> say", "it -> end"],
        mode=Mode.CHAT,
        conversation=LETTERS,
    )  # fmt: skip

    result = await run_plan(made, plugins=[Nap(fails={(1,)})])

    assert result.stream == "a - 0 b c - 2 end"
    assert result.outputs["answer"] == "a - 0 c - 2 end"


@pytest.mark.parametrize("parallel", [False, True])
async def test_iteration_over_an_empty_list_has_an_empty_result(parallel: bool) -> None:
    nodes = [start("q"), *inside(iteration("it", ["start", "q"], ["nap", "output"],
                                           is_parallel=parallel), node("nap", "nap")),
             end(o=["it", "output"])]  # fmt: skip
    subject = document(nodes, ["start -> it", "itstart -> nap", "it -> end"])

    result = await run_plan(subject, inputs={"q": []}, plugins=[nap := Nap()])

    assert (result.outputs, result.error, nap.ran) == ({"o": []}, None, [])


@pytest.mark.parametrize("parallel", [False, True])
async def test_held_inside_a_round_pauses_and_goes_on_there(parallel: bool) -> None:
    plan = compile_plan(napping(is_parallel=parallel), build_kinds(plugins=[first := Nap()]))
    brake = PauseControl(budget=3)  # start, iteration, one nap
    paused = await execute_plan(
        plan, RunStart("r"), ports(), journal := ListJournal(), pause_control=brake
    )

    again = Nap()
    plan = compile_plan(napping(is_parallel=parallel), build_kinds(plugins=[again]))
    result = await execute_plan(
        plan, RunStart("r"), ports(), ListJournal(), history=journal.records
    )

    assert paused.status is RunStatus.PAUSED
    assert StepKey("nap", (1,)) in paused.waiting_steps
    assert first.ran == [("nap", (0,))]
    assert again.ran == [("nap", (1,)), ("nap", (2,))]
    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"o": [0, 1, 2]})


async def test_twice_as_many_rounds_are_twice_the_work() -> None:
    made = document(
        [start("q"), *inside(iteration("it", ["start", "q"], ["t", "output"]),
                             template("t", "{{ x }}", x=["it", "item"])), end(o=["it", "output"])],
        ["start -> it", "itstart -> t", "it -> end"],
    )  # fmt: skip

    async def run_rounds(rounds: int) -> None:
        result = await run_plan(made, inputs={"q": ["x"] * rounds}, max_steps=9999)
        assert result.outputs == {"o": ["x"] * rounds}

    await run_rounds(50)  # what is done once
    await check_growth_async(run_rounds, 1000)
