"""Compiling by rules: the sentences about a page's subject, and the report of those that no page has."""

import pytest

from memory.logic.wiki.passages import extract_passages


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("The red mill stands in Zug. It costs 7 euros.", ["The red mill stands in Zug.", "It costs 7 euros."]),
        ("The red mill is old. It turns. Its owner is Ana.", ["The red mill is old.", "It turns.", "Its owner is Ana."]),
        ("The red mill is old. Bern is far. It rains there.", ["The red mill is old."]),
        ("It is late.\nThe red mill is old.\nIt rains.", ["The red mill is old."]),
        ("The red mill is old. Items cost 7 euros.", ["The red mill is old."]),
    ],
)  # fmt: skip
def test_sentence_that_starts_with_a_pronoun_belongs_to_the_one_before(text, passages):
    assert extract_passages(text, ["Red mill"]) == passages


def test_pronouns_are_read_in_chinese():
    assert extract_passages("红磨坊在苏黎世。它要七欧元。今天下雨。", ["红磨坊"]) == [
        "红磨坊在苏黎世。",
        "它要七欧元。",
    ]
