"""A remembered value as its person reads it."""

from memory.core.records import Json
from memory.personal import format_value
from tests.support.cases import for_each


@for_each(
    "value, words",
    [
        ("She drinks tea.", "She drinks tea."),
        (1200, "1200"),
        (True, "yes"),
        (False, "no"),
        (None, "–"),
        ({}, "–"),
        ([], "–"),
        ([1, "two", False], "· 1\n· two\n· no"),
        (
            {"units": "metric", "languages": ["en", "fr"], "since": None},
            "units: metric\nlanguages: en, fr\nsince: –",
        ),
        ({"learnt": ["one " * 20, "two " * 10]}, f"learnt:\n  · {'one ' * 20}\n  · {'two ' * 10}"),
        ({"size": {"shoe": 39, "shirt": "M"}}, "size:\n  shoe: 39\n  shirt: M"),
        ([{"a": 1, "b": 2}], "· a: 1\n  b: 2"),
    ],
)
def test_value_reads_as_people_would_write_it_down(value: Json, words: str):
    assert format_value(value) == words
