"""The arguments of a tool: text becomes the type that the tool's schema names, also where the value may be left out."""

from typing import Any

import pytest

from workflows.engine.tools.arguments import find_only_type, prepare_arguments


OPTIONAL_OBJECT = {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, "object"),
        ({"type": ["array", "null"]}, "array"),
        (OPTIONAL_OBJECT, "object"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "integer"),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, None),
        ({"anyOf": [{"type": "object"}, {"$ref": "#/x"}]}, None),
        ({"type": ["string", "number"]}, None),
        ({"type": "null"}, None),
        ({"anyOf": "object"}, None),
        ({}, None),
        (True, None),
    ],
)
def test_only_type_of_a_schema_is_that_beside_null(schema: Any, expected: str | None) -> None:
    assert find_only_type(schema) == expected


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (OPTIONAL_OBJECT, '{"a": 1}', {"a": 1}),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["string", "null"]}, "5", "5"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "True", True),
    ],
)
def test_text_for_a_parameter_that_may_be_null_is_converted(
    schema: Any, text: str, value: Any
) -> None:
    parameters = {"type": "object", "properties": {"a": schema}}

    assert prepare_arguments(parameters, {"a": text}) == {"a": value}
