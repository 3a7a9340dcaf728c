"""What stands where an assigner names a variable, in documents that people bring."""

from typing import Any

import pytest

from workflows.engine.language.document import Document
from workflows.engine.language.dsl import load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


def build_document(value: Any) -> Document:
    items = [
        {
            "variable_selector": ["conversation", "v"], "input_type": "variable",
            "operation": "append", "value": value,
        }
    ]  # fmt: skip
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "s", "variables": []}},
        {"id": "as", "data": {"type": "assigner", "title": "as", "version": "2", "items": items}},
        {"id": "end", "data": {"type": "end", "title": "e", "outputs": []}},
    ]
    edges = [
        {"id": "a", "source": "start", "target": "as"},
        {"id": "b", "source": "as", "target": "end"},
    ]
    return load_document(
        {
            "app": {"mode": "workflow", "name": "n"}, "kind": "app", "version": "0.1.5",
            "workflow": {
                "conversation_variables": [
                    {"id": "v", "name": "v", "value_type": "array[string]", "value": []}
                ],
                "graph": {"nodes": nodes, "edges": edges},
            },
        }
    ).document  # fmt: skip


@pytest.mark.parametrize(
    "value", [["conversation", ["conversation", "v"]], [["start", "x"]], [1, 2], [{"a": 1}, "b"]]
)
def test_value_that_names_no_variable_is_a_problem_of_its_node(value: Any):
    problems = validate(build_document(value), build_kinds())

    assert ("as", "Assignment 1: choose a variable") in [
        (problem.node, problem.message) for problem in problems
    ]
