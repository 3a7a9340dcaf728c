"""Numbers of runs as people read them."""

import pytest
from django.utils import translation

from tests.support.cases import for_each
from workflows.templatetags.usage_numbers import (
    format_count,
    format_seconds,
    format_short_count,
)


@for_each(
    "seconds, text",
    [
        (None, "–"),
        (0.42, "420 ms"),
        (0.9996, "1.00 s"),
        (3.14, "3.14 s"),
        (3.149, "3.15 s"),
        (95.2, "1 min 35 s"),
        (3599, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (3725.4, "1 h 2 min"),
    ],
)
def test_duration_is_shown_in_units_that_fit(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_counts_are_grouped_alike_on_all_pages(language: str) -> None:
    with translation.override(language):
        texts = [format_count(8835), format_short_count(8835), format_count(1234567)]
        short = format_short_count(1_234_567)

    assert texts == ["8,835", "8,835", "1,234,567"]
    assert short == "1.2M"
