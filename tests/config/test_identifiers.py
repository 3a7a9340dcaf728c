"""Identifiers of any text: one spelling of each, and one escaped form of each."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.ids import escape, is_identifier, normalize_identifier, unescape
from tests.support.cases import for_each


ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
# Characters that an escape has to tell apart, often next to each other.
AWKWARD = st.text(st.sampled_from(":%%25aA0\u0300\u0301é́甲 \t\n\u200b\u00a0\x00Ａ"), max_size=12)
TEXTS = ENCODABLE | AWKWARD


@for_each(
    "text, escaped",
    [
        ("用户甲", "用户甲"),
        ("项目:甲", "项目%3A甲"),
        ("a%3Ab", "a%253Ab"),
        ("Zoë Smith", "Zoë%20Smith"),
        ("admin\u200b", "admin%E2%80%8B"),
        ("a/b?c#d", "a/b?c#d"),
        (":\u0300", "%3A%CC%80"),  # or the accent and the A would be one letter
        ("zoe@example.org", "zoe@example.org"),
    ],
)
def test_id_is_written_as_people_read_it_but_for_what_would_deceive(
    text: str, escaped: str
) -> None:
    assert (escape(text), unescape(escaped), is_identifier(text)) == (escaped, text, True)


@given(TEXTS)
def test_escaped_id_is_read_back_and_has_neither_colons_nor_spaces(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not any(one == ":" or one.isspace() for one in escape(text))
    normalized = normalize_identifier(text)
    assert normalize_identifier(escape(normalized)) == escape(normalized)


@given(TEXTS, TEXTS)
def test_two_ids_are_never_one_and_one_is_never_two(first: str, second: str) -> None:
    assert (escape(first) == escape(second)) == (first == second)
    same = (
        unicodedata.normalize("NFC", first).strip() == unicodedata.normalize("NFC", second).strip()
    )
    assert (normalize_identifier(first) == normalize_identifier(second)) == same


@given(TEXTS)
def test_normalizing_twice_is_normalizing_once(text: str) -> None:
    once = normalize_identifier(text)

    assert normalize_identifier(once) == once
    assert normalize_identifier(f"\n {unicodedata.normalize('NFD', text)} ") == once


@given(TEXTS)
def test_only_what_escape_writes_is_read(text: str) -> None:
    try:
        identifier = unescape(text)
    except ValueError:
        return
    assert escape(identifier) == text


@for_each("text", ["%", "%2", "%3a", "%41", "a:b", "a b", "%E4", "%ED%A0%80", "%zz"])
def test_text_that_is_no_escaped_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an escaped identifier"):
        unescape(text)


LOOK_ALIKES = [
    ("admin", "аdmin"),
    ("A", "Ａ"),
    ("Zoe", "zoe"),
    ("①", "1"),
    ("ﬁ", "fi"),
    ("a b", "a\u00a0b"),
]


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_ids_that_look_alike_are_two_people(one: str, other: str) -> None:
    assert normalize_identifier(one) != normalize_identifier(other)


@for_each(
    "text", ["", " ", " a", "a\n", "e\u0301", "a\x00b", "\ud800", "x" * 81, "%" * 27, ": " * 14]
)
def test_what_is_no_normalized_id_of_eighty_characters_is_none(text: str) -> None:
    assert not is_identifier(text)


@pytest.mark.parametrize("text", ["甲" * 80, "%" * 26, "x" * 80, "👩‍🚀"])
def test_eighty_characters_are_enough(text: str) -> None:
    assert is_identifier(text)
