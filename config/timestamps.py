"""Converts times, and rejects those that the database or Python can't represent."""

from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone


FIRST_YEAR, LAST_YEAR = 1970, 9000
OUT_OF_RANGE = f"A timestamp from {FIRST_YEAR} to {LAST_YEAR}."


def to_utc(moment: datetime) -> datetime:
    """Convert a time to UTC; without a time zone it is in the current one. Raise ``ValueError`` outside the years below."""
    aware = timezone.make_aware(moment) if timezone.is_naive(moment) else moment
    try:
        in_utc = aware.astimezone(UTC)
    except OverflowError:
        raise ValueError(OUT_OF_RANGE) from None
    if not FIRST_YEAR <= in_utc.year <= LAST_YEAR:
        raise ValueError(OUT_OF_RANGE)
    return in_utc


def find_midnight(day: date, *, days_later: int = 0) -> datetime:
    """Return in UTC when the day, or a later one, begins in the current time zone. Raise as ``to_utc`` does."""
    try:
        target_day = day + timedelta(days=days_later)
    except OverflowError:
        raise ValueError(OUT_OF_RANGE) from None
    return to_utc(datetime.combine(target_day, time.min))
