import pytest

from memory.core.recall.literal_match import MAX_TEXTS_READ, limit_candidates, parse_question


INNER = [
    ("near the har", frozenset()),  # "the" tells nothing
    ("When did Mia see the harbour?", {"mia", "see"}),
    ("  harbour  ", frozenset()),
    ("上海", {"上", "海", "上海"}),
    ("2012年的", {"年", "年的"}),  # the number may be the end of a longer one
]


@pytest.mark.parametrize(("text", "inner"), INNER)
def test_inner_words_are_those_no_end_of_the_question_cuts(text: str, inner: set[str]) -> None:
    assert parse_question(text, "english").inner_terms == inner


def test_inner_words_decide_whose_texts_are_read():
    asked = parse_question("old red bicycle", "english")

    assert asked.choose_required_terms({"old": 1, "red": 9, "bicycl": 3}) == {"red"}


def test_rarest_word_decides_where_there_are_no_inner_ones():
    asked = parse_question("red bicycle", "english")

    assert asked.choose_required_terms({"red": 9, "bicycl": 3}) == {"bicycl"}
    assert asked.choose_required_terms({"red": 9, "bicycl": 0}) == {"red"}
    assert asked.choose_required_terms({}) == frozenset()


def test_more_texts_than_are_worth_it_are_not_read():
    assert limit_candidates(range(MAX_TEXTS_READ)) == list(range(MAX_TEXTS_READ))
    assert limit_candidates(range(MAX_TEXTS_READ + 1)) == []


def test_needle_is_found_whatever_its_case():
    assert parse_question(" STRASSE ", "german").is_in("Hauptstraße 5")
    assert not parse_question("   ", "english").is_in("anything")
