"""The times of schedules: in their time zone, over changes of the clocks, and from Dify's visual settings."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.support.cases import for_each
from workflows.engine.triggers.recurrence import ScheduleInvalid, build_recurrence


def list_times(settings, after, count=3):
    times = build_recurrence(settings).iter_after(datetime.fromisoformat(after))
    return [next(times).isoformat() for _number in range(count)]


def cron(expression, zone="UTC"):
    return {"mode": "cron", "cron_expression": expression, "timezone": zone}


def visual(frequency, **config):
    return {"frequency": frequency, "visual_config": config, "timezone": "UTC"}


@for_each(
    "settings, after, times",
    [
        (
            cron("0 9 * * 1-5"),
            "2026-01-02T10:00+00:00",
            ["2026-01-05T09:00:00+00:00", "2026-01-06T09:00:00+00:00"],
        ),
        (
            cron("0 9 * * *", "Asia/Shanghai"),
            "2026-01-02T00:00+00:00",
            ["2026-01-02T01:00:00+00:00", "2026-01-03T01:00:00+00:00"],
        ),
        (
            cron("@daily"),
            "2026-01-02T10:00+00:00",
            ["2026-01-03T00:00:00+00:00", "2026-01-04T00:00:00+00:00"],
        ),
        (
            visual("hourly", on_minute=15),
            "2026-01-02T10:15+00:00",
            ["2026-01-02T11:15:00+00:00", "2026-01-02T12:15:00+00:00"],
        ),
        (
            visual("daily", time="9:30 PM"),
            "2026-01-02T10:00+00:00",
            ["2026-01-02T21:30:00+00:00", "2026-01-03T21:30:00+00:00"],
        ),
        (
            visual("weekly", time="12:00 AM", weekdays=["sun", "wed"]),
            "2026-01-02T10:00+00:00",
            ["2026-01-04T00:00:00+00:00", "2026-01-07T00:00:00+00:00"],
        ),
        (
            visual("monthly", time="07:05", monthly_days=[15, "last"]),
            "2026-02-01T10:00+00:00",
            ["2026-02-15T07:05:00+00:00", "2026-02-28T07:05:00+00:00"],
        ),
        (
            visual("monthly", time="07:05", monthly_days=[31]),
            "2026-02-01T10:00+00:00",
            ["2026-03-31T07:05:00+00:00", "2026-05-31T07:05:00+00:00"],
        ),
    ],
)
def test_times_follow_the_settings(settings, after, times):
    assert list_times(settings, after, 2) == times


def test_time_of_day_stays_the_same_when_the_clocks_change():
    assert list_times(cron("0 9 * * *", "Europe/Berlin"), "2026-03-28T00:00+00:00") == [
        "2026-03-28T08:00:00+00:00",
        "2026-03-29T07:00:00+00:00",
        "2026-03-30T07:00:00+00:00",
    ]


def test_skipped_time_of_day_comes_later_once():
    assert list_times(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00+00:00") == [
        "2026-03-29T01:30:00+00:00",
        "2026-03-30T00:30:00+00:00",
        "2026-03-31T00:30:00+00:00",
    ]


def test_skipped_time_of_day_is_found_from_after_the_change():
    assert list_times(cron("30 2 * * *", "Europe/Berlin"), "2026-03-29T01:10+00:00", 1) == [
        "2026-03-29T01:30:00+00:00"
    ]


def test_repeated_time_of_day_comes_once():
    assert list_times(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00+00:00") == [
        "2026-10-25T00:30:00+00:00",
        "2026-10-26T01:30:00+00:00",
        "2026-10-27T01:30:00+00:00",
    ]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_hours_go_on_while_the_clocks_change(day):
    times = list_times(cron("0 * * * *", "Europe/Berlin"), f"{day}T00:30+00:00", 4)

    assert times == [f"{day}T0{hour}:00:00+00:00" for hour in (1, 2, 3, 4)]


def test_next_time_is_after_the_given_one_by_a_full_period():
    recurrence = build_recurrence(cron("*/5 * * * *", "Australia/Lord_Howe"))

    moment = datetime(2026, 4, 4, 14, 0, tzinfo=UTC)  # the clocks go back by half an hour at 15:00
    times = [moment := recurrence.find_next(moment) for _number in range(24)]

    assert {(b - a).total_seconds() for a, b in pairwise(times)} == {300}


@for_each(
    "settings, field",
    [
        (cron(""), "cron_expression"),
        (cron("61 * * * *"), "cron_expression"),
        (cron("* * * * * *"), "cron_expression"),
        (cron("0 9 31 2 *"), "cron_expression"),
        (cron("0 9 * * *", "Europe/Atlantis"), "timezone"),
        (cron("0 9 * * *", "../etc/passwd"), "timezone"),
        (visual("yearly"), "frequency"),
        (visual("daily", time="25:00"), "visual_config.time"),
        (visual("daily", time="13:00 PM"), "visual_config.time"),
        (visual("weekly", weekdays=[]), "visual_config.weekdays"),
        (visual("monthly", monthly_days=[0]), "visual_config.monthly_days"),
        (visual("hourly", on_minute=60), "visual_config.on_minute"),
    ],
)
def test_settings_without_times_name_the_field_at_fault(settings, field):
    with pytest.raises(ScheduleInvalid) as invalid:
        build_recurrence(settings)

    assert invalid.value.field == field
