"""Rows that were added and left empty: a problem at the control that lacks its value, for each of them."""

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem, mark_unfinished_as_errors
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
CONDITION = {"variable_selector": [], "comparison_operator": "is", "value": ""}
NO_OPERATOR = {"variable_selector": ["start", "q"], "comparison_operator": "", "value": ""}
FILES = {
    "variable_selector": ["start", "q"],
    "comparison_operator": "contains",
    "sub_variable_condition": {"conditions": [{"key": "", "comparison_operator": "is"}]},
}
ASSIGNMENT = {"variable_selector": [], "operation": "over-write", "value": []}
NO_OPERATION = {"variable_selector": ["conversation", "x"], "operation": "guess", "value": ["a"]}
NO_VALUE = {"variable_selector": ["conversation", "x"], "operation": "append", "value": []}
OUTPUT = {"variable": "", "value_selector": []}
LOOP_VARIABLE = {"label": "", "var_type": "string", "value_type": "constant", "value": ""}
FORM = "form-data"
# kind, settings, the fields of the problems
TABLE: list[tuple[str, dict[str, Json], list[str]]] = [
    ("if-else", {"cases": [{"case_id": "true", "conditions": [CONDITION, NO_OPERATOR]}]},
     ["cases.0.conditions.0.variable_selector", "cases.0.conditions.1.comparison_operator"]),
    ("if-else", {"cases": [{"case_id": "true", "conditions": [FILES]}]},
     ["cases.0.conditions.0.sub_variable_condition.conditions.0.key"]),
    ("if-else", {"cases": [{"case_id": "true", "logical_operator": "nor", "conditions": []}]},
     ["cases.0.logical_operator"]),
    ("if-else", {"conditions": [CONDITION]}, ["conditions.0.variable_selector"]),
    ("loop", {"loop_count": 2, "break_conditions": [CONDITION, CONDITION]},
     ["break_conditions.0.variable_selector", "break_conditions.1.variable_selector"]),
    ("loop", {"loop_count": 2, "loop_variables": [LOOP_VARIABLE]}, ["loop_variables.0.label"]),
    ("assigner", {"items": [ASSIGNMENT, NO_OPERATION, NO_VALUE]},
     ["items.0.variable_selector", "items.1.operation", "items.2.value"]),
    ("http-request", {"headers": "X-Id:1\n:lost"}, ["headers.1.key"]),
    ("http-request", {"params": [{"key": "", "value": "lost"}]}, ["params.0.key"]),
    ("http-request", {"method": "POST", "body": {"type": FORM, "data": [{"value": "lost"}]}},
     ["body.data.0.key"]),
    ("http-request", {"method": "POST", "body": {"type": FORM, "data": [{"key": "", "value": ""}]}},
     []),  # has no effect: exports of Dify have such a row at the end
    ("memory-store", {"metadata_selectors": {"place": []}}, ["metadata_selectors.place"]),
    ("variable-aggregator", {"variables": [["start", "q"], []]}, ["variables.1"]),
    ("variable-aggregator", {"advanced_settings": {
        "group_enabled": True, "groups": [{"group_name": "", "variables": [["start", "q"]]}]}},
     ["advanced_settings.groups.0.group_name"]),
    ("template-transform", {"template": "x", "variables": [OUTPUT]}, ["variables.0.variable"]),
    ("template-transform", {"template": "x", "variables": [{**OUTPUT, "variable": "a"}]},
     ["variables.0.value_selector"]),
    ("llm", {"prompt_config": {"jinja2_variables": [OUTPUT]}},
     ["prompt_config.jinja2_variables.0.variable"]),
    ("question-classifier", {"classes": [{"id": "1", "name": " "}]}, ["classes.0.name"]),
]  # fmt: skip


def find(kind: str, data: dict[str, Json], part: str) -> list[Problem]:
    drawn = document([start("q"), node("n", kind, **data)], ["start -> n"])
    problems = [problem for problem in validate(drawn, KINDS) if problem.node == "n"]
    return [each for each in problems if each.field and each.field.split(".")[0] == part]


@for_each("kind, data, fields", TABLE)
def test_each_empty_row_has_a_problem_at_its_control(kind, data, fields):
    part = fields[0].split(".")[0] if fields else "body"

    problems = find(kind, data, part)

    assert [problem.field for problem in problems] == fields
    # They are shown like any other missing value: as errors, in the editor.
    assert all(problem.is_error for problem in mark_unfinished_as_errors(problems))


def test_label_says_which_row_it_is():
    (problem,) = find("http-request", {"headers": "X-Id:1\n:lost"}, "headers")

    assert problem.message == "Headers 2 › Key: enter a value"
