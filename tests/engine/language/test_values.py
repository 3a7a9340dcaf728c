import pytest

from tests.support.cases import for_each
from workflows.engine.errors import ValueMismatch
from workflows.engine.language.values import (
    ValueType,
    build_zero_value,
    get_file_attribute,
    infer_type,
    is_file,
    matches,
    parse_constant,
    parse_number,
    parse_type,
)


FILE = {"type": "image", "transfer_method": "remote_url", "remote_url": "https://x/a.png"}


@for_each(
    "value, expected",
    [
        (None, "none"),
        (True, "boolean"),
        (1, "integer"),
        (1.0, "float"),
        ("", "string"),
        ({}, "object"),
        (FILE, "file"),
        ({"dify_model_identity": "__dify__file__"}, "file"),
        ({"type": "image"}, "object"),
        ([], "array[any]"),
        (["a"], "array[string]"),
        ([1, 2], "array[number]"),
        ([1, 2.5], "array[number]"),
        ([True], "array[boolean]"),
        ([True, 1], "array[any]"),
        ([{}], "array[object]"),
        ([FILE], "array[file]"),
        ([[1]], "array[any]"),
        ([None], "array[any]"),
        (["a", 1], "array[any]"),
    ],
)
def test_infer_value_gives_type(value, expected):
    assert infer_type(value) == expected


def test_infer_something_else_raises():
    with pytest.raises(ValueMismatch, match="set"):
        infer_type({1, 2})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Array[String]", "array[string]"),
        ("bool", "boolean"),
        (" NUMBER ", "number"),
        ("array[integer]", "array[number]"),
        ("select", None),
    ],
)
def test_parse_type_any_spelling_gives_canonical(text, expected):
    assert parse_type(text) == expected


@for_each(
    "value, kind, expected",
    [
        (True, "number", False),
        (True, "integer", False),
        (1, "float", True),
        (1.5, "integer", False),
        ([], "array[string]", True),
        (["a", 1], "array[string]", False),
        (["a", 1], "array[any]", True),
        (None, "string", False),
        (None, "none", True),
        (FILE, "object", True),
        ({}, "file", False),
    ],
)
def test_matches_value_against_type(value, kind, expected):
    assert matches(value, ValueType(kind)) is expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("string", ""), ("number", 0), ("boolean", False), ("object", {}), ("array[file]", [])],
)
def test_zero_of_type_is_fresh(kind, expected):
    first, second = build_zero_value(ValueType(kind)), build_zero_value(ValueType(kind))

    assert first == expected
    assert not isinstance(first, dict | list) or first is not second


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("12", "number", 12),
        ("1.5", "number", 1.5),
        ("[1]", "array[number]", [1]),
        ('{"a": 1}', "object", {"a": 1}),
        ("true", "boolean", True),
        ("12", "string", "12"),
        (3, "number", 3),
    ],
)
def test_parse_constant_text_becomes_value(value, kind, expected):
    assert parse_constant(value, ValueType(kind)) == expected


@for_each(
    "value, kind",
    [
        ("twelve", "number"),
        ("nan", "number"),
        ("1e999", "number"),
        ("[1", "array[number]"),
        ('["a"]', "array[number]"),
        ("NaN", "object"),
        (3, "string"),
        ("[" * 100_000, "array[any]"),
    ],
)
def test_parse_constant_wrong_text_raises(value, kind):
    with pytest.raises(ValueMismatch):
        parse_constant(value, ValueType(kind))


def test_parse_number_keeps_whole_numbers_whole():
    assert isinstance(parse_number("7"), int)
    assert isinstance(parse_number("7.0"), float)


def test_file_attribute_old_names_are_found():
    assert is_file(FILE)
    assert get_file_attribute(FILE, "url") == "https://x/a.png"
    assert get_file_attribute(FILE, "size") is None


@for_each("name", ["transfer_method", "type"])
@for_each("value", [[], {}, None, 3])
def test_object_whose_file_properties_are_no_text_is_no_file(name, value):
    file = {"transfer_method": "remote_url", "type": "image"}

    assert is_file(file)
    assert not is_file({**file, name: value})
