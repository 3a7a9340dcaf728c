"""Tools that ask a person something before they carry out a call: the pause, and the same call again with the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.engine.agent.scripted import ScriptedModel, Tools, build_runner, call
from tests.support.documents import document, end, node, start
from workflows.engine.errors import InputRejected
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import RunHandle, WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import Answer, check_answer
from workflows.engine.tool_calls import Tool, ToolAsks, ToolReply, ToolResult


FORM = {
    "type": "form",
    "content": "Which size?",
    "inputs": [{"name": "size", "type": "select", "options": ["S", "L"], "required": True}],
    "actions": [
        {"id": "accept", "title": "Send"},
        {"id": "decline", "title": "No", "declines": True},
    ],
}


@dataclass
class Shop(Tools):
    """A tool that orders something after so many questions."""

    questions: int = 1
    replies: list[ToolReply | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(order=lambda: "", look=lambda: "found")

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        if tool.reference.name == "look":
            return await super().call(tool, arguments, idempotency_key=idempotency_key)
        self.replies.append(tool.reply)
        count = 0 if tool.reply is None else tool.reply.state["asked"]
        if count < self.questions:
            raise ToolAsks(FORM, {"asked": count + 1})
        reply = tool.reply
        self.ledger.append(("order", {}, idempotency_key))
        return ToolResult(f"{reply.action} {reply.values.get('size')}" if reply else "ordered")


def ordering_model() -> ScriptedModel:
    return ScriptedModel(("I order", [call("look"), call("order")]), "Done")


async def reply_to(
    runner: WorkflowRunner, handle: RunHandle, action: str, **values: Any
) -> tuple[RunHandle, RunResult]:
    """Answer the question as a stored answer comes back: with the state that its form had."""
    [wait] = (await handle.result()).open_waits
    form: Any = wait.wait.form
    handle = runner.resume(handle, {wait.key: Answer(values, action, state=form["state"])})
    return handle, await handle.result()


async def test_question_pauses_the_run_and_its_answer_goes_with_the_same_call() -> None:
    model, shop = ordering_model(), Shop()
    runner = build_runner(model, shop)
    handle = runner.start(inputs={"q": "?"})
    paused = await handle.result()

    _handle, result = await reply_to(runner, handle, "accept", size="L")

    [wait] = paused.open_waits
    form: Any = wait.wait.form
    assert (paused.status, wait.wait.awaited) == (RunStatus.PAUSED, "answer")
    assert (form["content"], form["inputs"]) == (FORM["content"], FORM["inputs"])
    assert result.outputs["text"] == "Done "
    assert model.requests[1].messages[-1].text == "accept L"
    assert shop.replies == [None, ToolReply({"size": "L"}, "accept", {"asked": 1})]
    # What the model asked for besides was called once, and the model only when it had to.
    assert [name for name, _arguments, _key in shop.ledger] == ["look", "order"]
    assert len(model.requests) == 2


async def test_tool_may_ask_again() -> None:
    model, shop = ordering_model(), Shop(questions=2)
    runner = build_runner(model, shop)
    handle = runner.start(inputs={"q": "?"})

    handle, paused = await reply_to(runner, handle, "accept", size="S")
    _handle, result = await reply_to(runner, handle, "accept", size="L")

    assert paused.status is RunStatus.PAUSED
    assert result.status is RunStatus.SUCCEEDED
    assert model.requests[1].messages[-1].text == "accept L"


async def test_answer_is_given_to_nobody_else_if_the_connection_was_changed() -> None:
    """The person answered the old server; the new one has to ask itself."""
    model, shop = ordering_model(), Shop(questions=2)
    shop.versions["order"] = "the old server"
    runner = build_runner(model, shop)
    handle = runner.start(inputs={"q": "?"})
    handle, paused = await reply_to(runner, handle, "accept", size="S")
    shop.versions["order"] = "the new server"
    shop.replies.clear()

    handle, again = await reply_to(runner, handle, "accept", size="L")
    told_at_first = [*shop.replies]
    handle, _paused = await reply_to(runner, handle, "accept", size="S")
    _handle, result = await reply_to(runner, handle, "accept", size="L")

    assert [wait.key.part for wait in paused.open_waits] == ["1.tool.2?2"]
    assert again.status is RunStatus.PAUSED
    assert told_at_first == [None]
    assert result.status is RunStatus.SUCCEEDED
    assert model.requests[1].messages[-1].text == "accept L"


async def test_tool_that_never_stops_asking_fails() -> None:
    model, shop = ordering_model(), Shop(questions=1000)
    runner = build_runner(model, shop)
    handle = runner.start(inputs={"q": "?"})

    result = await handle.result()
    while result.status is RunStatus.PAUSED:
        handle, result = await reply_to(runner, handle, "accept", size="S")

    assert "asks too many questions" in model.requests[1].messages[-1].text


async def test_tool_node_passes_the_answer_on() -> None:
    data = {"provider_type": "builtin", "provider_id": "mnemoflow", "tool_name": "order"}
    made = document([start("q"), node("t", "tool", **data), end(text=["t", "text"])],
                    ["start -> t", "t -> end"])  # fmt: skip
    runner = WorkflowRunner(made, tools=Shop())
    handle = runner.start(inputs={"q": "?"})

    _handle, result = await reply_to(runner, handle, "decline")

    assert result.outputs["text"] == "decline None"


def test_who_declines_fills_in_nothing() -> None:
    assert check_answer(FORM, {}, "decline") == ({"size": ""}, "decline")
    with pytest.raises(InputRejected):
        check_answer(FORM, {}, "accept")
