"""What a form marks with a star: left empty, the node is refused or warned of, whatever its kind."""

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.field_labels import build_field_label
from workflows.engine.kinds import Field, NodeKind, Widget
from workflows.engine.language.document import Json
from workflows.engine.language.problems import (
    Severity,
    mark_unfinished_as_errors,
    select_errors,
)
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.control.human_input import HumanInput
from workflows.engine.nodes.llm.question_classifier import QuestionClassifier


KINDS = build_kinds()
REQUIRED = [(kind, field) for kind in KINDS.values() for field in kind.fields if field.required]
KINDS_FIELDS = {(kind.name, field.name): field for kind in KINDS.values() for field in kind.fields}
EMPTY: dict[Widget, Json] = {
    Widget.SELECTOR: [],
    Widget.OUTPUTS: [],
    Widget.MESSAGES: [],
    Widget.ASSIGNMENTS: [],
    Widget.TYPED_OUTPUTS: {},
    Widget.NUMBER: None,
    Widget.MODEL: {},
}


def about(kind: str, data: dict[str, Json], field: str) -> list[str]:
    drawn = document([start("q"), node("n", kind, **data)], ["start -> n"])
    found = validate(drawn, KINDS)
    return [
        one.message for one in found if one.node == "n" and (one.field or "").split(".")[0] == field
    ]


def filled(kind) -> dict[str, Json]:
    """As a form begins, with an example in every field that asks for something."""
    return {
        field.name: field.example if field.default is None else field.default
        for field in kind.fields
        if field.example is not None or field.default is not None
    }


def named(part: NodeKind | Field) -> str:
    return part.name


@for_each("kind, field", REQUIRED, ids=named)
def test_required_field_left_empty_is_a_problem_at_it(kind, field):
    empty = EMPTY.get(field.widget, "")

    assert about(kind.name, filled(kind) | {field.name: empty}, field.name)


WITHOUT_DEFAULT = [one for one in REQUIRED if one[1].default is None]


@for_each("kind, field", WITHOUT_DEFAULT, ids=named)
def test_required_field_that_is_absent_is_a_problem_without_a_word_of_pydantic(kind, field):
    rest = {name: value for name, value in filled(kind).items() if name != field.name}
    said = about(kind.name, rest, field.name)

    assert said
    assert not [one for one in said if "required" in one or "Input should" in one]


@pytest.mark.parametrize(
    ("kind", "data", "field", "expected"),
    [
        ("iteration", {}, "iterator_selector", "List: choose a variable"),
        ("iteration", {"iterator_selector": []}, "iterator_selector", "List: choose a variable"),
        ("memory-store", {"scope": "user"}, "value_selector", "Variable: choose a variable"),
        ("loop", {"loop_count": 0}, "loop_count", "Max rounds must be at least 1"),
        ("answer", {"answer": " "}, "answer", "Answer is empty"),
        ("end", {"outputs": 5}, "outputs", "Outputs must be a list"),
        (
            "end",
            {"outputs": [{"variable": "a"}]},
            "outputs",
            "Output 1: choose a variable",
        ),
    ],
)
def test_problem_names_the_field_by_its_label(kind, data, field, expected):
    assert about(kind, data, field)[0] == expected


def test_label_of_a_part_tells_the_way_to_it():
    fields = (Field("a", "First", fields=(Field("b", "Second"),)),)

    assert build_field_label(("a", "b", 0, "c"), fields) == "First › Second 1 › C"


@pytest.mark.parametrize(
    ("kind", "path", "label"),
    [
        (HumanInput, ("user_actions", 0, "id"), "Button 1 › Name"),
        (HumanInput, ("inputs", 0, "output_variable_name"), "Field 1 › Name"),
        (QuestionClassifier, ("classes", 0, "name"), "Class 1 › Description of the class"),
    ],
)
def test_label_of_a_row_is_that_of_its_form(kind, path, label):
    assert build_field_label(path, kind.fields) == label


def test_older_form_of_an_assignment_is_not_missing_the_newer():
    older = {
        "assigned_variable_selector": ["conversation", "a"],
        "input_variable_selector": ["start", "q"],
    }

    assert about("assigner", older, "items") == []


ROWS = [
    ("start", "variables", {"variable": "", "type": "text-input"}, "variable", "Input 2 › Name"),
    ("question-classifier", "classes", {"id": "2", "name": " "}, "name", "Class 2 › Description of the class"),
    ("end", "outputs", {"variable": "", "value_selector": ["start", "q"]}, "variable", "Output 2 › Name"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "field", "row", "key", "label"), ROWS)
def test_row_without_its_name_is_a_problem_at_the_name(kind, field, row, key, label):
    data = filled(KINDS[kind])
    data[field] = [KINDS_FIELDS[kind, field].example[0], row]
    nodes = [node("n", kind, **data)] if kind == "start" else [start("q"), node("n", kind, **data)]
    found = validate(document(nodes, ["start -> n"]), KINDS)

    at_rows = [one for one in found if (one.field or "").startswith(f"{field}.1.")]
    assert [(one.field, one.message) for one in at_rows] == [
        (f"{field}.1.{key}", f"{label}: enter a value")
    ]
    # The editor shows it as an error; what runs already goes on running.
    assert [one.severity for one in mark_unfinished_as_errors(at_rows)] == [Severity.ERROR]
    assert select_errors(at_rows) == []
