"""A trial run pins what the programs behind a pinned node read of it."""

import json

import pytest

from workflows.engine.language.dsl import load_document
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.expected_answers import guess_shapes
from workflows.engine.testing.stand_ins import (
    build_sample_inputs,
    build_sample_system,
    build_stand_ins,
)


PROGRAMS = [
    ("import json\ndef main(a):\n    return {'o': json.loads(a)['x']['y']}", '{"x": {"y": "1"}}'),
    (("import json\ndef main(a):\n    data = json.loads(a)\n    for row in data['rows']:\n"
     "        print(row.get('name'))\n    return {}"), '{"rows": [{"name": "1"}]}'),
    ("import json\ndef read(t):\n    return json.loads(t)\ndef main(a):\n    return read(a)['k']",
     '{"k": "1"}'),
    (("import json\ndef main(a):\n    try:\n        x = json.loads(a)\n    except ValueError:\n"
     "        x = {}\n    return [i['id'] for i in x['list'][:3]]"), '{"list": [{"id": "1"}]}'),
    ("import json\ndef main(a):\n    return main(json.loads(a)['deep'])", '{"deep": "1"}'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), PROGRAMS)
def test_guess_is_what_the_program_reads(source, expected):
    parsed = guess_shapes(source, ["a"])["a"].parsed

    assert parsed
    assert json.dumps(parsed.build_value()) == expected


@pytest.mark.parametrize("source", ["def main(:", "x = 1", "", "def other(a): pass", "\0"])
def test_programs_that_say_nothing_are_no_error(source):
    shapes = guess_shapes(source, ["a"])

    assert all(shape.build_value() == "1" for shape in shapes.values())


def build_document():
    variables = [
        {"variable": "name", "type": "text-input", "max_length": 5, "required": True},
        {"variable": "kind", "type": "select", "options": ["b", "c"]},
        {"variable": "count", "type": "number"},
        {"variable": "kept", "type": "paragraph", "default": "as it is"},
        {"variable": "paper", "type": "file"},
        {"variable": "papers", "type": "file-list"},
    ]
    source = "import json\ndef main(a, b):\n    return {'o': json.loads(a)['url'] + b[0]['title']}"
    reads = [
        {"variable": "a", "value_selector": ["http", "body"]},
        {"variable": "b", "value_selector": ["tool", "json"]},
    ]
    nodes = [
        ("start", {"type": "start", "variables": variables}),
        ("http", {"type": "http-request", "url": "https://x.example", "method": "get"}),
        ("tool", {"type": "tool", "provider_id": "a/b/c", "tool_name": "t"}),
        ("branch", {"type": "invented"}),
        (
            "code",
            {
                "type": "code",
                "code": source,
                "variables": reads,
                "outputs": {"o": {"type": "string"}},
            },
        ),
    ]
    graph = {
        "nodes": [{"id": key, "data": data} for key, data in nodes],
        "edges": [{"id": "e", "source": "branch", "sourceHandle": "left", "target": "code"}],
    }
    app = {"name": "A", "mode": "advanced-chat"}
    return load_document({"version": "0.6.0", "app": app, "workflow": {"graph": graph}}).document


def test_stand_ins_replace_what_is_missing_or_asks_outside():
    document = build_document()

    pins = build_stand_ins(document, build_kinds())

    assert set(pins) == {"http", "tool", "branch"}
    assert json.loads(pins["http"]["outputs"]["body"]) == {"url": "1"}
    assert pins["tool"]["outputs"]["json"] == [{"title": "1"}]
    assert pins["branch"]["handle"] == "left"


def test_sample_inputs_fit_the_form():
    inputs = build_sample_inputs(build_document())

    assert len(inputs["name"]) == 5
    assert (inputs["kind"], inputs["count"], inputs["kept"]) == ("b", 1, "as it is")
    assert inputs["papers"] == [inputs["paper"]]
    assert build_sample_system(build_document())["query"]


def test_sample_files_fit_the_rules_of_their_fields():
    image = {"allowed_file_types": ["image"], "allowed_file_upload_methods": ["local_file"]}
    custom = {"allowed_file_types": ["custom"], "allowed_file_extensions": [".dwg"]}
    variables = [
        {"variable": "picture", "type": "file", "required": True, **image},
        {"variable": "plans", "type": "file-list", "required": True, **custom},
    ]
    graph = {
        "nodes": [{"id": "start", "data": {"type": "start", "variables": variables}}],
        "edges": [],
    }
    source = {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "x", "mode": "workflow"},
        "workflow": {"graph": graph},
    }
    document = load_document(source).document

    inputs = build_sample_inputs(document)

    assert check_start_inputs(document, inputs) == inputs
