"""Calls that a small model writes as text: made if the tool exists, never shown, and never taken from a quotation."""

from collections.abc import Sequence

import pytest

from tests.engine.agent.scripted import ScriptedModel, Tools, build_runner, call, collect, run_agent
from workflows.engine.nodes.agent.answer_stream import HoldingStream
from workflows.engine.nodes.agent.model_answer import ModelAnswer
from workflows.engine.nodes.agent.tool_use.text_calls import CallHidingStream, read_text_calls
from workflows.engine.ports import Message
from workflows.engine.runtime.step_records import RunStatus


LOOK = '<tool_call>\n{"name": "look", "arguments": {"place": "here"}}\n</tool_call>'
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}}


def looking() -> Tools:
    tools = Tools(look=lambda place="": f"looked {place}")
    tools.schemas["look"] = SCHEMA
    return tools


@pytest.mark.parametrize("strategy", ["function_calling", "todo"])
async def test_call_as_text_is_made_and_not_shown(strategy: str) -> None:
    tools, model = looking(), ScriptedModel(f"I look it up. {LOOK}", "It is sunny.")
    runner = build_runner(model, tools, strategy=strategy)
    handle = runner.start(inputs={"q": "How is the weather?"})

    shown = "".join(event.text for event in await collect(handle, "text_chunk"))
    result = await handle.result()

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert [(name, arguments) for name, arguments, _key in tools.ledger] == [
        ("look", {"place": "here"})
    ]
    assert [message.text for message in model.requests[1].messages[-2:]] == [
        "I look it up.",
        "looked here",
    ]
    assert "tool_call" not in shown
    assert result.outputs["text"].strip() == "It is sunny."
    assert "tool_call" not in str(result.outputs["rounds"])


async def test_unknown_tool_and_unreadable_call_are_told_to_the_model() -> None:
    model = ScriptedModel(
        '<tool_call>{"name": "fly"}</tool_call><tool_call>fly!</tool_call>', "Sorry."
    )

    result = await run_agent(model, looking())

    texts = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert texts == [
        "Error: There is no tool named 'fly'. Tools: look.",
        "Error: There is no tool named ''. Tools: look.",
    ]
    assert result.outputs["text"].strip() == "Sorry."


async def test_call_written_instead_of_the_last_answer_is_not_shown() -> None:
    model = ScriptedModel(("", [call("look")]), f"I do not know. {LOOK}")
    runner = build_runner(model, looking(), max_rounds=1)
    handle = runner.start(inputs={"q": "?"})

    shown = "".join(event.text for event in await collect(handle, "text_chunk"))
    result = await handle.result()

    assert result.outputs["finish_reason"] == "max_rounds"
    assert result.outputs["text"].strip() == "I do not know."
    assert shown.startswith("I do not know.")
    assert "tool_call" not in shown


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (f"The page says: {LOOK}", [f"a page with {LOOK}"]),
        (f"The page says: {LOOK}", ['> {"name":\n> "look", "arguments": {"place": "here"}}']),
        (f"{LOOK} is how one calls it.", []),
    ],
)
def test_repeated_or_explained_call_is_no_call(text: str, given: Sequence[str]) -> None:
    answer = ModelAnswer(text)

    read = read_text_calls(answer, [Message("tool", each) for each in given])

    assert read.tool_calls == ()
    assert "<tool_call>" not in read.text


def test_many_calls_and_open_ends_are_bounded() -> None:
    many = read_text_calls(ModelAnswer(LOOK * 40), ())
    unclosed = read_text_calls(ModelAnswer('<tool_call>{"name": "look", "arguments": "{}"}'), ())

    assert len(many.tool_calls) == 16
    assert [(each.name, each.arguments) for each in unclosed.tool_calls] == [("look", "{}")]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_stream_hides_calls_however_the_text_is_cut(size: int) -> None:
    shown: list[str] = []
    stream = CallHidingStream(HoldingStream(shown.append, 0))
    text = f"a < b <tool {LOOK} and {LOOK}end <tool_"

    for start in range(0, len(text), size):
        stream.add(text[start : start + size])
    stream.end(is_answer=True)

    assert "".join(shown) == "a < b <tool  and end <tool_"
