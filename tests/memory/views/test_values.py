"""Values as lists show them: one line each, with what a person would call them."""

import pytest
from django.utils import translation

from memory.core.records import Json, Tier
from memory.templatetags.memory_values import as_one_line, tier_label, translate_reason
from tests.support.cases import for_each


PAGE = {"id": "tea", "title": "Tea", "summary": "How we\nmake it.", "content": "# How", "tags": []}


@for_each(
    "value, shown",
    [
        ("two\nlines", "two lines"),
        (PAGE, "Tea · How we make it."),
        ({**PAGE, "summary": ""}, "Tea · # How"),
        ({**PAGE, "summary": "", "content": ""}, "Tea"),
        ({"role": "user", "content": "Hello\nthere"}, "Hello there"),
        (
            {"role": "assistant", "content": "", "calls": ["f"]},
            'role: assistant · content:  · calls: ["f"]',
        ),
        ({"theme": "dark", "备注": {"n": 1}}, 'theme: dark · 备注: {"n": 1}'),
        (["茶", 2], "茶 · 2"),
        ({}, "{}"),
        ([], "[]"),
        (None, "null"),
        (0.5, "0.5"),
    ],
)
def test_value_in_a_list_is_one_line_people_can_read(value: Json, shown: str) -> None:
    assert as_one_line(value) == shown


def test_tier_is_told_in_words_and_none_by_a_dash() -> None:
    assert [tier_label(one) for one in (Tier.WORKING, "long_term", "", None)] == [
        "Working",
        "Long-term",
        "–",
        "–",
    ]


@pytest.mark.parametrize(("reason", "shown"), [("Undone", "已撤销"), ("He moved", "He moved")])
def test_reason_of_the_product_is_in_the_language_of_the_reader(reason: str, shown: str) -> None:
    with translation.override("zh-hans"):
        assert translate_reason(reason) == shown
