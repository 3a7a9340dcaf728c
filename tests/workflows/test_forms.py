"""What was typed into the run form, as the start node wants it."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.support.cases import for_each
from tests.support.documents import document, node
from workflows.engine.language.document import Document
from workflows.forms import MAX_DOCUMENT_BYTES, ImportForm, build_input_fields, read_inputs


def asking(*variables: dict[str, Any]) -> Document:
    return document([node("start", "start", variables=list(variables))], [])


NOTHING: dict[str, Any] = {}


@for_each(
    "variable, typed, read",
    [
        ({"type": "string"}, {"v": "hello"}, {"v": "hello"}),
        ({"type": "string"}, {"v": " spaces stay "}, {"v": " spaces stay "}),
        ({"type": "string"}, {"v": ""}, NOTHING),
        ({"type": "string"}, {}, NOTHING),
        ({"type": "string", "required": True}, {"v": ""}, NOTHING),
        ({"type": "string"}, {"v": "a\x00b"}, {"v": "ab"}),
        ({"type": "paragraph"}, {"v": "a\nb"}, {"v": "a\nb"}),
        ({"type": "select", "options": ["a", "b"]}, {"v": "b"}, {"v": "b"}),
        ({"type": "number"}, {"v": "3"}, {"v": 3}),
        ({"type": "number"}, {"v": " 2.5 "}, {"v": 2.5}),
        ({"type": "number"}, {"v": ""}, NOTHING),
        ({"type": "number"}, {"v": "three"}, {"v": "three"}),
        ({"type": "number"}, {"v": "1,5"}, {"v": "1,5"}),
        ({"type": "number"}, {"v": "NaN"}, {"v": "NaN"}),
        ({"type": "number"}, {"v": "-Infinity"}, {"v": "-Infinity"}),
        ({"type": "number"}, {"v": "9" * 5000}, {"v": "9" * 5000}),
        ({"type": "boolean"}, {"v": "on"}, {"v": True}),
        ({"type": "checkbox"}, {}, {"v": False}),
        ({"type": "object"}, {"v": '{"a": [1, null]}'}, {"v": {"a": [1, None]}}),
        ({"type": "object"}, {"v": "{a: 1}"}, {"v": "{a: 1}"}),
        ({"type": "object"}, {"v": '{"a": NaN}'}, {"v": '{"a": NaN}'}),
        ({"type": "object"}, {"v": "[" * 100_000}, {"v": "[" * 100_000}),
        ({"type": "array[string]"}, {"v": '["a"]'}, {"v": ["a"]}),
        ({"type": "array[string]"}, {"v": "  "}, NOTHING),
        ({"type": "string", "hide": True}, {"v": "x"}, NOTHING),
        ({"type": "file"}, {"v": "x"}, NOTHING),
        ({"type": "string"}, {"other": "x"}, NOTHING),
    ],
)
def test_typed_text_is_read_as_its_variable_wants_it(
    variable: dict[str, Any], typed: dict[str, str], read: dict[str, Any]
):
    assert read_inputs(asking({"variable": "v", **variable}), typed) == read


@for_each(
    "variable, last, shown",
    [
        ({"type": "text-input", "default": "d"}, "given", "given"),
        ({"type": "text-input", "default": "d"}, None, "d"),
        ({"type": "number", "default": 1}, 2.5, "2.5"),
        ({"type": "select", "options": ["a", "b"], "default": "a"}, "b", "b"),
        ({"type": "select", "options": ["a", "b"], "default": "a"}, "gone", "a"),
        ({"type": "checkbox", "default": True}, False, ""),
        ({"type": "checkbox"}, True, "true"),
        ({"type": "checkbox"}, "yes", ""),
        ({"type": "text-input"}, True, ""),
        ({"type": "object"}, {"a": [1]}, '{"a": [1]}'),
    ],
)
def test_field_begins_with_what_was_given_last_where_that_still_fits(
    variable: dict[str, Any], last: Any, shown: str
):
    (field,) = build_input_fields(asking({"variable": "v", **variable}), last_inputs={"v": last})

    assert field.value == shown


def test_fields_come_in_the_order_of_the_start_node():
    fields = build_input_fields(
        asking(
            {"variable": "b", "label": "Second", "type": "number", "default": 2},
            {"variable": "a", "type": "object", "default": {"x": 1}, "description": "An object."},
        )
    )

    assert [(f.name, f.label, f.control, f.value, f.hint) for f in fields] == [
        ("b", "Second", "number", "2", ""),
        ("a", "a", "json", '{"x": 1}', "An object."),
    ]


@pytest.mark.parametrize(("default", "shown"), [(False, ""), (True, "true"), (None, "")])
def test_switch_is_on_only_when_its_default_says_so(default: object, shown: str):
    (field,) = build_input_fields(asking({"variable": "v", "type": "boolean", "default": default}))

    assert field.value == shown


def test_fields_after_a_refusal_hold_what_was_typed_and_what_is_wrong():
    (field,) = build_input_fields(
        asking({"variable": "v", "type": "number", "default": 1}), {"v": "x"}, {"v": "No number."}
    )

    assert (field.value, field.error) == ("x", "No number.")


@pytest.mark.parametrize("variables", [None, "text", [1, None], {}])
def test_start_node_that_is_oddly_written_asks_for_nothing(variables: object):
    strange = document([node("start", "start", variables=variables)], [])

    assert (build_input_fields(strange), read_inputs(strange, {"v": "x"})) == ([], {})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\xff\xfe", "The file is not UTF-8 text."),
        (b"x" * (MAX_DOCUMENT_BYTES + 1), "The document can be at most 1 MB."),
    ],
)
def test_file_that_is_no_document_is_refused_with_a_sentence(content: bytes, sentence: str):
    file = SimpleUploadedFile("w.yml", content)

    form = ImportForm({}, {"file": file})

    assert not form.is_valid()
    assert sentence in str(form.errors) or (content == b"" and "empty" in str(form.errors))


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("file", "", {}),
        ("file", '[{"id": "a", "name": "x"}]', {"v": {"id": "a", "name": "x"}}),
        ("file-list", '[{"id": "a"}, {"id": "b"}]', {"v": [{"id": "a"}, {"id": "b"}]}),
        ("file-list", '[{"id": "a"}, 5, "x"]', {"v": [{"id": "a"}]}),
        ("file", "{", {}),
        ("file", '{"id": "a"}', {}),
    ],
)
def test_files_of_a_form_are_read_as_its_script_writes_them(kind: str, text: str, read: Any):
    variable = {"variable": "v", "type": kind, "allowed_file_types": ["image"], "max_length": 4}

    (field,) = build_input_fields(asking(variable), {"v": text})

    assert read_inputs(asking(variable), {"v": text}) == read
    assert field.files is not None
    assert (field.files.accept, field.files.max_count) == ("image/*", 1 if kind == "file" else 4)
    assert field.value == text
