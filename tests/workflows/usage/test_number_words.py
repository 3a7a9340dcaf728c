"""Numbers of runs as people read them."""

import pytest

from workflows.templatetags.usage_numbers import format_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.42, "420 ms"),
        (3.14, "3.14 s"),
        (95.2, "1 min 35 s"),
        (3599, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (3725.4, "1 h 2 min"),
    ],
)
def test_duration_is_shown_in_units_that_fit(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text
