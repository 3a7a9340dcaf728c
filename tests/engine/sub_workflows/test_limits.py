"""The limits of an agent and of a start count everything below them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.engine.agent.scripted import agent_document, call
from tests.engine.sub_workflows.test_children import caller
from tests.support.documents import document, end, node, start
from tests.support.movable_time import MovableTime, movable_time
from workflows.engine.errors import LimitReached
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord, StepStatus
from workflows.engine.sub_workflows.children import RunsBelow
from workflows.engine.sub_workflows.shares import Amount
from workflows.engine.sub_workflows.spending import Spending, leave_for_call, sum_recorded
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.engine.tool_calls import ToolPort


PRICE = 0.02  # USD of each call
TOKENS = Usage(10, 5, PRICE)


class PricedModel:
    """Calls the tool ``inner`` as long as it is offered, and otherwise answers; each call has a price."""

    def __init__(self, *, calls_at_once: int = 1) -> None:
        self.calls, self.calls_at_once = 0, calls_at_once

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.calls += 1
        offered = [tool.name for tool in request.tools]
        numbers = range(self.calls_at_once if offered else 0)
        calls = tuple(call(offered[0], f"call-{self.calls}-{number}") for number in numbers)
        yield ModelChunk(text="So be it. ", tool_calls=calls, usage=TOKENS)


class NoTools:
    async def find(self, references: Any) -> Any:
        return []

    async def call(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("there is no tool but the workflows")


def workflow_tool(slug: str) -> dict[str, Any]:
    return {"source": "workflow", "provider": slug, "name": slug}


def talker(count: int) -> Any:
    """Return a workflow that asks its model ``count`` times, one after the other."""
    asks = [
        node(
            f"ask{number}",
            "llm",
            model={"provider": "priced", "name": "m", "mode": "chat"},
            prompt_template=[{"role": "user", "text": "Well?"}],
        )
        for number in range(count)
    ]
    names = ["start", *(f"ask{number}" for number in range(count)), "end"]
    edges = [f"{source} -> {target}" for source, target in pairwise(names)]
    last = f"ask{count - 1}"
    return document([start(), *asks, end("end", text=[last, "text"])], edges)


async def run(model: PricedModel, /, tool: str = "inner", **workflows: Any) -> RunResult:
    limits = workflows.pop("limits")
    tools: ToolPort = NoTools()
    runner = WorkflowRunner(
        agent_document(tools=[workflow_tool(tool)], max_rounds=20, **limits),
        workflows=workflows,
        models=model,
        tools=tools,
    )
    return await runner.run(inputs={"q": "?"})


@pytest.mark.parametrize(
    ("limits", "reason"), [({"max_cost": 0.1}, "max_cost"), ({"max_tokens": 75}, "max_tokens")]
)
async def test_what_a_workflow_tool_spends_counts_for_the_agent(
    limits: dict[str, Any], reason: str
) -> None:
    model = PricedModel()

    result = await run(model, limits=limits, inner=talker(2))

    # Two calls of the agent and two runs of two calls each reach the five that the limit allows; the last one is the answer.
    assert result.outputs["finish_reason"] == reason
    assert model.calls <= 5 + 2


async def test_workflow_below_makes_no_call_beyond_what_the_agent_has_left() -> None:
    model = PricedModel()

    result = await run(model, limits={"max_cost": 0.1}, inner=talker(100))

    assert result.outputs["finish_reason"] == "max_cost"
    assert model.calls == 5 + 1  # and the last answer
    assert "max_cost of the agent that called this workflow is used up" in str(result.outputs)
    assert result.outputs["usage"]["cost"] == pytest.approx(6 * PRICE)


async def test_agents_below_an_agent_share_its_limit_at_every_depth() -> None:
    model = PricedModel()
    middle = agent_document(tools=[workflow_tool("inner")], max_rounds=20)

    result = await run(
        model, tool="middle", limits={"max_cost": 0.1}, middle=middle, inner=talker(100)
    )

    assert result.outputs["finish_reason"] == "max_cost"
    assert model.calls == 5 + 1


async def test_calls_made_together_share_what_is_left() -> None:
    """Twelve workflows would make 48 calls. The agent has four left after its own."""
    model = PricedModel(calls_at_once=12)

    result = await run(model, limits={"max_cost": 0.1}, inner=talker(4))

    assert result.outputs["finish_reason"] == "max_cost"
    assert model.calls == 1 + 4 + 1  # and the last answer
    [first, *_] = result.outputs["rounds"]
    assert all("is used up" in each["result"] for each in first["calls"])


async def test_one_start_begins_a_limited_number_of_runs_and_the_error_names_it() -> None:
    model = PricedModel()
    runner = WorkflowRunner(
        agent_document(tools=[workflow_tool("inner")], max_rounds=20),
        workflows={"inner": talker(1)},
        models=model,
        tools=NoTools(),
        max_runs_below=3,
    )

    results = [await runner.run(inputs={"q": "?"}) for _start in range(2)]

    for result in results:
        calls = [each for one in result.outputs["rounds"] for each in one["calls"]]
        refused = [each for each in calls if each["is_error"]]
        assert len(calls) - len(refused) == 3
        assert refused
        assert all(
            "at most 3 runs of other workflows; raise max_runs_below" in each["result"]
            for each in refused
        )


async def test_sub_workflow_nodes_count_among_the_runs_of_a_start() -> None:
    runner = WorkflowRunner(
        caller("middle"),
        workflows={"middle": caller("inner"), "inner": talker(1)},
        models=PricedModel(),
        max_runs_below=1,
    )

    result = await runner.run()

    assert result.status is RunStatus.FAILED
    assert "at most 1 runs of other workflows" in str(result.error)


def inner_agent() -> Any:
    """Return a workflow of three steps, one of which is an agent that answers in its first round."""
    model = {"provider": "priced", "name": "m", "mode": "chat"}
    agent = node("agent", "agent", model=model, query="Well?")
    return document(
        [start(), agent, end("end", text=["agent", "text"])], ["start -> agent", "agent -> end"]
    )


async def test_steps_and_rounds_of_the_runs_of_a_start_are_limited_together() -> None:
    """Each run below makes three steps and, if it has an agent, one more for each of its rounds."""
    made = []
    for inner, limit in ((talker(1), 6), (inner_agent(), 8)):
        runner = WorkflowRunner(
            agent_document(tools=[workflow_tool("inner")], max_rounds=20),
            workflows={"inner": inner},
            models=PricedModel(),
            tools=NoTools(),
            max_steps_below=limit,
        )

        result = await runner.run(inputs={"q": "?"})

        calls = [each for one in result.outputs["rounds"] for each in one["calls"]]
        refused = [each["result"] for each in calls if each["is_error"]]
        assert refused
        message = f"at most {limit} steps and rounds of agents; raise max_steps_below"
        assert all(message in each for each in refused)
        made.append(len(calls) - len(refused))
    assert made == [2, 2]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_runs_that_go_on_make_no_call_beyond_the_steps_of_their_start(at_once: int) -> None:
    """A run that was begun in time doesn't go on for ever, and those that go on together don't have the rest each."""
    model, limit = PricedModel(calls_at_once=at_once), 10
    runner = WorkflowRunner(
        agent_document(tools=[workflow_tool("inner")], max_rounds=1),
        workflows={"inner": talker(100)},
        models=model,
        tools=NoTools(),
        max_steps_below=limit,
    )

    result = await runner.run(inputs={"q": "?"})

    [first, *_] = result.outputs["rounds"]
    message = f"at most {limit} steps and rounds of agents; raise max_steps_below"
    assert [message in each["result"] for each in first["calls"]] == [True] * at_once
    # Without the agent's own, a round and its answer; the first run below has made a step before its first call.
    assert model.calls - 2 == limit - 1


@dataclass
class MadeSteps:
    """A run below with some steps."""

    run_id: str
    records: list[StepRecord]


def build_steps(count: int) -> list[StepRecord]:
    return [
        StepRecord(StepKey(f"n{number}"), "llm", StepStatus.SUCCEEDED) for number in range(count)
    ]


async def test_calls_in_progress_have_reserved_their_steps() -> None:
    first, second = MadeSteps("a", build_steps(1)), MadeSteps("b", build_steps(1))
    below = RunsBelow(step_limit=4, running={"a": first, "b": second})  # type: ignore[dict-item]
    await below.reserve_steps("a", 1)
    await below.reserve_steps("b", 1)

    with pytest.raises(LimitReached):
        await below.reserve_steps("a", 2)
    assert below.steps_so_far == 4
    first.records += build_steps(1)  # its call has ended
    with pytest.raises(LimitReached):
        await below.reserve_steps("a", 1)
    below.end(second)  # type: ignore[arg-type]  # whose call failed
    await below.reserve_steps("a", 1)
    assert below.steps_so_far == 4


async def test_call_that_is_refused_or_fails_has_reserved_nothing_any_more() -> None:
    numbers = list[int]()

    async def reserve(calls: int) -> None:
        numbers.append(calls)
        if len(numbers) == 2:
            raise LimitReached("used up")

    spending = Spending(reserve_steps=reserve)
    first = await spending.begin_call(Amount())
    with pytest.raises(LimitReached):
        await spending.begin_call(Amount())
    await spending.begin_call(Amount())
    await spending.end_call(first, None)
    await spending.begin_call(Amount())

    assert numbers == [1, 2, 2, 2]


class SilentModel(PricedModel):
    """Calls the tool ``inner`` where it is offered, and then lets the time pass instead of answering."""

    def __init__(self, time: MovableTime) -> None:
        super().__init__()
        self.time, self.begun, self.left = time, 0, 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if request.tools or self.begun:
            async for chunk in super().stream(request):
                yield chunk
            return
        self.begun += 1
        try:
            self.time.let_pass(61)
            await asyncio.Event().wait()
        finally:
            self.left += 1


async def test_time_of_a_workflow_below_counts_for_the_agent_and_ends_with_it() -> None:
    with movable_time() as time:
        model = SilentModel(time)

        result = await run(model, limits={"timeout_seconds": 60}, inner=talker(1))

    [told] = result.outputs["rounds"][0]["calls"]
    assert told["result"] == "The time of the agent was up before the tool answered."
    assert result.outputs["finish_reason"] == "timeout"
    assert (model.begun, model.left) == (1, 1)  # the call of the model below was given up


async def test_time_of_a_workflow_below_counts_for_the_run() -> None:
    with movable_time() as time:
        model = SilentModel(time)
        runner = WorkflowRunner(
            caller("inner"), workflows={"inner": talker(1)}, models=model, timeout_seconds=60
        )

        result = await runner.run()

    assert (result.status, result.error_type) == (RunStatus.FAILED, "RunTimedOut")
    assert (model.begun, model.left) == (1, 1)


def test_spending_left_is_the_lower_limit_of_all_that_are_above() -> None:
    spending = Spending(SpendingLimits(max_tokens=100, max_cost=1.0))
    spending.add(Usage(30, 10, 0.75))

    with leave_for_call(SpendingLimits(max_tokens=50)), leave_for_call(SpendingLimits(None, 0.5)):
        left = spending.get_left()

    assert left == SpendingLimits(50, 0.25)
    assert spending.get_left() == SpendingLimits(60, 0.25)
    assert SpendingLimits.from_json(left.to_json()) == left
    spending.add(Usage(60, 0))
    with pytest.raises(LimitReached, match=r"max_tokens .* 100 were left"):
        spending.check()


def test_spending_of_earlier_attempts_counts_each_call_once() -> None:
    def record(part: str, node_id: str, cost: float) -> StepRecord:
        return StepRecord(
            StepKey(node_id, (), part),
            "agent",
            StepStatus.SUCCEEDED,
            outputs={"usage": {"cost": cost}},
            prompt_tokens=4,
        )

    usage = sum_recorded(
        [record("", "done", 0.5), record("1.model", "done", 0.5), record("1.model", "open", 0.25)]
    )

    assert usage == Usage(8, 0, 0.75)
