"""Lists and objects written into a prompt are read as data, whichever way they were printed."""

import json
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.steps import count_steps
from workflows.llm.offline.literals import find_opening, read_literal


HITS = [{"key": "k", "value": 'It\'s [not] a "bracket" }', "score": 0.5, "metadata": {}, "x": None}]


@pytest.mark.parametrize("text", [json.dumps(HITS), str(HITS), repr(HITS[0])])
def test_data_is_read_as_json_and_as_python_writes_it(text: str) -> None:
    found = read_literal(f"Context: {text} and more", len("Context: "))

    value = HITS if text.startswith("[") else HITS[0]
    assert found == (value, len("Context: ") + len(text))


@for_each(
    "text",
    [
        "[1, ...]",
        "{'a': ...}",
        "[{1, 2}]",
        "[b'x']",
        "{(1, 2): 3}",
        "[",
        "{]",
        "[Memory Context]",
        "{x}",
        "['open",
        "[__import__('os')]",
        "[" * 5000,
    ],
)
def test_what_is_no_data_is_left_as_text(text: str) -> None:
    assert read_literal(text, 0) is None


def test_next_opening_is_the_first_of_either() -> None:
    assert (find_opening("a {b [c", 0), find_opening("a {b [c", 3), find_opening("abc", 0)) == (
        2,
        5,
        None,
    )


def test_many_openings_cost_no_more_than_their_length() -> None:
    text: Any = "[1, " * 20_000
    with count_steps(len(text)):
        assert read_literal(text, 0) is None
