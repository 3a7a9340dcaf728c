"""A code node's description of itself: problems, outputs, and the sentences of a result that doesn't fit."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.kinds import Widget
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.values import ValueType
from workflows.engine.nodes.data.code import Code
from workflows.engine.nodes.data.code_outputs import Declaration, OutputInvalid, check_outputs


MAIN = "def main(a):\n    return {'r': a}"


def spec(**data: Any) -> NodeSpec:
    return NodeSpec("c", "code", {"code_language": "python3", "code": MAIN, **data})


@for_each("data, field, is_error",
    [
        ({"code_language": "ruby"}, "code_language", False),
        ({"code_language": "javascript", "code": "let a = 1;"}, "code", False),
        ({"code": ""}, "code", False),
        ({"code": "x = 1"}, "code", False),
        ({"variables": [{"variable": "not an argument", "value_selector": ["a", "b"]}]}, "variables.0.variable", True),
        ({"variables": [{"variable": "a"}, {"variable": "a"}]}, "variables.1.variable", True),
        ({"outputs": {"r": {"type": "spaceship"}}}, "outputs.r.type", True),
        ({"outputs": [1]}, "outputs", True),
        ({"calling": "shouting"}, "calling", True),
    ],
)  # fmt: skip
def test_problem_is_addressed_to_its_field(
    data: dict[str, Any], field: str, is_error: bool
) -> None:
    (problem,) = Code().check(spec(**data))

    assert (problem.field, problem.is_error, problem.node) == (field, is_error, "c")


@pytest.mark.parametrize(
    "code",
    ["function main({a}) { return {}; }", "async function main(i) {}", "const main = (i) => ({});"],
)
def test_javascript_is_no_problem(code: str) -> None:
    data = {
        "code": code,
        "variables": [{"variable": "not an argument", "value_selector": ["a", "b"]}],
    }

    assert Code().check(spec(code_language="javascript", **data)) == []


def test_node_that_is_right_has_no_problem() -> None:
    data = {"variables": [{"variable": "a", "value_selector": ["start", "q"]}],
            "outputs": {"r": {"type": "Array[Object]", "children": None}, "n": "number"}}  # fmt: skip

    assert Code().check(spec(**data)) == []


def test_outputs_are_those_declared_with_their_types() -> None:
    made = Code().list_outputs(
        spec(outputs={"r": {"type": "array[string]"}, "n": {"type": "Number"}})
    )

    assert [(output.name, output.type) for output in made] == [
        ("r", "array[string]"),
        ("n", "number"),
    ]


def test_form_is_drawn_from_its_own_widgets() -> None:
    widgets = {field.name: field.widget for field in Code.fields}

    assert widgets["code"] is Widget.CODE
    assert widgets["outputs"] is Widget.TYPED_OUTPUTS


@for_each("result, kind, sentence",
    [
        ({}, "string", "Output r is missing."),
        ({"r": "", "x": 1}, "string", "Not all output parameters are validated: x isn't declared."),
        ([1], "string", "The code must return an object with its outputs, but it returned array[number]"),
        ({"r": 1}, "string", "Output r is not a string, got integer instead."),
        ({"r": "1"}, "number", "Output r is not a number, got string instead."),
        ({"r": 1}, "boolean", "Output r is not a boolean, got integer instead."),
        ({"r": []}, "object", "Output r is not an object, got array[any] instead."),
        ({"r": {}}, "array[object]", "Output r is not an array, got object instead."),
        ({"r": [1, "a"]}, "array[number]", "Output r[1] is not a number, got string instead."),
        ({"r": "x" * 400_001}, "string", "The length of output variable r must be at most 400000 characters."),
        ({"r": [""] * 31}, "array[string]", "The length of output variable r must be at most 30 items."),
        ({"r": 2**63}, "number", "Output variable r is out of range, it must be between -9223372036854775807 and 9223372036854775807."),
        ({"r": 1.5e-30}, "number", "Output variable r has too high precision, it must have at most 20 decimals."),
        ({"r": {"a": {"b": {"c": {"d": {"e": 1}}}}}}, "object", "Depth limit 5 reached, object too deep."),
        ({"r": {"a": [[[[[[1]]]]]]}}, "object", "Depth limit 5 reached, object too deep."),
        ({"r": {"a": {"b": "x" * 400_001}}}, "object", "The length of output variable r.a.b must be at most 400000 characters."),
    ],
)  # fmt: skip
def test_result_that_does_not_fit_is_told_with_its_name(
    result: Any, kind: str, sentence: str
) -> None:
    with pytest.raises(OutputInvalid) as invalid:
        check_outputs(result, {"r": Declaration(ValueType(kind))})

    assert invalid.value.message == sentence
    assert not invalid.value.retryable


def test_children_are_checked_like_outputs() -> None:
    person = Declaration(ValueType.OBJECT, {"name": Declaration(ValueType.STRING)})
    people = Declaration(ValueType.ARRAY_OBJECT, {"name": Declaration(ValueType.STRING)})

    assert check_outputs({"r": {"name": "a\x00"}}, {"r": person}) == {"r": {"name": "a"}}
    with pytest.raises(OutputInvalid, match=r"Output r\[1\].name is missing"):
        check_outputs({"r": [{"name": "a"}, {}]}, {"r": people})
    with pytest.raises(OutputInvalid, match=r"r.age isn't declared"):
        check_outputs({"r": {"name": "a", "age": 1}}, {"r": person})


def test_checked_values_are_new_ones() -> None:
    given: dict[str, Any] = {"r": {"a": [True, "x\x00"]}}

    made = check_outputs(given, {"r": Declaration(ValueType.OBJECT)})

    assert made == {"r": {"a": [True, "x"]}}
    assert given == {"r": {"a": [True, "x\x00"]}}
