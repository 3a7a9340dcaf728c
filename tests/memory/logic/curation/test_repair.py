"""JSON as models write it: read as it was meant, or refused, and never half of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import InvalidInput
from memory.logic.curation.repair import UnreadableAnswer, read_object
from tests.memory.logic.support import quick
from tests.support.cases import for_each


READ: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("plain", '{"summary": "ok"}', {"summary": "ok"}, []),
    ("spaces round it", '\n {"a": 1}\n', {"a": 1}, []),
    ("fenced", '```json\n{"a": 1}\n```', {"a": 1}, ["text around"]),
    ("prose round it", 'Sure! Here it is: {"a": 1} Hope it helps {x}.', {"a": 1}, ["text around"]),
    ("a comma behind the last", '{"a": [1, 2,], }', {"a": [1, 2]}, ["trailing comma"]),
    ("single quotes", "{'a': 'it's \"so\"'}", {"a": "it's \"so\""}, ["quotes", "' in a text"]),
    ("curly quotes", "{“a”: “b”}", {"a": "b"}, ["quotes"]),
    ("a quote in a text", '{"a": "he said "no" twice"}', {"a": 'he said "no" twice'}, ['" in a text']),
    ("names without quotes", "{a: 1, key_learnings: []}", {"a": 1, "key_learnings": []}, ["unquoted name"]),
    ("words of Python", "{'a': True, 'b': None}", {"a": True, "b": None}, ["quotes", "word"]),
    ("comments", '{"a": 1, // one\n "b": 2 /* two */}', {"a": 1, "b": 2}, ["comment"]),
    ("a line end in a text", '{"a": "one\ntwo"}', {"a": "one\ntwo"}, ["line end in a text"]),
    ("a missing comma", '{"a": "x"\n "b": ["y"\n"z"]}', {"a": "x", "b": ["y", "z"]}, ["missing comma"]),
    ("an escape that is none", r'{"a": "C:\dir"}', {"a": "C:dir"}, ["escape"]),
    ("a Chinese colon", '{"摘要"："好"，"b"：1}', {"摘要": "好", "b": 1}, ["colon", "comma"]),
    ("escaped pairs", r'x {"a": "\ud83d\ude00\u00e9"}', {"a": "😀é"}, ["text around"]),
    ("half of a pair", r'x {"a": "\ud83d!"}', {"a": "\ufffd!"}, ["text around", "escape"]),
    ("an escape that is cut short", r'x {"a": "\u12", "b": 1}', {"a": "\\u12", "b": 1}, ["text around", "escape"]),
    ("a number too large", "{a: 1e999, b: 1}", {"a": None, "b": 1}, ["unquoted name"]),
    ("a number that is none", '{"a": NaN}', {"a": None}, ["word"]),
    ("numbers", "{a: -1.5e3, b: .5, c: 7}", {"a": -1500.0, "b": 0.5, "c": 7}, ["unquoted name"]),
    ("cut in a text", '{"a": "x", "b": ["y", "z', {"a": "x", "b": ["y"]}, ["missing end"]),
    ("cut behind a text", '{"a": "x", "b": ["y", "z"', {"a": "x", "b": ["y", "z"]}, ["missing end"]),
    ("cut behind a name", '{"a": "x", "b"', {"a": "x"}, ["missing end"]),
    ("cut behind a colon", '{"a": "x", "b":', {"a": "x"}, ["missing end"]),
    ("cut in a number", '{"a": 1, "b": 12', {"a": 1}, ["missing end"]),
    ("cut in a word", '{"a": 1, "b": tru', {"a": 1}, ["missing end"]),
    ("cut in an escape", '{"a": 1, "b": "\\u00', {"a": 1}, ["missing end"]),
    ("cut behind a comma", '{"a": 1,', {"a": 1}, ["missing end"]),
    ("cut in a fence", '```json\n{"a": 1, "b": {"c": 2', {"a": 1, "b": {}}, ["text around", "missing end"]),
    ("braces in prose first", 'In {this} format: {"a": 1}', {"a": 1}, ["text around"]),
    ("an empty draft first", '{} then {"a": 1}', {"a": 1}, ["text around"]),
    ("two answers", '{"a": 1}\n{"a": 2}', {"a": 2}, ["text around"]),
]  # fmt: skip


@for_each("name, text, value, repairs", READ, ids=[row[0] for row in READ])
def test_answer_is_read(name: str, text: str, value: dict[str, Any], repairs: list[str]):
    found = read_object(text)

    assert found.value == value
    assert sorted(found.repairs) == sorted(repairs)


def test_answer_with_the_expected_names_wins_over_a_later_example():
    text = '{"summary": "real"} for example {"x": 1, "y": 2}'

    assert read_object(text, expected=frozenset({"summary"})).value == {"summary": "real"}


HOPELESS = [
    "",
    "I could not find anything.",
    "[1, 2]",
    '"text"',
    "{",
    "{}x",
    '{"a',
    "{a b c}",
    '{"a": @}',
    "{" * 200,
    '{"a":' * 200 + "1" + "}" * 200 + " bye",
    "x" * 400_001,
]


@for_each("text", HOPELESS, ids=range(len(HOPELESS)))
def test_hopeless_answer_is_refused(text: str):
    with pytest.raises(UnreadableAnswer):
        read_object(text)


def test_cut_answer_says_so():
    assert read_object('{"a": 1, "b": "cu').repairs == ("missing end",)
    assert read_object('{"a": 1}').repairs == ()


def test_refusal_belongs_to_the_family_of_memory_errors():
    assert issubclass(UnreadableAnswer, InvalidInput)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
OBJECTS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=6), JSON, min_size=1, max_size=4
)


@quick
@given(OBJECTS)
def test_json_is_read_as_json(value: dict[str, Any]):
    assert read_object(json.dumps(value)).value == value


@quick
@given(OBJECTS, st.sampled_from(["```json\n{}\n```", "Here: {} done"]))
def test_wrapped_json_is_read_as_json(value: dict[str, Any], wrapping: str):
    text = wrapping.replace("{}", json.dumps(value, ensure_ascii=False))

    assert value in (read_object(text).value, read_object(text, expected=frozenset(value)).value)


TEXTS = st.lists(st.sampled_from(["one thing", 'it\'s 3 "pm"', "猫", "a, b: {c} [d]"]), max_size=3)
ANSWERS = st.fixed_dictionaries(
    {"summary": st.just("Done well."), "key_learnings": TEXTS, "tags": TEXTS}
)


@quick
@given(ANSWERS, st.integers(0, 300))
def test_what_is_left_of_a_cut_answer_was_really_said(value: dict[str, Any], length: int):
    """seed 1, spec §8: broken JSON is repaired or reported, never half-stored."""
    text = json.dumps(value, ensure_ascii=False)[:length]
    try:
        found = read_object(text).value
    except UnreadableAnswer:
        return

    for name, said in found.items():
        assert said == value[name] or said == value[name][: len(said)]


@quick
@given(st.text(alphabet="{}[]\"':,abc 1\\\n“”", max_size=60))
def test_any_text_is_read_or_refused(text: str):
    try:
        found = read_object(text)
    except UnreadableAnswer:
        return
    assert isinstance(found.value, dict)
    json.dumps(found.value)
