"""Calls that a model asks for in one answer: at the same time, in order for the model, and never made twice."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import (
    ScriptedModel,
    Tools,
    answer_wait,
    build_runner,
    call,
    run_agent,
)
from tests.support.waiting import until_async
from workflows.engine.errors import ModelFailed, ToolFailed
from workflows.engine.nodes.agent.tool_use.call_groups import MAX_AT_ONCE, get_duration
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.tool_calls import Tool, ToolResult


TURNS = 20  # of the loop, which a call takes


class SlowTools(Tools):
    """Tools that take a while, some until another has ended, and remember how many of them ran at the same time."""

    def __init__(self, *names: str, **awaited: str) -> None:
        super().__init__(**{name: (lambda name=name: f"result of {name}") for name in names})
        self.awaited = awaited
        self.running = self.most = 0
        self.ended: list[str] = []

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        name = tool.reference.name
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.wait(name)
            return await super().call(tool, arguments, idempotency_key=idempotency_key)
        finally:
            self.running -= 1
            self.ended.append(name)

    async def wait(self, name: str) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if name in self.awaited:
            await until_async(lambda: self.awaited[name] in self.ended)


def ask_for(*names: str) -> ScriptedModel:
    return ScriptedModel(("", [call(name) for name in names]), "Done")


async def test_calls_run_at_the_same_time_and_their_messages_keep_the_order() -> None:
    tools, model = SlowTools("slow", "quick", slow="quick"), ask_for("slow", "quick")

    result = await run_agent(model, tools)

    assert result.status is RunStatus.SUCCEEDED
    assert (tools.ended, tools.most) == (["quick", "slow"], 2)
    answers = [(m.tool_call_id, m.text) for m in model.requests[1].messages if m.role == "tool"]
    assert answers == [("id-slow", "result of slow"), ("id-quick", "result of quick")]
    [first, _last] = result.outputs["rounds"]
    assert [each["name"] for each in first["calls"]] == ["slow", "quick"]


async def test_at_most_four_run_at_once() -> None:
    names = [f"tool{number}" for number in range(7)]
    tools = SlowTools(*names)

    await run_agent(ask_for(*names), tools)

    assert tools.most == MAX_AT_ONCE == 4
    assert len(tools.ledger) == 7


async def test_failure_of_one_call_is_told_beside_the_results_of_the_others() -> None:
    def fail() -> str:
        raise ToolFailed("out of order")

    tools, model = Tools(fail=fail, work=lambda: "fine"), ask_for("fail", "work")

    await run_agent(model, tools)

    texts = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert texts == ["Error: out of order", "fine"]


async def test_worker_that_fails_during_one_call_repeats_no_call_that_had_ended() -> None:
    attempts: list[str] = []

    def crash_once() -> str:
        attempts.append("crash")
        if len(attempts) == 1:
            raise ModelFailed("busy", retryable=True)
        return "ok"

    tools = Tools(first=lambda: "1", crash=crash_once, third=lambda: "3")

    result = await run_agent(
        ask_for("first", "crash", "third"),
        tools,
        retry_config={"retry_enabled": True, "max_retries": 2, "retry_interval": 1},
    )

    assert result.outputs["text"] == "Done "
    assert sorted(name for name, *_ in tools.ledger) == ["crash", "crash", "first", "third"]
    assert len({key for name, _arguments, key in tools.ledger if name == "crash"}) == 1


async def test_call_that_needs_approval_waits_alone_and_the_calls_around_it_are_made_once() -> None:
    tools = SlowTools("a", "b", "send", "c")
    tools.needs_approval = {"send"}
    model = ask_for("a", "b", "send", "c")
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})

    paused = await handle.result()
    made = sorted(tools.ended)
    _handle, result = await answer_wait(runner, handle, "allow")

    assert paused.status is RunStatus.PAUSED
    assert made == ["a", "b"]
    assert result.outputs["text"] == "Done "
    assert sorted(tools.ended) == ["a", "b", "c", "send"]
    texts = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert texts == [f"result of {name}" for name in ("a", "b", "send", "c")]


async def test_memory_is_written_and_read_in_the_order_of_the_calls() -> None:
    model = ScriptedModel(
        ("", [call("remember", key="color", value="green"), call("recall", query="color")]), "Done"
    )

    result = await run_agent(
        model,
        None,
        InMemoryProvider(),
        system={"user_id": "ana", "conversation_id": "c"},
        memory_tools={"remember": ["user"], "recall": ["user"]},
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert "green" in model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([3.0], 3.0), ([1.0, 2.0, 3.0], 3.0), ([1.0, 1.0, 1.0, 1.0, 2.0], 3.0), ([4.0, 1.0, 1.0, 1.0, 1.0], 4.0)],
)  # fmt: skip
def test_time_of_calls_at_the_same_time_counts_once(seconds: list[float], expected: float) -> None:
    assert get_duration(seconds) == expected
