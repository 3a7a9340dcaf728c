"""What documents of xworkflow mean by a branch, a list operator and a start field is what they get."""

from itertools import pairwise
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.engine import PythonHere, run_plan
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


def read(*nodes: dict[str, Any], **sections: Any) -> Any:
    names = [node["id"] for node in nodes]
    edges = [{"source": a, "target": b} for a, b in pairwise(names)]
    tree = {"version": "0.1.0", "nodes": list(nodes), "edges": edges, **sections}
    return load_document(tree).document


def node(id_: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"id": id_, "data": {"type": kind, **data}}


def end(**selectors: list[str]) -> dict[str, Any]:
    outputs = [{"variable": name, "value_selector": path} for name, path in selectors.items()]
    return node("end", "end", outputs=outputs)


START = node("start", "start", variables=[{"variable": "items", "type": "array[any]"}])


@for_each("operation, items, settings, result",
    [
        ("sort", [3, 1, 2], {}, [1, 2, 3]),
        ("sort", [{"v": 1}, {"v": 3}, {"v": 2}], {"sort_key": "v", "sort_order": "desc"},
         [{"v": 3}, {"v": 2}, {"v": 1}]),
        ("sort", [{"v": "b"}, {"v": 2}, {}, {"v": None}, {"v": True}], {"sort_key": "v"},
         [{"v": True}, {"v": 2}, {"v": "b"}, {}, {"v": None}]),
        ("slice", [1, 2, 3, 4], {"start": 1, "end": 3}, [2, 3]),
        ("slice", [1, 2], {"start": 9}, []),
        ("first", [1, 2], {}, 1),
        ("first", [], {}, None),
        ("last", [1, 2], {}, 2),
        ("flatten", [[1, 2], [3], 4, [[5]]], {}, [1, 2, 3, 4, [5]]),
        ("unique", [1, 2, 1, {"a": 1}, {"a": 1}, "1", 2], {}, [1, 2, {"a": 1}, "1"]),
        ("reverse", [1, 2, 3], {}, [3, 2, 1]),
        ("concat", [1], {"second_input_selector": ["start", "items"]}, [1, 1]),
        ("length", [1, 2, 3], {}, 3),
    ],
)  # fmt: skip
async def test_list_operator_has_one_operation(operation, items, settings, result):
    data = {"operation": operation, "input_selector": "start.items", "output_variable": "out"}
    document = read(
        START, node("list", "list-operator", **data, **settings), end(r=["list", "out"])
    )

    run = await run_plan(document, inputs={"items": items})

    assert (run.outputs, run.error) == ({"r": result}, None)
    assert load_document(dump_document(document)).document == document


def body(**outputs: str) -> dict[str, Any]:
    """Return a body that puts out what its code node computes from the item, the index and the accumulator."""
    names = ("item", "index", "accumulator")
    inputs = [{"variable": name, "value_selector": f"__scope__.{name}"} for name in names]
    source = f"def main(inputs):\n    item, index, acc = map(inputs.get, {names})\n    return {{"
    source += ", ".join(f"{name!r}: {text}" for name, text in outputs.items()) + "}"
    code = {"language": "python3", "code": source, "variables": inputs}
    return {
        "nodes": [node("begin", "start"), node("work", "code", **code),
                  node("finish", "end", outputs=[
                      {"variable": name, "value_selector": ["work", name]} for name in outputs])],
        "edges": [{"source": "begin", "target": "work"}, {"source": "work", "target": "finish"}],
    }  # fmt: skip


@for_each("operation, items, outputs, settings, result",
    [
        ("filter", [1, 2, 3, 4], {"keep": "item % 2 == 0"}, {}, [2, 4]),
        ("filter", [1, 2, 3, 4], {"keep": "item % 2 == 0"}, {"parallel": True}, [2, 4]),
        ("filter", [1, 2], {"keep": "item"}, {}, []),  # only true keeps an item
        ("map", [1, 2], {"value": "item * 10 + index"}, {}, [10, 21]),
        ("map", [1, 2], {"value": "[item]"}, {}, [[1], [2]]),
        ("map", [1], {"a": "item", "b": "index"}, {}, [{"a": 1, "b": 0}]),
        ("reduce", [1, 2, 3], {"value": "(acc or 0) + item"}, {}, 6),
        ("reduce", [1, 2], {"value": "acc + item"}, {"initial_value": 10, "parallel": True}, 13),
        ("reduce", [], {"value": "acc"}, {"initial_value": "none"}, "none"),
        ("map", [], {"value": "item"}, {}, []),
    ],
)  # fmt: skip
async def test_list_operator_runs_its_body_for_each_item(
    operation, items, outputs, settings, result
):
    data = {"operation": operation, "input_selector": "start.items", "output_variable": "out",
            "sub_graph": body(**outputs), **settings}  # fmt: skip
    document = read(START, node("list", "list-operator", **data), end(r=["list", "out"]))

    run = await run_plan(document, inputs={"items": items}, code=PythonHere())
    written = dump_document(document)

    assert not [problem for problem in validate(document, build_kinds()) if problem.is_error]
    assert (run.outputs, run.error) == ({"r": result}, None)
    assert load_document(written).document == document
    assert "type: list-operator" in written
    assert "type: iteration" not in written


@pytest.mark.parametrize("operation", ["filter", "map", "reduce"])
async def test_operation_without_its_body_is_refused_by_name(operation):
    data = {"operation": operation, "input_selector": ["start", "items"], "output_variable": "out"}
    document = read(START, node("list", "list-operator", **data), end(r=["list", "out"]))

    problems = validate(document, build_kinds())
    run = await run_plan(document, inputs={"items": [1]})

    message = f"The operation {operation} needs nodes inside; use an iteration or code instead"
    assert message in [problem.message for problem in problems]
    assert run.error == message


def branch(operator: str) -> dict[str, Any]:
    condition = {"variable_selector": ["ghost", "x"], "comparison_operator": operator, "value": "a"}
    return node("if", "if-else", cases=[{"case_id": "yes", "conditions": [condition]}])


@pytest.mark.parametrize(
    ("operator", "case"),
    [("contains", "false"), ("equal", "false"), ("greater_than", "false"), ("empty", "yes")],
)
async def test_condition_on_a_missing_variable_holds_as_for_null(operator, case):
    edges = [
        {"source": "start", "target": "if"},
        {"source": "if", "target": "end", "source_handle": "yes"},
        {"source": "if", "target": "end", "source_handle": "false"},
    ]
    tree = {"version": "0.1.0", "nodes": [START, branch(operator), end(case=["if", "selected_case"])],
            "edges": edges}  # fmt: skip
    document = load_document(tree).document

    run = await run_plan(document, inputs={"items": []})

    assert (run.outputs, run.error) == ({"case": case}, None)
    assert load_document(dump_document(document)).document == document


@pytest.mark.parametrize("value", ["text", 3, True, [1], {"a": 1}])
async def test_field_of_type_string_takes_any_value(value):
    start = node(
        "start", "start", variables=[{"variable": "x", "type": "string", "required": True}]
    )

    run = await run_plan(read(start, end(x=["start", "x"])), inputs={"x": value})

    assert run.outputs == {"x": value}


def test_error_handler_is_named_as_not_offered():
    document = read(START, end(), error_handler={"mode": "recover", "sub_graph": {}})

    problems = validate(document, build_kinds())

    assert [problem.field for problem in problems if problem.code == "feature.not_offered"] == [
        "error_handler"
    ]
