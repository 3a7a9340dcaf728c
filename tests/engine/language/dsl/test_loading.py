"""Hostile and doubtful texts: refused quickly, or read without surprises."""

import json
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.process_use import measure_growth
from tests.support.steps import count_steps
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Position
from workflows.engine.language.dsl import build_tree, load_document
from workflows.engine.language.dsl.loading import load_tree


def yaml_anchors():
    levels = ["a0: &a0 [x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    return "\n".join(levels)


def merge_keys():
    levels = ["m0: &m0 {k: v}"]
    levels += [f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 9)}]" for i in range(1, 10)]
    return "\n".join(levels)


# name, text, code of the refusal
HOSTILE = [
    ("anchors", yaml_anchors(), "too_many"),
    ("merge bomb", merge_keys(), "merge"),
    ("alias inside its value", "a: &a [*a]", "alias"),
    ("alias without an anchor", "a: *b", "alias"),
    (
        "alias of a deep value",
        "a: &a " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 20 + "*a" + "]" * 20,
        "too_deep",
    ),
    ("empty lists", "a: [" + ",".join(["[]"] * 300_000) + "]", "too_many"),
    ("json empty lists", '{"a": [' + ",".join(["[]"] * 300_000) + "]}", "too_many"),
    ("merge key", "a: {<<: {b: 1}}", "merge"),
    ("yaml depth", "[" * 400_000, "too_deep"),
    ("yaml block depth", "\n".join(" " * i + "a:" for i in range(60)), "too_deep"),
    ("yaml map depth", "{a: " * 200_000, "too_deep"),
    ("yaml dash depth", "- " * 400_000, "too_deep"),
    ("json depth", '{"a":' * 150_000, "too_deep"),
    ("json moderate depth", '{"a":' * 60 + "1" + "}" * 60, "too_deep"),
    ("size", "a: " + "x" * 1_000_001, "too_large"),
    ("bytes size", ("a: " + "é" * 600_000).encode(), "too_large"),
    ("text size in bytes", "a: " + "é" * 600_000, "too_large"),
    ("yaml duplicates", "a: 1\nb: {c: 1, c: 2}", "duplicate_key"),
    ("json duplicates", '{"a": {"b": 1, "b": 2}}', "duplicate_key"),
    ("yaml nan", "a: .nan", "float"),
    ("yaml infinity", "a: -.inf", "float"),
    ("json nan", '{"a": NaN}', "float"),
    ("json infinity", '{"a": -Infinity}', "float"),
    ("json large float", '{"a": 1e999}', "float"),
    ("yaml nul", 'a: "\\0"', "nul"),
    ("json nul", '{"a": "\\u0000"}', "nul"),
    ("json nul key", '{"\\u0000": 1}', "nul"),
    ("json surrogate", '{"a": "\\ud800"}', "surrogate"),
    ("text surrogate", "a: \ud800", "surrogate"),
    ("yaml integer", "a: 1" + "0" * 30, "integer"),
    ("json integer", '{"a": -1' + "0" * 30 + "}", "integer"),
    ("endless integer", "a: " + "9" * 500_000, "integer"),
    ("hexadecimal", "a: 0x" + "f" * 200_000, "integer"),
    ("python tag", "a: !!python/object/apply:os.system [id]", "tag"),
    ("own tag", "a: !env SECRET", "tag"),
    ("two documents", "a: 1\n---\nb: 2", "several"),
    ("complex key", "? [a]\n: 1", "key"),
    ("list", "[1, 2]", "not_a_mapping"),
    ("text", "hello", "not_a_mapping"),
    ("empty", "", "not_a_mapping"),
    ("json list", "[]", "not_a_mapping"),
    ("not utf-8", b"a: \xff", "encoding"),
    ("broken", "a: {b: [1,\nc", "yaml"),
    ("tabs", "a:\n\t- b", "yaml"),
    ("control character", "a: \x01", "yaml"),
]


STEPS = 12_000_000  # twelve for each character that a document may have


@for_each("text, code", [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_load_hostile_text_is_refused_at_once(text, code):
    with measure_growth() as growth, count_steps(STEPS), pytest.raises(DocumentInvalid) as refused:
        load_tree(text)

    assert refused.value.problems[0].code == f"document.{code}"
    assert growth.kilobytes < 100_000


def test_load_alias_repeats_the_value_of_its_anchor():
    tree = load_tree("a: &a {x: [1, &t two]}\nb: *a\nc: [*t, *a]\n")

    assert tree == {
        "a": {"x": [1, "two"]},
        "b": {"x": [1, "two"]},
        "c": ["two", {"x": [1, "two"]}],
    }
    assert tree["a"] is not tree["b"]


def test_load_largest_document_is_quick():
    rows = "\n".join(f"- {{id: n{i}, data: {{type: end, text: {'x' * 60}}}}}" for i in range(9000))
    with count_steps(STEPS), pytest.raises(DocumentInvalid, match="500 nodes"):
        load_document("version: 0.1.0\nnodes:\n" + rows)


@pytest.mark.parametrize(
    "build",
    [
        lambda: {"a": float("nan")},
        lambda: {"a": 10**30},
        lambda: {1: "a"},
        lambda: {"a": {1, 2}},
        lambda: {"a": "\0"},
        lambda: {"a": ["x" * 600_000, "y" * 600_000]},
    ],
)
def test_load_tree_of_values_is_held_to_the_same_rules(build):
    with pytest.raises(DocumentInvalid):
        load_tree(build())


def test_load_tree_that_contains_itself_ends():
    circle: dict[str, Any] = {}
    circle["a"] = circle

    with pytest.raises(DocumentInvalid, match="40 levels"):
        load_tree(circle)


@for_each(
    "written, read",
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("1:30:45", "1:30:45"),
        ("2026-11-22", "2026-11-22"),
        ("2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        ("0o17", "0o17"),
        ("0.6.0", "0.6.0"),
        ("=", "="),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("12", 12),
        ("-7", -7),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("1.0e+3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_load_yaml_scalar_is_what_its_author_saw(written, read):
    value = load_tree(f"a: {written}")["a"]

    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize(
    "text", ['{"a": [1, {"b": null}]}', "{a: [1, {b: null}]}", "\ufeffa: [1, {b: }]"]
)
def test_load_json_and_yaml_give_the_same_tree(text):
    assert load_tree(text) == {"a": [1, {"b": None}]}
    assert load_tree(text.encode()) == {"a": [1, {"b": None}]}


def test_load_yaml_keys_are_texts():
    assert load_tree("1: a\ntrue: b\n'<<': c") == {"1": "a", "true": "b", "<<": "c"}


def test_load_syntax_error_names_yaml_and_the_place():
    with pytest.raises(DocumentInvalid, match=r"YAML.*line 2, column 2"):
        load_tree("a: [1,\n]]")


def test_load_result_is_a_copy_of_a_given_tree():
    given = {"a": [{"b": 1}]}

    read = load_tree(given)
    read["a"][0]["b"] = 2

    assert given == {"a": [{"b": 1}]}
    assert json.dumps(read) == '{"a": [{"b": 2}]}'


@pytest.mark.parametrize("value", [1e308, -1e308, 1_000_001])
@pytest.mark.parametrize("version", ["0.1.0", ""])
def test_coordinates_that_cannot_be_drawn_are_kept_aside(value: float, version: str) -> None:
    node = {"id": "a", "data": {"type": "start", "variables": []},
            "position": {"x": 0, "y": value}, "width": value}  # fmt: skip
    tree: dict[str, Any] = {"version": version, "nodes": [node], "edges": []}
    if not version:
        tree = {"app": {"mode": "workflow"}, "kind": "app", "version": "0.3.0",
                "workflow": {"graph": {"nodes": [node], "edges": []}}}  # fmt: skip

    document = load_document(tree).document

    (spec,) = document.nodes
    assert (spec.position, spec.width) == (Position(), None)
    assert load_document(build_tree(document)).document == document
