from typing import Any

import pytest

from workflows.engine.language.json_schema import find_schema_error


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "schema", "complaint"),
    [
        ({"name": "N", "age": 3, "tags": ["a"]}, PERSON, None),
        ({"name": "N", "age": 3.0}, PERSON, None),
        ({}, PERSON, "it has no name"),
        ({"name": ""}, PERSON, "name has not at least 1 parts"),
        ({"name": "N", "age": 150}, PERSON, "age is not below 150"),
        ({"name": "N", "age": 1.5}, PERSON, "age is not of type integer"),
        ({"name": "N", "age": True}, PERSON, "age is not of type integer"),
        ({"name": "N", "tags": ["a", "c"]}, PERSON, "tags.1 is not one of 'a', 'b'"),
        ({"name": "N", "tags": ["a", "a", "a"]}, PERSON, "tags has not at most 2 parts"),
        ({"name": "N", "x": 1}, PERSON, "x is not allowed"),
        (1, {"const": True}, "it is not one of True"),
        (None, {"type": ["string", "null"]}, None),
        (1, {"anyOf": [{"type": "string"}, {"minimum": 5}]}, "it fits none of the forms allowed"),
        (
            7,
            {"oneOf": [{"type": "number"}, {"minimum": 5}]},
            "it fits 2 of the forms allowed, not one",
        ),
        (7, {"not": {"type": "number"}}, "it has the one form that is not allowed"),
        (7, {"allOf": [{"type": "number"}, {"maximum": 5}]}, "it is not at most 5"),
        (7, {"type": "unheard-of"}, None),
        (7, None, None),
        (
            7,
            {"enum": "x", "required": 1, "properties": [], "anyOf": 1, "oneOf": 2, "allOf": 3},
            None,
        ),
    ],
)
def test_schema_complaint_names_the_first_mismatch(value, schema, complaint):
    assert find_schema_error(value, schema) == complaint


def test_schema_that_multiplies_is_given_up():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        schema = {"allOf": [schema] * 4}

    assert find_schema_error("x", schema) == "it is too deep or too much to check"
