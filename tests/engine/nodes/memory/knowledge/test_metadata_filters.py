"""Conditions on the metadata of pages."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import ConditionInvalid
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.memory.knowledge.config import MetadataConditions
from workflows.engine.nodes.memory.knowledge.metadata_filters import (
    OPERATORS,
    MetadataTest,
    build_filter,
    check_conditions,
    list_condition_references,
    read_conditions,
)


PAGE = {
    "title": "Refunds",
    "document_name": "Refunds",
    "source": ["handbook.pdf", "text", "https://example.com/handbook"],
    "tags": ["money", "support"],
    "uploader": "Alice",
    "upload_date": 1767225600,  # 2026-01-01
    "last_update_date": 1772323200,  # 2026-03-01
    "year": "2026",
    "Language": "en",
    "checked": "2026-02-10",
}


@for_each(
    "name, operator, value, is_met",
    [
        ("title", "contains", "fund", True),
        ("title", "contains", "refund", False),  # as in the branches of a workflow
        ("title", "not contains", "tea", True),
        ("title", "start with", "Ref", True),
        ("title", "end with", "funds", True),
        ("title", "is", "Refunds", True),
        ("title", "is not", "Refunds", False),
        ("source", "is", "handbook.pdf", True),
        ("source", "is not", "handbook.pdf", False),
        ("source", "contains", "example.com", True),
        ("tags", "contains", "sup", True),
        ("tags", "is", "money", True),
        ("tags", "not contains", "money", False),
        ("tags", "in", ["money", "tea"], True),
        ("tags", "not in", "tea, coffee", True),
        ("title", "in", "Refunds, Returns", True),
        ("tags", "not empty", None, True),
        ("nothing", "empty", None, True),
        ("nothing", "not empty", None, False),
        ("nothing", "is", "x", False),
        ("nothing", "is not", "x", True),
        ("nothing", ">", 1, False),
        ("year", "=", 2026, True),
        ("year", "≠", "2026", False),
        ("year", "≥", "2026", True),
        ("year", "<", 2026, False),
        ("title", ">", 3, False),  # a text is no number
        ("language", "is", "en", True),
        ("upload_date", "before", "2026-02-01", True),
        ("upload_date", "after", 1767225599, True),
        ("last_update_date", "after", "2026/03/02", False),
        ("checked", "before", "2026-02-11", True),
        ("checked", "after", "soon", False),
        ("upload_date", ">", "2025-12-31", True),
    ],
)
def test_values_are_compared(name: str, operator: str, value: Any, is_met: bool) -> None:
    assert MetadataTest(name, operator, value).is_met(PAGE) is is_met


def group(*conditions: tuple[str, str, Any], logic: str | None = None) -> MetadataConditions:
    items = [{"name": n, "comparison_operator": o, "value": v} for n, o, v in conditions]
    return MetadataConditions.model_validate({"logical_operator": logic, "conditions": items})


def test_conditions_are_joined_and_hold_values_of_the_run() -> None:
    pool = VariablePool()
    pool.set_outputs("start", {"who": "Alice", "none": ""})
    both = (("uploader", "is", "{{#start.who#}}"), ("title", "is", "Returns"))

    every, no_notes = build_filter(group(*both), pool)
    some, _ = build_filter(group(*both, logic="or"), pool)
    without, notes = build_filter(group(("title", "is", "{{#start.none#}}")), pool)

    assert (every.accepts(PAGE), some.accepts(PAGE)) == (False, True)
    assert (list(no_notes), bool(without)) == ([], False)
    assert notes == ["The condition on title has no value and was left out."]
    assert list_condition_references(group(*both)) == [("start", "who")]


@for_each("operator", OPERATORS)
def test_every_operator_of_dify_is_known(operator: str) -> None:
    check_conditions(group(("title", operator, "x")))


@pytest.mark.parametrize(
    ("conditions", "logic", "message"),
    [
        ([("", "is", "x")], None, "Condition 1 needs the name"),
        ([("title", "is", "x"), ("title", "sounds like", "x")], None, "Condition 2 has an unknown"),
        ([("title", "is", "x")], "xor", "choose whether all"),
    ],
)
def test_fault_names_the_condition(conditions: Any, logic: str | None, message: str) -> None:
    with pytest.raises(ConditionInvalid, match=message):
        check_conditions(group(*conditions, logic=logic))


@pytest.mark.parametrize(
    "answer", [None, [], {"conditions": "all"}, {"conditions": [1, {"name": "x"}]}]
)
def test_what_a_model_says_besides_conditions_is_left_out(answer: Any) -> None:
    assert not read_conditions(answer)


def test_conditions_of_a_model_are_read() -> None:
    said = {"logical_operator": "or", "conditions": [
        {"name": "upload_date", "comparison_operator": "after", "value": "2026-01-01"},
        {"name": "tags", "comparison_operator": "is", "value": ""},
    ]}  # fmt: skip

    read = read_conditions(said)

    assert read.describe() == {"logical_operator": "or", "conditions": said["conditions"][:1]}
