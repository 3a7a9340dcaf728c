from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.processor_time import limit_cpu
from workflows.engine.language.json_schema import (
    find_schema_error,
    list_schema_errors,
    measure_pattern,
)


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


@for_each(
    "value, schema, complaint",
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


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "code": {"pattern": "^[A-Z]{2}$"}},
        "required": ["code"],
    }},
}  # fmt: skip


@for_each(
    "value, schema, errors",
    [
        ({"code": "AB", "next": {"code": "CD"}}, TREE, []),
        (
            {"next": {"code": "abc"}},
            TREE,
            ["it has no code", "next.code does not match ^[A-Z]{2}$"],
        ),
        ("x", {"$ref": "https://example.com/schema"}, []),
        ("x", {"$ref": "#/missing"}, []),
        ("x", {"pattern": "(?=look-ahead)"}, []),
        (7, {"multipleOf": 5}, ["it is not a multiple of 5"]),
        (0.3, {"multipleOf": 0.1}, []),
        ({}, {"minProperties": 1}, ["it has not at least 1 parts"]),
    ],
)
def test_references_and_patterns_are_checked(value, schema, errors):
    assert list_schema_errors(value, schema) == errors


def test_errors_are_listed_up_to_a_limit():
    errors = list_schema_errors([0] * 1000, {"items": {"type": "string"}})

    assert len(errors) == 10
    assert errors[1] == "1 is not of type string"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"not": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    ],
)
def test_reference_to_itself_is_given_up(schema):
    assert "too deep or too much" in str(list_schema_errors({}, schema, limit=1)) or "not" in schema


@pytest.mark.timed  # regular expressions can't be counted
@pytest.mark.parametrize(
    "pattern",
    [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(x+x+)+y",
        "(a|a)*b",
        "(.*)*" * 50,
        "(" * 2000 + ")" * 2000,
        r"(\w+\s?)+$",
    ],
)
def test_pattern_that_explodes_costs_no_more_than_others(pattern: str):
    with limit_cpu(1.0):
        list_schema_errors("a" * 20_000, {"pattern": pattern})
        list_schema_errors({"a": "x" * 20_000}, {"properties": {"a": {"pattern": pattern}}})


@pytest.mark.timed  # regular expressions can't be counted
@pytest.mark.parametrize(
    "pattern", ["(.{0,200}){20}x$", "(x{1,100}){1,100}y", "(?:[^y]{0,50}){50}y"]
)
@pytest.mark.parametrize("count", [1, 1000])
def test_large_pattern_is_not_compared_with_long_texts(pattern: str, count: int):
    """A comparison takes half a minute, in which no other thread goes on."""
    with limit_cpu(1.0):
        errors = list_schema_errors(
            ["x" * (500_000 // count)] * count, {"items": {"pattern": pattern}}
        )

    assert "too long for its pattern" in errors[-1]


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("abc", 3),
        ("(ab{3}){2,5}", 20),
        (r"[a-z]{2}\{9\}", 42 + 1),
        (r"\p{L}{1,40}", 800),
        ("[]{9}]{2}", 40),
        ("a{2}{3}", 6),
        ("(" * 50, 0),
        ("{9}x{99999999}", 99_999_999),
    ],
)
def test_parts_of_a_pattern_are_counted(pattern: str, parts: int):
    assert measure_pattern(pattern) == parts + 1


def test_usual_patterns_are_compared_with_long_texts():
    texts = ["Mia-" * 10_000, "mia@example.com"]
    patterns = [r"^(\w+-)*$", r"^[\w.]{1,64}@[a-z.]{1,63}\.[a-z]{2,63}$"]

    for text, pattern in zip(texts, patterns, strict=True):
        assert list_schema_errors(text, {"pattern": pattern}) == []


def test_pattern_that_backtracks_is_checked_in_linear_time():
    with limit_cpu(1):
        assert list_schema_errors("a" * 100_000, {"pattern": "^(a+)+$b"})


def test_schema_that_multiplies_is_given_up():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        schema = {"allOf": [schema] * 4}

    assert find_schema_error("x", schema) == "it is too deep or too much to check"
