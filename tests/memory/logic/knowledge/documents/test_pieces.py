"""The pieces of a document: nothing is lost, nothing is too long, and the same text gives the same pieces."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.logic.knowledge.documents.pieces import LIMIT, TARGET, TINY, Piece, divide


WORD = st.text("abcdefgXYZ019äß手册休假", min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1, max_size=30).map(lambda words: " ".join(words) + ".")
CHINESE = st.text("员工每年有二十五天假期", min_size=1, max_size=3_000).map(
    lambda text: f"{text}。"
)
PARAGRAPH = st.lists(SENTENCE | CHINESE, min_size=1, max_size=12).map(" ".join)
HEADING = st.tuples(st.integers(1, 6), st.lists(WORD, min_size=1, max_size=40)).map(
    lambda pair: f"{'#' * pair[0]} {' '.join(pair[1])}"
)
CODE = st.lists(SENTENCE, min_size=0, max_size=40).map(
    lambda lines: "\n".join(["```text", *lines, "```"])
)
CELL = st.lists(WORD, max_size=40).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> str:
    width = draw(st.integers(1, 6))
    count = draw(st.integers(1, 40))
    cells = [[draw(CELL) for _column in range(width)] for _row in range(min(count, 8))]
    rows = [f"| {' | '.join(cells[number % len(cells)])} |" for number in range(count)]
    return "\n".join([rows[0], "|" + " --- |" * width, *rows[1:]])


TEXT = st.lists(
    st.one_of(PARAGRAPH, HEADING, CODE, tables(), st.just("\f"), st.just("a" * 5_000)), max_size=12
).map("\n\n".join)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def is_in_order(needles: list[str], hay: list[str]) -> bool:
    rest = iter(hay)
    return all(needle in rest for needle in needles)


@given(TEXT, st.booleans())
@settings(max_examples=60)
def test_all_words_are_in_the_pieces_in_their_order(text: str, has_headings: bool) -> None:
    pieces = divide(text, has_headings=has_headings)

    joined = "".join(piece.text for piece in pieces)
    characters = [c for c in text if c.isalnum()]
    rest = iter(joined)
    assert all(character in rest for character in characters)
    if not re.search(r"\w{500}|\|", text):
        assert is_in_order(words_of(text), words_of("\n".join(piece.text for piece in pieces)))


@given(TEXT, st.booleans())
@settings(max_examples=60)
def test_no_piece_is_empty_or_longer_than_the_limit(text: str, has_headings: bool) -> None:
    pieces = divide(text, has_headings=has_headings)

    assert all(0 < len(piece.text) <= LIMIT for piece in pieces)
    assert pieces == divide(text, has_headings=has_headings)


@given(st.text(max_size=3_000))
@settings(max_examples=40)
def test_any_text_can_be_divided(text: str) -> None:
    pieces = divide(text)

    assert all(piece.text.strip() and len(piece.text) <= LIMIT for piece in pieces)


def paths(pieces: tuple[Piece, ...]) -> list[str]:
    return [piece.heading for piece in pieces]


LONG = "One sentence of a section that has enough words to stand alone. " * 8


def test_each_section_is_a_piece_with_the_headings_above_it() -> None:
    text = f"{LONG}\n\n# Leave\n\n{LONG}\n\n## Vacation\n\n{LONG}\n\n## Illness\n\n{LONG}\n\n# Pay\n\n{LONG}"

    pieces = divide(text)

    assert paths(pieces) == ["", "Leave", "Leave › Vacation", "Leave › Illness", "Pay"]
    assert pieces[2].text.startswith("## Vacation\n\nOne sentence")


def test_long_section_is_divided_at_the_ends_of_its_paragraphs() -> None:
    paragraphs = [f"{number} {LONG}".strip() for number in range(5)]

    pieces = divide("# Leave\n\n" + "\n\n".join(paragraphs))

    assert [(piece.heading, piece.part) for piece in pieces] == [
        ("Leave", 1),
        ("Leave", 2),
        ("Leave", 3),
    ]
    assert [paragraph for piece in pieces for paragraph in piece.text.split("\n\n")] == [
        "# Leave",
        *paragraphs,
    ]
    assert all(len(piece.text) <= TARGET for piece in pieces)


def test_tiny_sections_are_joined_with_their_neighbors() -> None:
    text = "# Leave\n\n## A\n\nShort.\n\n## B\n\nShort.\n\n## C\n\nShort.\n\n# Pay\n\n" + LONG

    pieces = divide(text)

    assert paths(pieces) == ["Leave › A – C", "Pay"]
    assert len(pieces[0].text) < TINY


def test_pages_and_slides_that_are_joined_name_the_first_and_the_last() -> None:
    slides = "\n\n".join(f"## Slide {number}\n\nShort text." for number in range(1, 4))

    assert paths(divide("First page.\fSecond page.\fThird page.")) == ["p. 1 – p. 3"]
    assert paths(divide(slides)) == ["Slide 1 – Slide 3"]


def test_parts_of_a_table_have_whole_rows_and_its_head() -> None:
    head = "| Region | Amount |\n| --- | --- |"
    rows = [f"| Region {number} | {number * 1_000} |" for number in range(200)]

    pieces = divide(f"## Sales\n\n{head}\n" + "\n".join(rows))

    assert len(pieces) > 3
    tables = [piece.text.removeprefix("## Sales\n\n") for piece in pieces]
    assert all(table.startswith(f"{head}\n| Region ") for table in tables)
    assert [row for table in tables for row in table.split("\n")[2:]] == rows


def test_row_that_is_too_long_becomes_a_list_of_its_cells() -> None:
    table = f"| Name | Text |\n| --- | --- |\n| short | row |\n| long | {'word ' * 600}|\n| last | row |"

    texts = [piece.text for piece in divide(table)]

    assert texts[0].endswith("| short | row |\n\n- Name: long")
    assert any(text.startswith("- Text: word word") for text in texts)
    assert texts[-1].endswith("\n\n| Name | Text |\n| --- | --- |\n| last | row |")


def test_chinese_text_is_divided_at_its_own_sentence_ends() -> None:
    sentence = "员工每年有二十五天带薪假期，剩余的天数可以转到下一年。"

    pieces = divide(sentence * 200)

    assert len(pieces) > 2
    assert all(piece.text.endswith("。") for piece in pieces)


def test_code_is_cut_between_lines_and_stays_code() -> None:
    lines = [f"print({number})  # some code" for number in range(200)]

    pieces = divide("\n".join(["```python", *lines, "```"]))

    assert len(pieces) > 2
    assert all(piece.text.startswith("```python\n") for piece in pieces)
    assert all(piece.text.endswith("\n```") for piece in pieces)


@pytest.mark.parametrize("text", ["# a comment\nkey: value", "# one\n\n## two\n\nthree: 4"])
def test_lines_with_a_number_sign_are_no_headings_in_formats_without(text: str) -> None:
    (piece,) = divide(text, has_headings=False)

    assert piece.heading == ""


def test_heading_stays_with_the_text_below_it() -> None:
    text = "# A\n\n" + "\n\n".join([LONG] * 2 + ["# B", "word " * 350])

    pieces = divide(text)

    assert not any(piece.text.split("\n\n")[-1].startswith("#") for piece in pieces)
    assert all(len(one.text) + len(other.text) > TINY for one, other in pairwise(pieces))
