"""The llm kind: its messages, its outputs, thinking, structured answers, failures; and mocks."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.documents import document, end, llm, start
from tests.support.engine import EchoModels
from workflows.engine.mocks import words
from workflows.engine.ports import Message, ModelChunk, ModelRequest, Usage
from workflows.engine.reasoning import Reasoning
from workflows.engine.records import RunStatus
from workflows.engine.runner import WorkflowRunner
from workflows.engine.runs import RunResult


class Says:
    def __init__(self, *chunks: ModelChunk) -> None:
        self.chunks = chunks

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for chunk in self.chunks:
            yield chunk


class Past:
    async def turns(self, *, limit: int | None) -> list[tuple[str, str]]:
        turns = [("q1", "a1"), ("q2", "a2")]
        return turns if limit is None else turns[-limit:]


async def ask(models: Any, *messages: tuple[str, str], system: Any = None, history: Any = None,
              mocks: Any = None, **data: Any) -> RunResult:  # fmt: skip
    nodes = [start("q"), llm("x", *messages, **data), end(text=["x", "text"])]
    made = document(nodes, ["start -> x", "x -> end"])
    runner = WorkflowRunner(made, models=models, history=history, mocks=mocks)
    return await runner.run(inputs={"q": "Q"}, system=system)


async def test_prompt_empty_messages_are_dropped_and_usage_is_summed() -> None:
    models = EchoModels()

    result = await ask(models, ("system", ""), ("user", "{{#start.q#}} {{#ghost.x#}}"))

    assert models.requests[0].messages == (Message("user", "Q ghost.x"),)
    assert result.usage == Usage(3, 2)


async def test_prompt_without_any_message_fails() -> None:
    result = await ask(EchoModels(), ("user", " "))

    assert (result.status, result.error_type) == (RunStatus.FAILED, "NoPromptFoundError")


async def test_context_replaces_its_mark_and_is_not_read_again() -> None:
    models = EchoModels()

    await ask(
        models,
        ("user", "A {{#context#}} B"),
        context={"enabled": True, "variable_selector": ["sys", "odd"]},
        system={"odd": "{{#start.q#}}"},
    )

    assert models.requests[0].messages[0].text == "A {{#start.q#}} B"


async def test_chat_window_comes_before_the_current_question() -> None:
    models = EchoModels()

    await ask(
        models, ("system", "S"), history=Past(), system={"query": "now"},
        memory={"window": {"enabled": True, "size": 2}},
    )  # fmt: skip

    assert [message.text for message in models.requests[0].messages] == ["S", "q2", "a2", "now"]


async def test_structured_output_is_read_from_a_fenced_answer() -> None:
    model = Says(ModelChunk(text='```json\n{"a": 1}\n```'))

    result = await ask(
        model, structured_output_switch_on=True, structured_output={"schema": {"type": "object"}}
    )

    assert result.steps[1].outputs["structured_output"] == {"a": 1}


async def test_structured_output_prose_fails() -> None:
    result = await ask(
        Says(ModelChunk(text="no")), structured_output_switch_on=True,
        structured_output={"schema": {"type": "object"}},
    )  # fmt: skip

    assert result.error_type == "StructuredOutputInvalid"


async def test_no_model_names_the_port() -> None:
    result = await ask(None)

    assert result.error == "This runner has no model port"


async def test_mock_llm_text_runs_the_node_itself() -> None:
    result = await ask(None, mocks={"x": {"llm_text": "scripted answer"}})

    assert result.outputs == {"text": "scripted answer"}
    assert result.stream == "scripted answer"


async def test_mock_by_kind_and_usage() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 10}

    result = await ask(None, mocks={"type:llm": {"outputs": {"text": "t", "usage": usage}}})

    assert (result.outputs, result.usage) == ({"text": "t"}, Usage(20, 10))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("a b", ["a", " b", ""]), ("", ["", ""]), ("a  b", ["a", " ", " b", ""])],
)
def test_words_keep_every_space_and_end_with_nothing(text: str, pieces: list[str]) -> None:
    assert words(text) == pieces


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_reasoning_is_taken_out_however_the_text_is_cut(size: int) -> None:
    text, separated = "<think>let me <see</think>\n\nIt is < 3.", Reasoning(tagged=False)

    for at in range(0, len(text), size):
        separated.feed(text[at : at + size])
    separated.end()

    assert "".join(separated.text) == "It is < 3."
    assert "".join(separated.reasoning) == "let me <see"


def test_reasoning_sent_apart_is_put_between_tags() -> None:
    tagged = Reasoning(tagged=True)

    tagged.feed("", "hm")
    tagged.feed("yes")

    assert "".join(tagged.text) == "<think>\nhm\n</think>\nyes"
