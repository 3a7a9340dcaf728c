"""What the database keeps and Python reads again, whatever the zone."""

from datetime import UTC, date, datetime

import pytest
from django.utils import timezone

from config.timestamps import find_midnight, to_utc
from tests.support.cases import for_each


@for_each(
    "text, found",
    [
        ("2026-11-22T12:00:00+02:00", datetime(2026, 11, 22, 10, tzinfo=UTC)),
        ("1970-01-01T00:00:00+00:00", datetime(1970, 1, 1, tzinfo=UTC)),
        ("9000-12-31T23:59:59+00:00", datetime(9000, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("1970-01-01T00:00:00+14:00", None),
        ("9001-01-01T00:00:00+00:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:00:00-14:00", None),
        ("9999-12-31T23:00:00", None),
    ],
)
def test_kept_is_the_same_moment_or_refused(text: str, found: datetime | None):
    moment = datetime.fromisoformat(text)
    if found is None:
        with pytest.raises(ValueError, match="1970"):
            to_utc(moment)
    else:
        assert to_utc(moment) == found


def test_midnight_is_of_the_readers_day_and_refused_at_the_end_of_time():
    with timezone.override("Asia/Shanghai"):
        assert find_midnight(date(2026, 11, 22)) == datetime(2026, 11, 21, 16, tzinfo=UTC)
        assert find_midnight(date(2026, 11, 22), days_later=1) == datetime(
            2026, 11, 22, 16, tzinfo=UTC
        )
    for day in (date.max, date.min):
        with pytest.raises(ValueError, match="1970"):
            find_midnight(day, days_later=1)
