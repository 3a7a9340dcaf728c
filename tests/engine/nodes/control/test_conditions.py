from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import ConditionInvalid, VariableNotFound
from workflows.engine.language.comparisons import normalize_operator
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.control.conditions import parse_condition, parse_group


def holds(operator, actual, expected=None, **more):
    pool = VariablePool(conversation={"v": actual, "ref": "abc"})
    condition = {"variable_selector": ["conversation", "v"], "comparison_operator": operator}
    return parse_condition({**condition, "value": expected, **more}).is_met(pool)


# operator, value, expected, whether it holds
TABLE: list[tuple[Any, ...]] = [
    ("contains", "cabcde", "abc", True),
    ("contains", "ABC", "abc", False),
    ("contains", "a1", 1, True),
    ("contains", ["a", "b"], "a", True),
    ("contains", ["ab"], "a", False),
    ("contains", "", "", False),
    ("contains", None, "a", False),
    ("not contains", "", "a", True),
    ("not contains", None, "a", True),
    ("not contains", "zabc", "abc", False),
    ("start with", "abc", "ab", True),
    ("start with", "", "", False),
    ("end with", "zzab", "ab", True),
    ("is", "ab", "ab", True),
    ("is", None, "", False),
    ("is", False, "false", True),
    ("is", True, "1", True),
    ("is not", None, "x", False),
    ("is not", "a", "b", True),
    ("is not", False, "true", True),
    ("empty", "", None, True),
    ("empty", " ", None, False),
    ("empty", 0, None, True),
    ("empty", [], None, True),
    ("empty", {}, None, True),
    ("empty", False, None, True),
    ("empty", None, None, True),
    ("not empty", "a", None, True),
    ("in", "a", ["a", "b"], True),
    ("in", "", [""], False),
    ("in", None, ["a"], False),
    ("not in", "", ["a"], True),
    ("not in", "c", ["a"], True),
    ("all of", ["a", "b"], ["a"], True),
    ("all of", ["a"], ["a", "b"], False),
    ("all of", "abc", ["a", "c"], True),
    ("all of", [], ["a"], False),
    ("all of", [True, False], ["true"], True),
    ("=", 22, "22", True),
    ("=", 23, "22", False),
    ("=", 22, 22.0, True),
    ("=", 22.5, "22.5", True),
    ("=", True, "1", True),
    ("=", None, "22", False),
    ("≠", 23, "22", True),
    ("≠", None, "22", False),
    (">", 22.5, "22", True),
    (">", 1.1, "0", True),
    ("<", 21, "22", True),
    ("≥", 1, "0.95", True),
    ("≥", 0, "0.95", False),
    ("≤", 0, "0.95", True),
    ("≤", 22, "22", True),
    (">", None, "1", False),
    ("null", None, None, True),
    ("null", "", None, False),
    ("not null", "", None, True),
    ("exists", None, None, False),
    ("not exists", None, None, True),
    ("contains", "xabcx", "{{#conversation.ref#}}", True),
    ("in", "abc", ["{{#conversation.ref#}}"], True),
]


@for_each("operator, actual, expected, result", TABLE)
def test_condition_of_table_decides(operator, actual, expected, result):
    assert holds(operator, actual, expected) is result


@for_each(
    "operator, actual, expected, message",
    [
        ("is", 5, "5", "Invalid actual value type: string or boolean"),
        ("is not", 5, "5", "string or boolean"),
        ("contains", 5, "5", "string or array"),
        ("start with", ["a"], "a", "Invalid actual value type: string"),
        ("start with", "a", 1, "must be a string"),
        ("in", "a", "abc", "Invalid expected value type: array"),
        ("=", 22, "22.5", "22.5"),
        ("=", "22", "22", "number or boolean"),
        ("=", 22, None, "nothing is given"),
        (">", "3", "2", "Invalid actual value type: number"),
        (">", 3, "two", "not a number"),
        ("is", True, "maybe", "boolean"),
    ],
)
def test_condition_without_sense_raises(operator, actual, expected, message):
    with pytest.raises(ConditionInvalid, match=message):
        holds(operator, actual, expected)


def test_condition_on_nothing_raises():
    condition = {"variable_selector": ["ghost", "x"], "comparison_operator": "empty"}

    with pytest.raises(VariableNotFound, match=r"Variable ghost\.x not found"):
        parse_condition(condition).is_met(VariablePool())


@for_each(
    "name, canonical",
    [
        ("greater_than", ">"),
        ("greater_than_or_equal", "≥"),
        ("greater_or_equal", "≥"),
        (">=", "≥"),
        ("not_equal", "≠"),
        ("equal", "="),
        ("not_contains", "not contains"),
        ("start_with", "start with"),
        ("not_empty", "not empty"),
        ("not_null", "not null"),
        ("all_of", "all of"),
        ("IS NOT", "is not"),
        ("like", None),
    ],
)
def test_canonical_operator_of_any_spelling(name, canonical):
    assert normalize_operator(name) == canonical


PDF = {"type": "document", "transfer_method": "local_file", "extension": ".pdf", "size": 10}
PNG = {"type": "image", "transfer_method": "local_file", "extension": "png", "size": 99}


@pytest.mark.parametrize(
    ("files", "sub", "result"),
    [
        ([PDF, PNG], {"key": "type", "comparison_operator": "in", "value": ["image"]}, True),
        ([PDF], {"key": "type", "comparison_operator": "in", "value": ["image"]}, False),
        ([PDF, PNG], {"key": "extension", "comparison_operator": "is", "value": "png"}, True),
        ([PDF, PNG], {"key": "extension", "comparison_operator": "is not", "value": "png"}, False),
        ([PDF], {"key": "extension", "comparison_operator": "is not", "value": "png"}, True),
        ([PDF, PNG], {"key": "size", "comparison_operator": ">", "value": "50"}, True),
        ([], {"key": "size", "comparison_operator": ">", "value": "50"}, False),
    ],
)
def test_condition_on_files_asks_each(files, sub, result):
    group = {"logical_operator": "and", "conditions": [sub]}

    assert holds("contains", files, sub_variable_condition=group) is result


def test_condition_on_files_without_sub_condition_raises():
    with pytest.raises(ConditionInvalid, match="file condition"):
        holds("contains", [PDF], "x")


def test_group_stops_at_the_first_that_decides():
    pool = VariablePool(conversation={"a": "x"})
    good = {"variable_selector": ["conversation", "a"], "comparison_operator": "is", "value": "x"}
    fails = {"variable_selector": ["ghost", "a"], "comparison_operator": "empty"}

    assert parse_group([good, fails], "or").is_met(pool) is True
    assert parse_group([{**good, "value": "y"}, fails], "and").is_met(pool) is False
    assert parse_group([], "and").is_met(pool) is True
    assert parse_group([], "or").is_met(pool) is False


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"variable_selector": "a.b", "comparison_operator": "is"},
        {"variable_selector": ["a", "b"], "comparison_operator": "like"},
        {"variable_selector": ["a", 1], "comparison_operator": "is"},
    ],
)
def test_parse_condition_malformed_raises(condition):
    with pytest.raises(ConditionInvalid):
        parse_condition(condition)
