"""Comparisons mark what differs, lose nothing of either version, and stay fast for large values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.records import Json
from memory.logic.text_diff import (
    ABSENT,
    DiffSegment,
    compare_sides,
    diff_values,
    get_editable_text,
    render_value,
    replace_text,
)
from tests.support.steps import count_steps


def marked(before: Json, after: Json) -> tuple[list[str], list[str]]:
    sides = compare_sides(before, after)
    assert sides.before is not None
    assert sides.after is not None
    return (
        [segment.text for segment in sides.before if segment.kind != "same"],
        [segment.text for segment in sides.after if segment.kind != "same"],
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
    assert compare_sides(ABSENT, "new").before is None
    gone = compare_sides("old", ABSENT)
    assert gone.after is None
    assert [segment.text for segment in gone.before or ()] == ["old"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_of_either_side_is_lost(before: str, after: str) -> None:
    sides = compare_sides(before, after)
    assert "".join(segment.text for segment in sides.before or ()) == before
    assert "".join(segment.text for segment in sides.after or ()) == after


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
    assert render_value(value) == lines
    assert get_editable_text(value) == text
    if text is not None:
        assert get_editable_text(replace_text(value, "other")) == "other"
        assert replace_text(value, text) == value


@pytest.mark.parametrize(
    ("before", "after", "segments"),
    [
        ("same", "same", [("same", "same")]),
        (
            "My cat.",
            "My dog.",
            [("same", "My "), ("removed", "cat"), ("added", "dog"), ("same", ".")],
        ),
        ("我的猫", "我的狗", [("same", "我的"), ("removed", "猫"), ("added", "狗")]),
        ("", "new", [("added", "new")]),
        (
            {"a": 1},
            {"a": 2},
            [("same", '{\n  "a": '), ("removed", "1"), ("added", "2"), ("same", "\n}")],
        ),
        (None, "x", [("removed", "null"), ("added", "x")]),
    ],
)
def test_segments_list_removals_and_additions(before, after, segments):
    assert diff_values(before, after) == tuple(DiffSegment(*segment) for segment in segments)


def test_long_unchanged_text_is_replaced_by_a_gap():
    text = "word " * 200

    segments = diff_values(f"{text}old", f"{text}new")

    assert [segment.kind for segment in segments] == ["gap", "same", "removed", "added"]
    assert len(segments[1].text) == 120


def test_lines_appended_to_many_leave_the_others_unmarked():
    before = "line\n" * 10_000

    segments = diff_values(before, f"{before}new\n")

    assert [segment.kind for segment in segments] == ["gap", "same", "added"]


MOST_STEPS = 2_000_000  # ten times what the longest takes


@pytest.mark.parametrize("word", ["x", "alpha beta"])
def test_large_values_are_compared_quickly(word):
    lines = [f"{word} {number % 7}\n" for number in range(40_000)]
    other = [*lines[:20_000], "changed\n", *lines[20_001:]]
    before, after = "".join(lines), "".join(other)

    with count_steps(MOST_STEPS):
        segments = diff_values(before, after)
        sides = compare_sides(before, after)
    assert DiffSegment("added", "changed\n") in segments
    assert DiffSegment("added", "changed\n") in (sides.after or ())


def test_long_words_side_by_side_are_compared_quickly():
    before = " ".join(f"word{number % 50}" for number in range(3_900 // 2))
    after = before.replace("word7", "other")

    with count_steps(MOST_STEPS):
        sides = compare_sides(before, after)
    assert "".join(segment.text for segment in sides.after or ()) == after
