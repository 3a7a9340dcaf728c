"""Scores of answers."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.testing.scoring import SCORERS


@for_each(
    "scorer, answer, expected, score",
    [
        ("exact", " hi\n", "hi", 1),
        ("exact", "Hi", "hi", 0),
        ("exact", {"a": 1}, {"a": 1}, 1),
        ("contains", "Avoid Peanuts!", "peanuts", 1),
        ("contains", "Avoid peanuts", ["peanuts", "milk"], 0.5),
        ("json_subset", '```json\n{"a": 1, "b": {"c": 2}}\n```', {"b": {"c": 2}}, 1),
        ("json_subset", {"a": 1, "b": [1, 2]}, {"a": 2, "b": [1, 2]}, pytest.approx(2 / 3)),
        ("json_subset", "no", {"a": 1}, 0),
        ("json_subset", {"a": 1}, "no JSON", None),
        ("json_equal", '{"a": 1}', '{"a": 1}', 1),
        ("json_equal", {"a": 1, "b": 2}, {"a": 1}, 0),
        ("json_equal", [1], [1, 2], 0),
    ],
)
def test_scores(scorer: str, answer: Any, expected: Any, score: Any) -> None:
    assert SCORERS[scorer](answer, expected).value == score


def test_reason_names_what_is_missing_or_different() -> None:
    assert SCORERS["contains"]("milk", ["milk", "nuts"]).reason == "Missing: nuts"
    assert SCORERS["json_equal"]({"a": {"b": 1}}, {"a": {"b": 2}}).reason == "Different: a.b"
    assert SCORERS["json_equal"](1, 2).reason == "Different: the whole value"
