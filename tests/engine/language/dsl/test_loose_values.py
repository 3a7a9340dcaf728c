"""Ids that are written as numbers, and numbers that are written as text, are read as what they are."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.dsl.loose_values import read_loosely
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
IDS = frozenset({"1801", "1802"})


@for_each("data, expected",
    [
        ({"variables": [{"value_selector": [1801, "word"]}]}, {"variables": [{"value_selector": ["1801", "word"]}]}),
        ({"outputs": [{"value_selector": [1801, "word"]}]}, {"outputs": [{"value_selector": ["1801", "word"]}]}),
        ({"variables": [[1801, "a"], [1802, "b"]]}, {"variables": [["1801", "a"], ["1802", "b"]]}),
        ({"query": [1801, "word"]}, {"query": ["1801", "word"]}),
        ({"items": [{"value": [1802, "x"]}]}, {"items": [{"value": ["1802", "x"]}]}),
        ({"tool_parameters": {"a": {"type": "variable", "value": [1801, "w"]}}},
         {"tool_parameters": {"a": {"type": "variable", "value": ["1801", "w"]}}}),
        ({"iterator_selector": [1801, "w"], "start_node_id": 1802, "iteration_id": 1801},
         {"iterator_selector": ["1801", "w"], "start_node_id": "1802", "iteration_id": "1801"}),
        ({"cases": [{"id": 1, "case_id": 1, "conditions": [{"id": 2, "variable_selector": [1801, "w"]}]}]},
         {"cases": [{"id": "1", "case_id": "1", "conditions": [{"id": "2", "variable_selector": ["1801", "w"]}]}]}),
        ({"classes": [{"id": 1, "name": "a"}], "version": 2}, {"classes": [{"id": "1", "name": "a"}], "version": "2"}),
    ],
)  # fmt: skip
def test_ids_are_text_wherever_a_node_is_named(data: Any, expected: Any) -> None:
    assert read_loosely(data, IDS) == expected


@for_each(
    "data",
    [
        {"options": [1801, "word"]},
        {"default": [1801, 1802]},
        {"value": [7, "x"]},
        {"variable_selector": [True, "x"]},
        {"variable_selector": ["start", 7]},
        {"variable_selector": [1801, 7]},
        {"variable_selector": [1801]},
        {"arguments": {"id": 7, "version": 2}},
        {"loop_count": "many", "retry_config": {"max_retries": "two"}, "top_k": ""},
        {"tool_parameters": {"top_k": "5"}, "metadata": {"timeout": "3"}, "code": "5"},
        {"completion_params": {"stop": "5"}, "size": "5"},
        {"value": "5", "version": "2", "id": "7"},
    ],
)
def test_other_values_stay_as_they_are(data: Any) -> None:
    assert read_loosely(data, IDS) == data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"retry_config": {"max_retries": "2", "retry_interval": "1000"}}, {"retry_config": {"max_retries": 2, "retry_interval": 1000}}),
        ({"timeout": {"connect": "5", "read": "1.5"}}, {"timeout": {"connect": 5, "read": 1.5}}),
        ({"parallel_nums": "4", "loop_count": " 3 ", "top_k": "5"}, {"parallel_nums": 4, "loop_count": 3, "top_k": 5}),
        ({"memory": {"window": {"enabled": True, "size": "9"}}}, {"memory": {"window": {"enabled": True, "size": 9}}}),
        ({"model": {"completion_params": {"temperature": "0.7"}}}, {"model": {"completion_params": {"temperature": 0.7}}}),
        ({"variables": [{"max_length": "48"}]}, {"variables": [{"max_length": 48}]}),
    ],
)  # fmt: skip
def test_digits_in_quotes_are_the_number(data: Any, expected: Any) -> None:
    assert read_loosely(data, IDS) == expected


ITERATION = """
version: 0.6.0
app: {name: Numbers, mode: workflow}
workflow:
  graph:
    nodes:
    - {id: 1, data: {type: start, variables: [{variable: words, type: file-list, required: false}]}}
    - {id: 2, data: {type: iteration, iterator_selector: [1, words], output_selector: [4, output],
       start_node_id: 3, is_parallel: true, parallel_nums: '4'}}
    - {id: 3, parentId: 2, data: {type: iteration-start, isInIteration: true}}
    - {id: 4, parentId: 2, data: {type: template-transform, iteration_id: 2, template: '{{ x }}',
       variables: [{variable: x, value_selector: [2, item]}]}}
    - {id: 5, data: {type: if-else, cases: [{case_id: 1, logical_operator: and,
       conditions: [{variable_selector: [2, output], comparison_operator: not empty}]}]}}
    - {id: 6, data: {type: end, outputs: [{variable: o, value_selector: [2, output]}]}}
    edges:
    - {source: 1, target: 2}
    - {source: 3, target: 4}
    - {source: 2, target: 5}
    - {source: 5, target: 6, sourceHandle: 1}
"""


def test_document_with_numbers_for_ids_is_valid_and_exported_with_quotes() -> None:
    document = load_document(ITERATION).document

    written = dump_document(document)

    assert [problem for problem in validate(document, KINDS) if problem.is_error] == []
    assert len(compile_plan(document, KINDS).nodes) == 4
    assert load_document(written).document == document
    assert "id: '1'" in written
    assert "parallel_nums: 4" in written
    assert "start_node_id: '3'" in written


@pytest.mark.parametrize("field", ["max_retries", "retry_interval"])
def test_text_that_is_no_number_stays_a_problem(field: str) -> None:
    data = {"type": "http-request", "url": "https://x.test", "retry_config": {"retry_enabled": True, field: "two"}}  # fmt: skip
    tree = {"version": "0.1.0", "nodes": [{"id": "h", "data": data}], "edges": []}

    problems = validate(load_document(tree).document, KINDS)

    assert f"retry_config.{field}" in [problem.field for problem in problems if problem.is_error]
