"""Two states of a value, word by word: what is marked is what differs, and nothing of either is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.records import Json
from memory.logic.text_diff import NOTHING, as_lines, beside, editable, rewritten


def marked(before: Json, after: Json) -> tuple[list[str], list[str]]:
    found = beside(before, after)
    assert found.before is not None
    assert found.after is not None
    return (
        [piece.text for piece in found.before if piece.is_changed],
        [piece.text for piece in found.after if piece.is_changed],
    )


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        ("Bob lives in Berlin", "Bob lives in Lyon", ["Berlin"], ["Lyon"]),
        ("the same", "the same", [], []),
        ("Bob lives in Lyon", "Bob lives in Lyon, France", [], [", France"]),
        ("爱丽丝现在住在里昂", "爱丽丝现在住在巴黎", ["里昂"], ["巴黎"]),
        ("one thing", "quite another", ["one thing"], ["quite another"]),
        ({"learnings": ["Tea at four"]}, {"learnings": ["Tea at five"]}, ["four"], ["five"]),
        (None, 3, ["null"], ["3"]),
    ],
)
def test_words_that_differ_are_marked(
    before: Json, after: Json, gone: list[str], new: list[str]
) -> None:
    assert marked(before, after) == (gone, new)


def test_what_comes_or_goes_has_nothing_on_the_other_side() -> None:
    assert beside(NOTHING, "new").before is None
    gone = beside("old", NOTHING)
    assert gone.after is None
    assert [piece.text for piece in gone.before or ()] == ["old"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_of_either_side_is_lost(before: str, after: str) -> None:
    found = beside(before, after)
    assert "".join(piece.text for piece in found.before or ()) == before
    assert "".join(piece.text for piece in found.after or ()) == after


@pytest.mark.parametrize(
    ("value", "lines", "text"),
    [
        ("plain", "plain", "plain"),
        ({"learnings": ["wrapped"]}, "wrapped", "wrapped"),
        ({"summary": "s", "solutions": ["a", "b"]}, "summary: s\nsolutions:\n– a\n– b", None),
        ({"said": "x", "times": 2}, "said: x\ntimes: 2", None),
        ([1, 2], "[\n  1,\n  2\n]", None),
        ({}, "{}", None),
    ],
)
def test_value_is_read_as_lines_and_changed_as_text_where_it_is_one(
    value: Json, lines: str, text: str | None
) -> None:
    assert as_lines(value) == lines
    assert editable(value) == text
    if text is not None:
        assert editable(rewritten(value, "other")) == "other"
        assert rewritten(value, text) == value
