from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import for_each
from workflows.engine.errors import VariableNotFound
from workflows.engine.language.variables import MISSING, VariablePool


def pool():
    filled = VariablePool(
        system={"query": "Q"}, environment={"key": "E"}, conversation={"c": 1, "o": {"a": None}}
    )
    filled.set_outputs("n", {"out": {"deep": {"er": 5}}, "null": None, "list": [{"a": 1}]})
    filled.set_outputs(
        "f", {"file": {"type": "image", "transfer_method": "local_file", "filename": "a.png"}}
    )
    return filled


@for_each(
    "selector, expected",
    [
        (["sys", "query"], "Q"),
        (["env", "key"], "E"),
        (["conversation", "c"], 1),
        (["conversation", "o", "a"], None),
        (["n", "null"], None),
        (["n", "out", "deep", "er"], 5),
        (["n", "out", "deep", "gone"], MISSING),
        (["n", "out", "deep", "er", "x"], MISSING),
        (["n", "list", "0"], MISSING),
        (["n", "null", "x"], MISSING),
        (["n"], MISSING),
        ([], MISSING),
        (["ghost", "x"], MISSING),
        (["f", "file", "name"], "a.png"),
        (["f", "file", "size"], None),
        (["f", "file", "filename"], MISSING),
        (["f", "file", "name", "x"], MISSING),
    ],
)
def test_get_selector_gives_value(selector, expected):
    assert pool().get(selector) is expected or pool().get(selector) == expected


def test_require_unknown_selector_names_it():
    with pytest.raises(VariableNotFound, match=r"Variable ghost\.x not found"):
        pool().require(["ghost", "x"])


def test_copy_changed_leaves_original():
    original = pool()

    twin = original.copy()
    twin.set(("conversation", "c"), 2)
    twin.set_outputs("new", {"x": 1})
    twin.discard(["n"])

    assert original.get(("conversation", "c")) == 1
    assert ("new", "x") not in original
    assert ("n", "out") in original
    assert twin.get(("conversation", "c")) == 2


def test_get_system_variable_by_its_name_as_an_output_of_start():
    subject = VariablePool(system={"query": "hi"})
    subject.set(("start", "q"), "x")

    assert subject.get(("start", "sys.query")) == "hi"
    assert subject.get(("start", "sys.no")) is MISSING
    assert subject.get(("start", "query")) is MISSING


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(
    writes=st.lists(st.tuples(NAMES, NAMES, VALUES), max_size=8),
    selector=st.lists(NAMES, min_size=2, max_size=5),
)
def test_get_after_any_writes_equals_nested_dicts(writes, selector):
    subject = VariablePool()
    oracle: dict[str, dict[str, Any]] = {}
    for head, name, value in writes:
        subject.set((head, name), value)
        oracle.setdefault(head, {})[name] = value

    value = oracle
    for part in selector:
        value = value[part] if isinstance(value, dict) and part in value else MISSING

    assert subject.get(selector) == value
