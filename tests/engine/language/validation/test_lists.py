"""A node that needs a list, and reads a variable that can't be one, can't run."""

import pytest

from tests.support.documents import document, end, node, start
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
CODE = node(
    "make", "code", code_language="python3", code="def main():\n    return {}", variables=[],
    outputs={"thing": {"type": "object"}, "things": {"type": "array[object]"}},
)  # fmt: skip


def find(reader: NodeSpec) -> list[tuple[str | None, str | None, str]]:
    edges = ["start -> make", f"make -> {reader.id}", f"{reader.id} -> end"]
    drawn = document([start("q"), CODE, reader, end()], edges)
    found = [one for one in validate(drawn, KINDS) if one.code == "reference.not_a_list"]
    shown = validate_node(drawn, KINDS, reader.id)
    assert [one for one in shown if one.code == "reference.not_a_list"] == found
    assert all(one.is_error for one in found)
    return [(one.node, one.field, one.message) for one in found]


@pytest.mark.parametrize(
    ("variable", "type_name"),
    [("make.thing", "object"), ("start.q", "string"), ("sys.user_id", "string")],
)
def test_iteration_over_a_value_that_is_no_list_is_an_error(variable: str, type_name: str) -> None:
    found = find(node("each", "iteration", iterator_selector=variable.split(".")))

    message = f"{variable} is of type {type_name}; a list is required"
    assert found == [("each", "iterator_selector", message)]


@pytest.mark.parametrize("variable", ["make.things", "make.unknown", "gone.x", "sys.files"])
def test_iteration_over_a_list_or_an_unknown_value_is_none(variable: str) -> None:
    assert find(node("each", "iteration", iterator_selector=variable.split("."))) == []


def test_list_operator_needs_a_list_too() -> None:
    [(where, field, _message)] = find(node("few", "list-operator", variable=["make", "thing"]))

    assert (where, field) == ("few", "variable")
