"""What a bench says of its rounds: all of them, the one in the middle, and the best."""

from bench._common import latency, percentile


QUICK, USUAL, SLOW = [1.0] * 20, [2.0] * 20, [9.0] * 20


def test_percentile_of_equal_values_is_that_value():
    assert (percentile(USUAL, 50), percentile(USUAL, 95)) == (2.0, 2.0)


def test_bar_is_judged_on_the_middle_round_and_the_slow_one_is_not_hidden():
    found = latency([SLOW, QUICK, USUAL], 95)

    assert (found.best, found.middle, found.every) == (1.0, 2.0, 9.0)


def test_line_has_the_columns_of_its_heads():
    assert latency([SLOW, QUICK, USUAL], 95).line().split() == ["9.00", "2.00", "1.00"]
