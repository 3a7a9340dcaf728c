"""A model's answer of a megabyte is read in linear time, whatever is in it."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.support.cases import for_each
from tests.support.processor_time import limit_cpu
from workflows.engine.nodes.agent.answer_stream import SilentStream
from workflows.engine.nodes.agent.model_answer import ModelAnswer, receive_answer
from workflows.engine.nodes.agent.react_text import OBSERVATION, parse_step
from workflows.engine.nodes.agent.tool_use.text_calls import CallHidingStream, read_text_calls
from workflows.engine.ports import Message, ModelChunk, Usage
from workflows.engine.runtime.local_ports import SystemClock


SIZE = 1_000_000
CALL = "<tool_call>{}</tool_call>"


async def stream(text: str, size: int) -> AsyncIterator[ModelChunk]:
    for start in range(0, len(text), size):
        yield ModelChunk(text=text[start : start + size])


async def receive(text: str, size: int = 1000) -> str:
    chunks = stream(text, size)
    answer = await receive_answer(chunks, lambda _text: None, SystemClock(), None, OBSERVATION)
    return answer.text


@pytest.mark.parametrize("text", ["word ", "a line\n", "#", " ", "Observation ", "\n"])
async def test_answer_is_searched_for_its_end_once(text: str) -> None:
    whole = text * (SIZE // len(text))

    with limit_cpu(1.0):
        received = await receive(whole)

    assert received.strip() == whole.strip()


@for_each("size", [1, 3, 7, 1000])
@for_each(
    "text",
    [
        f"{'x' * 500}\n  **Observation:** made up",
        f"Thought: {'long ' * 100}\nObservation: made up\nAction: look",
        "Observation: made up",
        f"{'line' * 100}\n观察：made up",
    ],
)
async def test_answer_ends_where_it_makes_up_a_result(text: str, size: int) -> None:
    received = await receive(f"{text}{' and more' * 500}", size)

    found = OBSERVATION.search(received)
    assert found is not None
    assert len(received) <= found.end() + size


async def test_label_inside_a_line_does_not_end_the_answer() -> None:
    text = f"{'x' * 300} Observation: no label"

    assert await receive(text, 5) == text


@pytest.mark.parametrize(
    "parse",
    [
        lambda: parse_step(f"Action{' ' * SIZE}x"),
        lambda: parse_step(f"Final Answer{'*' * SIZE}x"),
        lambda: parse_step("Action \n" * (SIZE // 8)),
        lambda: CallHidingStream(SilentStream()).add(CALL * (SIZE // len(CALL))),
        lambda: read_text_calls(
            ModelAnswer(CALL * (SIZE // len(CALL)), "", (), "stop", Usage(), 0.0),
            [Message("user", "y" * SIZE)],
        ),
    ],
    ids=["spaces", "stars", "labels", "hidden calls", "calls"],
)
def test_hostile_text_is_parsed_in_linear_time(parse: Callable[[], object]) -> None:
    with limit_cpu(2.0):
        parse()


@pytest.mark.parametrize(
    "text",
    ["Action: look", "**Action**: look", "Action ** : look", "### 行动：look", "Action:** look"],
)
def test_labels_are_recognized_as_before(text: str) -> None:
    step = parse_step(text)

    assert step.call is not None
    assert step.call.name.strip("* ") == "look"
