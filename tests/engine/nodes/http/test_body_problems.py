"""What is wrong with the body of a request is said while it is written, at its field."""

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.language.document import Json
from workflows.engine.language.problems import (
    Problem,
    mark_unfinished_as_errors,
    select_errors,
)
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
REPAIRED = "; it is repaired when it is sent"


def find_problems(body: Json, method: str = "POST") -> list[Problem]:
    request = node("h", "http-request", url="https://example.com", method=method, body=body)
    problems = validate(document([start("q"), request], ["start -> h"]), KINDS)
    return [problem for problem in problems if problem.node == "h"]


def write(text: str, kind: str = "json") -> Json:
    return {"type": kind, "data": [{"key": "", "type": "text", "value": text}]}


EMPTY = [
    {"type": "json", "data": []},
    {"type": "json", "data": ""},
    {"type": "raw-text", "data": []},
    write(" \n"),
    write("", "raw-text"),
]


@pytest.mark.parametrize("body", EMPTY)
def test_body_that_was_chosen_and_not_written_is_empty(body: Json) -> None:
    problems = find_problems(body)

    assert [(p.message, p.field) for p in problems] == [("The body is empty", "body.data")]
    # Documents of Dify have such bodies, and everything around the node can be tried.
    assert select_errors(mark_unfinished_as_errors(problems)) == []


# text → the line and the text that are named, and whether it is sent all the same
SLIPS = [
    ('{"a": 1,, }', (1, '{"a": 1,, }', True)),
    ('{\n  "a": 1\n  "b": 2\n}', (3, '"b": 2', True)),
    ('{"a": {{#start.q#}}, "b": [}', (1, '{"a": {{#start.q#}}, "b": [}', False)),
    ("just words", (1, "just words", False)),
]


@for_each("text, slip", SLIPS)
@for_each("is_list", [True, False])
def test_body_that_is_no_json_is_named_by_its_line(
    text: str, slip: tuple[int, str, bool], is_list: bool
) -> None:
    line, shown, is_repaired = slip

    problems = find_problems(write(text) if is_list else {"type": "json", "data": text})

    message = f"Line {line} of the body is no valid JSON: {shown}"
    assert [(p.message, p.field) for p in problems] == [
        (message + REPAIRED * is_repaired, "body.data.0.value" if is_list else "body.data")
    ]
    assert bool(select_errors(mark_unfinished_as_errors(problems))) is not is_repaired


@pytest.mark.parametrize(
    "text",
    [
        "{{#start.q#}}",
        '{"a": {{#start.q#}}, "b": "for {{#start.q#}}"}',
        '{"{{#start.q#}}": [1, {{#start.q#}}]}',
        '{"a": "two\nlines"}',
        "3",
    ],
)
def test_body_with_references_is_json(text: str) -> None:
    assert find_problems(write(text)) == []


def test_text_that_is_not_sent_as_json_may_be_anything() -> None:
    assert find_problems(write('{"a": 1,, }', "raw-text")) == []


@pytest.mark.parametrize(
    ("method", "body", "codes"),
    [
        ("GET", write("{}"), ["http.method_body"]),
        ("head", write("{}"), ["http.method_body"]),
        ("GET", {"type": "none", "data": []}, []),
        ("DELETE", write("{}"), []),
        ("{{#start.q#}}", write("{}"), []),
    ],
)
def test_body_of_a_get_request_is_a_warning_that_names_post(
    method: str, body: Json, codes: list[str]
) -> None:
    problems = find_problems(body, method)

    assert [p.code for p in problems] == codes
    assert all("POST" in p.message and p.field == "method" for p in problems)
    assert select_errors(mark_unfinished_as_errors(problems)) == []


def test_binary_body_without_a_file_asks_for_one() -> None:
    problems = find_problems({"type": "binary", "data": []})

    assert [(p.message, p.field) for p in problems] == [
        ("Body › File: choose a variable", "body.data")
    ]
