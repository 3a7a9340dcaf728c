"""A latency is given for all rounds, for the round in the middle, and for the best."""

from bench._common import compute_latency, compute_percentile


QUICK, USUAL, SLOW = [1.0] * 20, [2.0] * 20, [9.0] * 20


def test_percentile_of_equal_values_is_that_value():
    assert (compute_percentile(USUAL, 50), compute_percentile(USUAL, 95)) == (2.0, 2.0)


def test_bar_is_judged_on_the_middle_round_and_the_slow_one_is_not_hidden():
    result = compute_latency([SLOW, QUICK, USUAL], 95)

    assert (result.best, result.median, result.total) == (1.0, 2.0, 9.0)


def test_line_has_the_columns_of_its_heads():
    assert compute_latency([SLOW, QUICK, USUAL], 95).format_columns().split() == [
        "9.00",
        "2.00",
        "1.00",
    ]
