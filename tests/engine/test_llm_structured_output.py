"""The llm kind with a schema: its answer is checked, repaired once by the model, and streamed when it is valid."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.documents import document, end, llm, start
from workflows.engine.nodes.llm.structured_output import AnswerInvalid, parse_answer
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline import OfflineModels


SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}, "name": {"$ref": "#/$defs/name"}},
    "required": ["age", "name"],
    "additionalProperties": False,
    "$defs": {"name": {"type": "string", "minLength": 2}},
}
VALID = {"age": 7, "name": "Miso"}


class Answers:
    """A model that gives these answers in turn."""

    def __init__(self, *texts: str, finish_reason: str = "stop") -> None:
        self.texts, self.finish_reason = list(texts), finish_reason
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        text = self.texts.pop(0)
        yield ModelChunk(text=text[:3])
        yield ModelChunk(text=text[3:])
        yield ModelChunk(finish_reason=self.finish_reason, usage=Usage(10, 1))


async def ask(models: Any, schema: Any = SCHEMA, **data: Any) -> RunResult:
    nodes = [
        start("q"),
        llm("x", ("user", "{{#start.q#}}"), structured_output_switch_on=True,
            structured_output={"schema": schema}, **data),
        end(text=["x", "text"], value=["x", "structured_output"]),
    ]  # fmt: skip
    runner = WorkflowRunner(document(nodes, ["start -> x", "x -> end"]), models=models)
    return await runner.run(inputs={"q": "Describe Miso, who is 7."})


async def test_valid_answer_is_asked_for_once_and_streamed_whole() -> None:
    models = Answers(json.dumps(VALID))

    result = await ask(models)

    assert result.outputs == {"text": json.dumps(VALID), "value": VALID}
    assert models.requests[0].json_schema == SCHEMA
    assert len(models.requests) == 1


async def test_invalid_answer_is_repaired_by_a_request_that_names_the_violations() -> None:
    models = Answers('<think>{}</think>{"age": "7", "x": 1}', json.dumps(VALID))

    result = await ask(models)

    first, second = models.requests
    assert result.outputs["value"] == VALID
    assert result.stream.startswith(json.dumps(VALID))  # the first answer was never shown
    assert result.usage == Usage(20, 2)
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2].text == '{"age": "7", "x": 1}'
    assert second.messages[-1].text.splitlines()[1:-1] == [
        "- it has no name",
        "- age is not of type integer",
        "- x is not allowed",
    ]


async def test_second_invalid_answer_fails_the_step() -> None:
    models = Answers("no", '{"age": 1}', json.dumps(VALID))

    result = await ask(models)

    assert result.error_type == "StructuredOutputInvalid"
    assert result.error == "The model's answer does not fit the schema: it has no name"
    assert len(models.requests) == 2


async def test_answer_that_was_cut_off_is_not_repaired() -> None:
    models = Answers('{"age": 7, "na', finish_reason="length")

    result = await ask(models)

    assert "length limit" in (result.error or "")
    assert len(models.requests) == 1


async def test_offline_provider_fills_the_schema() -> None:
    result = await ask(OfflineModels())

    assert result.outputs["value"]["age"] == 7


async def test_mocked_text_is_checked_too() -> None:
    nodes = [
        start("q"),
        llm("x", ("user", "q"), structured_output_switch_on=True,
            structured_output={"schema": SCHEMA}),
        end(value=["x", "structured_output"]),
    ]  # fmt: skip
    made = document(nodes, ["start -> x", "x -> end"])

    good = await WorkflowRunner(made, mocks={"x": {"llm_text": json.dumps(VALID)}}).run(
        inputs={"q": ""}
    )
    bad = await WorkflowRunner(made, mocks={"x": {"llm_text": "{}"}}).run(inputs={"q": ""})

    assert good.outputs == {"value": VALID}
    assert bad.error_type == "StructuredOutputInvalid"


@pytest.mark.parametrize(
    ("text", "violations"),
    [
        ("[1]", ("the answer is not a JSON object",)),
        ("{" * 5000, ("the answer is not a JSON object",)),
        ('{"age": 1e999, "name": "Miso"}', ("age is not of type integer",)),
        (json.dumps({**VALID, "k" * 5000: 1}), ("k" * 200,)),
    ],
)
def test_hostile_answers_are_bounded(text: str, violations: tuple[str, ...]) -> None:
    with pytest.raises(AnswerInvalid) as invalid:
        parse_answer(text, SCHEMA)

    assert invalid.value.violations == violations


def test_schema_in_openais_form_is_the_inner_one() -> None:
    with pytest.raises(AnswerInvalid, match="it has no age"):
        parse_answer("{}", {"name": "cat", "schema": {"required": ["age"]}})
