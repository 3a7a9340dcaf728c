"""What changed between two values: words where there are few, lines where there are many, and always in time."""

import time

import pytest

from memory.views.entries.differences import Piece, pieces_between


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("same", "same", [("same", "same")]),
        ("My cat.", "My dog.", [("same", "My "), ("gone", "cat"), ("new", "dog"), ("same", ".")]),
        ("我的猫", "我的狗", [("same", "我的"), ("gone", "猫"), ("new", "狗")]),
        ("", "new", [("new", "new")]),
        (
            {"a": 1},
            {"a": 2},
            [("same", '{\n  "a": '), ("gone", "1"), ("new", "2"), ("same", "\n}")],
        ),
        (None, "x", [("gone", "null"), ("new", "x")]),
    ],
)
def test_pieces_say_what_went_and_what_came(before, after, pieces):
    assert pieces_between(before, after) == tuple(Piece(*one) for one in pieces)


def test_what_is_the_same_for_long_is_left_out():
    text = "word " * 200

    found = pieces_between(f"{text}old", f"{text}new")

    assert [one.sign for one in found] == ["gap", "same", "gone", "new"]
    assert len(found[1].text) == 120


@pytest.mark.parametrize("word", ["x", "alpha beta"])
def test_large_values_are_compared_in_no_time(word):
    lines = [f"{word} {number % 7}\n" for number in range(40_000)]
    other = [*lines[:20_000], "changed\n", *lines[20_001:]]

    begun = time.monotonic()
    found = pieces_between("".join(lines), "".join(other))

    assert time.monotonic() - begun < 5
    assert Piece("new", "changed\n") in found
