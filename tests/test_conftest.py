"""What holds for every test."""

from hypothesis import HealthCheck, settings


def test_examples_have_no_limit_of_wall_clock_time_and_are_the_same_each_day() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check
    assert settings().derandomize
    assert settings().print_blob
