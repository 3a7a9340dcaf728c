import pytest

from tests.support.cases import for_each
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.start_form import (
    check_inputs,
    check_start_inputs,
    list_fields,
    list_form_variables,
)


FILE = {"type": "image", "transfer_method": "local_file", "upload_file_id": "1"}


def checked(given, **variable):
    field = {"variable": "x", "type": "text-input", **variable}
    return check_inputs(list_fields(NodeSpec("start", "start", {"variables": [field]})), given)


# field, given, what the run sees
ACCEPTED = [
    ({"required": True}, {"x": ""}, ""),
    ({}, {}, None),
    ({"default": "dflt"}, {}, "dflt"),
    ({"default": "dflt"}, {"x": "given"}, "given"),
    ({"max_length": 3}, {"x": "abc"}, "abc"),
    ({"type": "paragraph"}, {"x": "a\0b"}, "ab"),
    ({"type": "select", "options": ["a", "b"]}, {"x": "b"}, "b"),
    ({"type": "select", "options": ["a"]}, {"x": ""}, None),
    ({"type": "select", "options": ["longer"], "max_length": 3}, {"x": "longer"}, "longer"),
    ({"type": "number"}, {"x": "0"}, 0),
    ({"type": "number"}, {"x": "1.5"}, 1.5),
    ({"type": "number"}, {"x": 2.5}, 2.5),
    ({"type": "number"}, {"x": " "}, None),
    ({"type": "number", "default": "123"}, {}, 123),
    ({"type": "number", "default": ""}, {}, None),
    ({"type": "checkbox"}, {"x": True}, True),
    ({"type": "checkbox"}, {"x": 1}, True),
    ({"type": "checkbox"}, {"x": "Off"}, False),
    ({"type": "file"}, {"x": FILE}, FILE),
    ({"type": "file"}, {"x": ""}, None),
    ({"type": "file-list", "max_length": 2}, {"x": [FILE, FILE]}, [FILE, FILE]),
    ({"type": "json_object"}, {"x": {"a": 1}}, {"a": 1}),
    ({"type": "json_object"}, {"x": '{"a": 1}'}, {"a": 1}),
    ({"type": "json_object", "json_schema": {"required": ["a"]}}, {"x": {"a": 1}}, {"a": 1}),
    ({"type": "string"}, {"x": "t"}, "t"),
    ({"type": "array[number]"}, {"x": "[1, 2]"}, [1, 2]),
    ({"type": "array[number]"}, {"x": [1, 2]}, [1, 2]),
    ({"type": "boolean"}, {"x": "true"}, True),
    ({"type": "object"}, {"x": {"a": "\0b"}}, {"a": "b"}),
    ({"type": "something"}, {"x": [1]}, [1]),
]


@for_each("variable, given, expected", ACCEPTED)
def test_check_inputs_fitting_value_is_taken(variable, given, expected):
    values = checked(given, **variable)

    assert values == {"x": expected}
    assert type(values["x"]) is type(expected)


# field, given, wording
REJECTED = [
    ({"required": True}, {}, "x is required in input form"),
    ({"required": True}, {"x": None}, "x is required in input form"),
    ({}, {"x": 5}, r"\(type 'text-input'\) x in input form must be a string"),
    ({"max_length": 3}, {"x": "abcd"}, "less than 3 characters"),
    ({"type": "select", "options": ["a", "b"]}, {"x": "c"}, "one of the following: a, b"),
    ({"type": "number"}, {"x": "abc"}, "x in input form must be a valid number"),
    ({"type": "number"}, {"x": "nan"}, "valid number"),
    ({"type": "number"}, {"x": True}, "valid number"),
    ({"type": "checkbox"}, {"x": "maybe"}, "boolean"),
    ({"type": "checkbox"}, {"x": 2}, "boolean"),
    ({"type": "checkbox"}, {"x": []}, "boolean"),
    ({"type": "file"}, {"x": "a.png"}, "file"),
    ({"type": "file", "required": True}, {"x": ""}, "file"),
    ({"type": "file-list", "max_length": 1}, {"x": [FILE, FILE]}, "at most 1"),
    ({"type": "file-list"}, {"x": [FILE, "b"]}, "list of files"),
    ({"type": "json_object"}, {"x": [1]}, "dict"),
    ({"type": "json_object"}, {"x": "{"}, "JSON"),
    ({"type": "json_object", "json_schema": {"required": ["b"]}}, {"x": {}}, "has no b"),
    ({"type": "array[number]"}, {"x": ["a"]}, "array"),
]


@for_each("variable, given, message", REJECTED)
def test_check_inputs_other_value_is_rejected(variable, given, message):
    with pytest.raises(InputRejected, match=message):
        checked(given, **variable)


def test_check_inputs_tells_of_every_field_and_drops_undeclared():
    variables = [
        {"variable": "a", "type": "number"},
        {"variable": "b", "type": "text-input", "required": True},
    ]
    fields = list_fields(NodeSpec("start", "start", {"variables": [*variables, "odd", {}]}))

    with pytest.raises(InputRejected) as rejected:
        check_inputs(fields, {"a": "x"})

    assert [problem.field for problem in rejected.value.problems] == ["a", "b"]
    assert check_inputs(fields, {"b": "B", "c": "C"}) == {"a": None, "b": "B"}


@pytest.mark.parametrize("name", ["", " ", None])
def test_input_without_a_name_is_not_asked_for(name):
    """Nobody could fill it in, and its label in the form would be empty, too."""
    fields = [{"variable": "x", "type": "number"}, {"variable": name, "required": True}]
    start = NodeSpec("start", "start", {"type": "start", "variables": fields})

    assert [
        variable["variable"] for variable in list_form_variables(Document(Mode.CHAT, (start,), ()))
    ] == ["x"]
    assert check_inputs(list_fields(start), {"x": "1"}) == {"x": 1}


def test_check_start_inputs_refuses_unknown_names_with_the_other_problems():
    start = NodeSpec("start", "start", {"variables": [{"variable": "a", "type": "number"}]})
    form = Document(Mode.WORKFLOW, (start,), ())

    with pytest.raises(InputRejected) as refused:
        check_start_inputs(form, {"a": "x", "b": 1}, refuse_unknown=True)

    assert [problem.code for problem in refused.value.problems] == [
        "input.unknown",
        "input.invalid",
    ]
    assert check_start_inputs(form, {"a": 1, "b": 1}) == {"a": 1}
