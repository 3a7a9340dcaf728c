"""The time tool at 2026-03-28 11:30 UTC, the day before the clocks of Berlin change."""

from typing import Any

import pytest

from tests.engine.tools.conftest import CallTool
from tests.support.cases import for_each


BERLIN = "Europe/Berlin"


@for_each("arguments, moment",
    [
        ({}, "2026-03-28T11:30:00+00:00"),
        ({"time_zone": "Asia/Shanghai"}, "2026-03-28T19:30:00+08:00"),
        ({"operation": "convert", "date": "2026-07-01T12:00", "time_zone": BERLIN, "to_time_zone": "Asia/Tokyo"},
         "2026-07-01T19:00:00+09:00"),
        ({"operation": "convert", "date": "2026-07-01T12:00+02:00"}, "2026-07-01T10:00:00+00:00"),
        ({"operation": "convert", "date": "1782900000", "to_time_zone": BERLIN}, "2026-07-01T12:00:00+02:00"),
        ({"operation": "add", "date": "2026-01-31", "months": 1}, "2026-02-28T00:00:00+00:00"),
        ({"operation": "add", "date": "2024-02-29", "years": 1}, "2025-02-28T00:00:00+00:00"),
        ({"operation": "add", "date": "2026-03-15", "months": -3}, "2025-12-15T00:00:00+00:00"),
        ({"operation": "add", "date": "today", "weeks": 1, "days": "-1"}, "2026-04-03T00:00:00+00:00"),
        # A day later is the same time of day; 24 hours later the clocks have changed.
        ({"operation": "add", "time_zone": BERLIN, "days": 1}, "2026-03-29T12:30:00+02:00"),
        ({"operation": "add", "time_zone": BERLIN, "hours": 24}, "2026-03-29T13:30:00+02:00"),
    ],
)  # fmt: skip
async def test_moment(call: CallTool, arguments: dict[str, Any], moment: str) -> None:
    result = await call("time", **arguments)

    assert result.data[0]["datetime"] == moment


async def test_answer_names_the_weekday_and_the_zone(call: CallTool) -> None:
    result = await call("time", time_zone=BERLIN)

    assert result.text == "2026-03-28T12:30:00+01:00 (Saturday, Europe/Berlin)"


@pytest.mark.parametrize(
    ("date", "other_date", "text", "seconds"),
    [
        ("2026-01-01", "2026-01-03T06:00", "2 days, 6 hours", 194_400),
        ("2026-01-03", "2026-01-01", "-2 days", -172_800),
        ("now", "now", "0 seconds", 0),
        ("2026-01-01T00:00+02:00", "2026-01-01T00:00+01:00", "1 hours", 3600),
    ],
)
async def test_difference(
    call: CallTool, date: str, other_date: str, text: str, seconds: int
) -> None:
    result = await call("time", operation="difference", date=date, other_date=other_date)

    assert (result.text, result.data[0]["seconds"]) == (text, seconds)


@for_each(
    "arguments, reason",
    [
        ({"time_zone": "Mars/Olympus"}, "There is no time zone 'Mars/Olympus'"),
        ({"time_zone": "../../etc/passwd"}, "There is no time zone"),
        ({"time_zone": "America"}, "There is no time zone"),
        ({"time_zone": "x" * 100_000}, "There is no time zone"),
        ({"operation": "convert", "date": "yesterday"}, "The date 'yesterday' can't be read"),
        ({"operation": "difference", "other_date": "31.12."}, "The other_date '31.12.'"),
        ({"operation": "add", "years": 9000}, "outside the years"),
        ({"operation": "add", "days": 9_999_999_999}, "outside the years"),
        ({"operation": "add", "months": -(10**10)}, "outside the years"),
        ({"operation": "add", "days": 10**30}, "days is not at most"),
        ({"operation": "add", "days": "soon"}, "days is not of type number"),
        ({"operation": "sleep"}, "operation is not one of"),
        ({"when": "now"}, "when is not allowed"),
    ],
)
async def test_what_can_not_be_read_is_named(
    call: CallTool, arguments: dict[str, Any], reason: str
) -> None:
    result = await call("time", **arguments)

    assert result.is_error
    assert reason in result.text
    assert len(result.text) < 500
