"""The parameter extractor: values of every type, reasons for bad ones, both methods, and failures that fail nothing."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed
from workflows.engine.language.document import Document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.tool_calls import ToolCall
from workflows.llm.offline import OfflineModels


MODEL = {"provider": "p", "name": "m", "mode": "chat", "completion_params": {}}
NO_RESULT = "Failed to extract result from function call or text response, using empty result."


class Answers:
    """Answers with a text, or calls the tool with it as arguments. ``failures`` come first."""

    def __init__(self, text: str, *, calls: bool = False, failures: tuple[int, ...] = ()) -> None:
        self.text, self.calls, self.failures = text, calls, [*failures]
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        if self.failures:
            raise ModelFailed("The model is away", status=self.failures.pop(0))
        if not self.calls:
            yield ModelChunk(text=self.text)
        calls = (ToolCall("1", "extract_parameters", self.text),) if self.calls else ()
        yield ModelChunk(tool_calls=calls, finish_reason="stop", usage=Usage(3, 2))


def build(parameters: list[dict[str, Any]], **data: Any) -> Document:
    settings = {"query": ["start", "q"], "model": MODEL, "parameters": parameters}
    extractor = node("pe", "parameter-extractor", **{**settings, **data})
    return document(
        [start("q"), extractor, end(ok=["pe", "__is_success"])], ["start -> pe", "pe -> end"]
    )


async def extract(
    models: Any, *parameters: dict[str, Any], q: str = "text", **data: Any
) -> dict[str, Any]:
    """Return the outputs of the node, whose run always succeeds, without the usage."""
    result = await WorkflowRunner(build([*parameters], **data), models=models).run(inputs={"q": q})
    assert result.status == RunStatus.SUCCEEDED
    (outputs,) = [step.outputs for step in result.steps if step.key.node_id == "pe"]
    assert result.outputs == {"ok": outputs["__is_success"]}
    return {name: value for name, value in outputs.items() if name != "__usage"}


def parameter(name: str, type_name: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_name, "description": name, "required": True, **more}


def succeeded(**values: Any) -> dict[str, Any]:
    return {"__is_success": 1, "__reason": None, **values}


def failed(reason: str, **values: Any) -> dict[str, Any]:
    return {"__is_success": 0, "__reason": reason, **values}


def invalid(name: str, expected: str, actual: str, python: str, value: str) -> str:
    return (
        f"Invalid value for parameter {name}, expected segment type: {expected}, "
        f"actual_type: {actual}, python_type: <class '{python}'>, value: {value}"
    )


@for_each(
    "type_name, value",
    [
        ("string", "Paris"),
        ("string", ""),
        ("number", 3),
        ("number", 2.5),
        ("boolean", True),
        ("bool", False),
        ("array[string]", ["a", "b"]),
        ("array[number]", [1, 2.5]),
        ("array[object]", [{"a": {"b": 1}}]),
        ("array[boolean]", [True, False]),
        ("array[string]", []),
    ],
)
async def test_value_of_its_type_is_an_output(type_name: str, value: Any) -> None:
    models = Answers(json.dumps({"x": value}))

    assert await extract(models, parameter("x", type_name)) == succeeded(x=value)


@for_each(
    "type_name, value, converted, reason",
    [
        ("number", "twenty", 0, invalid("x", "number", "string", "str", "twenty")),
        ("number", "20", 20, invalid("x", "number", "string", "str", "20")),
        ("number", "2.5", 2.5, invalid("x", "number", "string", "str", "2.5")),
        ("number", None, 0, invalid("x", "number", "none", "NoneType", "None")),
        ("string", 3, "", invalid("x", "string", "integer", "int", "3")),
        ("string", 2.5, "", invalid("x", "string", "float", "float", "2.5")),
        ("boolean", "true", False, invalid("x", "boolean", "string", "str", "true")),
        ("bool", 1, True, invalid("x", "boolean", "integer", "int", "1")),
        ("array[string]", "a", [], invalid("x", "array[string]", "string", "str", "a")),
        (
            "array[number]",
            [1, "2", "z"],
            [1, 2],
            invalid("x", "array[number]", "array[any]", "list", "[1, '2', 'z']"),
        ),
        (
            "array[object]",
            [{}, 1],
            [{}],
            invalid("x", "array[object]", "array[any]", "list", "[{}, 1]"),
        ),
        (
            "array[boolean]",
            [1, True],
            [True],
            invalid("x", "array[boolean]", "array[any]", "list", "[1, True]"),
        ),
    ],
)
async def test_value_of_another_type_gives_a_reason(
    type_name: str, value: Any, converted: Any, reason: str
) -> None:
    models = Answers(json.dumps({"x": value}))

    assert await extract(models, parameter("x", type_name)) == failed(reason, x=converted)


async def test_true_is_a_number_as_in_dify() -> None:
    assert await extract(Answers('{"x": true}'), parameter("x", "number")) == succeeded(x=1)


async def test_select_keeps_a_value_that_is_no_option() -> None:
    status = parameter("status", "select", options=["active", "inactive"])

    good = await extract(Answers('{"status": "active"}'), status)
    bad = await extract(Answers('{"status": "pending"}'), status)

    assert good == succeeded(status="active")
    assert bad == failed("Invalid `select` value for parameter status", status="pending")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"a": "x"}', "Invalid number of parameters"),
        ('{"a": "x", "b": 1, "c": 2}', "Invalid number of parameters"),
        ('{"a": "x", "c": 2}', "Parameter b is required"),
    ],
)
async def test_missing_and_unknown_values_give_a_reason(answer: str, reason: str) -> None:
    outputs = await extract(Answers(answer), parameter("a"), parameter("b", "number"))

    expected = {"a": "x", "b": 1 if '"b"' in answer else 0}
    assert outputs == failed(reason, **expected)


@pytest.mark.parametrize("mode", ["function_call", "prompt"])
async def test_only_required_values_are_required_in_the_schema_that_is_sent(mode: str) -> None:
    models = Answers('{"a": "x"}', calls=mode == "function_call")
    parameters = (
        parameter("a"),
        parameter("b", "number", required=False),
        parameter("c", "array[string]", required=False),
    )

    outputs = await extract(models, *parameters, reasoning_mode=mode)

    (request,) = models.requests
    schema = request.tools[0].parameters if request.tools else request.json_schema
    assert schema is not None
    assert (schema["required"], [*schema["properties"]]) == (["a"], ["a", "b", "c"])
    assert outputs == succeeded(a="x", b=0, c=[])


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("answer", ["{}", '{"b": null}', '{"a": null, "b": null}'])
async def test_leaving_out_optional_values_is_a_success(answer: str, calls: bool) -> None:
    parameters = (parameter("a", required=False), parameter("b", "number", required=False))

    assert await extract(Answers(answer, calls=calls), *parameters) == succeeded(a="", b=0)


async def test_null_is_no_required_value() -> None:
    reason = invalid("a", "string", "none", "NoneType", "None")

    assert await extract(Answers('{"a": null}'), parameter("a")) == failed(reason, a="")


async def test_arguments_that_are_no_json_give_a_reason() -> None:
    optional = parameter("a", required=False)

    assert await extract(Answers("{", calls=True), optional) == failed(NO_RESULT, a="")


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("Active", "active"),
        (" IN STOCK\n", "in stock"),
        ("in  stock", "in stock"),
        ("instock", "in stock"),
        ("ÜBER", "über"),
        ("active", "active"),
        ("ACTIVE!", None),
    ],
)
async def test_option_is_found_but_for_case_and_white_space(
    answer: str, option: str | None
) -> None:
    status = parameter("status", "select", options=["active", "in stock", "über"])

    outputs = await extract(Answers(json.dumps({"status": answer})), status)

    reason = "Invalid `select` value for parameter status"
    expected = succeeded(status=option) if option else failed(reason, status=answer)
    assert outputs == expected


async def test_option_as_it_is_written_comes_first() -> None:
    status = parameter("status", "select", options=["Ab", "ab", "A b"])

    assert await extract(Answers('{"status": "ab"}'), status) == succeeded(status="ab")
    assert await extract(Answers('{"status": "AB"}'), status) == succeeded(status="Ab")


@pytest.mark.parametrize(
    "answer", ["", "I can't do that.", "[1, 2]", "{}", '{"a": NaN}', "{" * 500]
)
async def test_answer_without_an_object_gives_zero_values(answer: str) -> None:
    outputs = await extract(Answers(answer), parameter("a"), parameter("b", "number"))

    assert outputs == failed(NO_RESULT, a="", b=0)


async def test_answer_without_an_object_says_of_lists_what_dify_says() -> None:
    outputs = await extract(Answers("no"), parameter("a", "array[string]"))

    assert outputs == failed("Invalid number of parameters", a=[])


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"a": "x"}\n```',
        '<think>{"a": "y"}</think>{"a": "x"}',
        'Here: {not json} [{"a": "x"}] done',
    ],
)
async def test_object_is_found_in_other_text(answer: str) -> None:
    assert await extract(Answers(answer), parameter("a"), reasoning_mode="prompt") == succeeded(
        a="x"
    )


async def test_method_decides_between_a_tool_and_a_schema() -> None:
    models = Answers('{"a": "x", "b": 2}', calls=True)
    parameters = (parameter("a"), parameter("b", "number", required=False))

    assert await extract(models, *parameters) == succeeded(a="x", b=2)
    await extract(models, *parameters, reasoning_mode="prompt", instruction="In {{#start.q#}}")

    called, prompted = models.requests
    (tool,) = called.tools
    assert (called.tool_choice, called.json_schema) == ("required", None)
    assert tool.parameters["properties"] == {
        "a": {"type": "string", "description": "a"},
        "b": {"type": "number", "description": "b"},
    }
    assert prompted.tools == ()
    assert prompted.json_schema is not None
    assert prompted.json_schema["properties"]["a"]["type"] == ["string", "null"]
    assert prompted.messages[0].text.endswith("Instructions:\nIn text")
    assert json.loads(prompted.messages[-1].text) == {"text": "text"}


async def test_endpoint_that_refuses_tools_is_asked_for_json() -> None:
    models = Answers('{"a": "x"}', failures=(400,))

    assert await extract(models, parameter("a")) == succeeded(a="x")
    assert [bool(request.tools) for request in models.requests] == [True, False]


@pytest.mark.parametrize(("status", "calls"), [(500, 1), (401, 1), (400, 2)])
async def test_failed_call_of_the_model_does_not_fail_the_node(status: int, calls: int) -> None:
    models = Answers("", failures=(status,) * 5)

    outputs = await extract(models, parameter("a"), parameter("b", "array[object]"))

    assert outputs == failed("Failed to invoke model", __error="The model is away", a="", b=[])
    assert len(models.requests) == calls


async def test_usage_is_counted() -> None:
    document = build([parameter("a")])

    result = await WorkflowRunner(document, models=Answers('{"a": "x"}')).run(inputs={"q": "t"})

    assert result.usage == Usage(3, 2)


@for_each("mode", ["function_call", "prompt"])
@for_each(
    "text, wanted, value",
    [
        ("I fly on Monday. City: Paris, please.", parameter("city"), "Paris"),
        ("目的地是巴黎，三天", parameter("city", description="目的地"), "巴黎"),
        ("The unit price is 3.5 and I want 12", parameter("unit_price", "number"), 3.5),
        ("Give me 12 of them", parameter("amount", "number"), 12),
        ("Is it urgent: yes", parameter("urgent", "boolean"), True),
        ("nothing", parameter("urgent", "boolean"), False),
        ("make it inactive", parameter("s", "select", options=["on", "inactive"]), "inactive"),
        ("Ids 1, 2 and 30", parameter("ids", "array[number]"), [1, 2, 30]),
        (
            "Tags: red, blue and green.",
            parameter("tags", "array[string]"),
            ["red", "blue", "green"],
        ),
        ("Hello. We meet in the old town.", parameter("meet"), "We meet in the old town."),
    ],
)
async def test_offline_model_reads_what_the_text_says(
    mode: str, text: str, wanted: dict[str, Any], value: Any
) -> None:
    outputs = await extract(OfflineModels(), wanted, q=text, reasoning_mode=mode)

    assert outputs == succeeded(**{wanted["name"]: value})


async def test_offline_model_says_that_a_required_number_is_missing() -> None:
    outputs = await extract(
        OfflineModels(), parameter("amount", "number"), q="many", reasoning_mode="prompt"
    )

    reason = invalid("amount", "number", "none", "NoneType", "None")
    assert outputs == failed(reason, amount=0)


@pytest.mark.parametrize(
    ("parameters", "code", "field"),
    [
        ([parameter("a"), parameter("a")], "parameters.duplicate", "parameters.1.name"),
        ([parameter("__reason")], "config.value_error", "parameters.0.name"),
        ([parameter("")], "config.string_too_short", "parameters.0.name"),
        ([parameter("a", "array[file]")], "config.value_error", "parameters.0.type"),
        ([], "config.empty", "parameters"),
    ],
)
def test_parameters_that_make_no_sense_are_named(parameters: Any, code: str, field: str) -> None:
    problems = validate(build(parameters), build_kinds())

    assert (code, field) in {(problem.code, problem.field) for problem in problems}
