"""Times within the range that both the database and Python can represent."""

from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone


FIRST_YEAR, LAST_YEAR = 1970, 9000
OUTSIDE = f"A timestamp from {FIRST_YEAR} to {LAST_YEAR}."


def to_utc(moment: datetime) -> datetime:
    """Convert to UTC, from the current time zone if it has none. Raise ``ValueError`` outside the range of years."""
    aware = timezone.make_aware(moment) if timezone.is_naive(moment) else moment
    try:
        in_utc = aware.astimezone(UTC)
    except OverflowError:
        raise ValueError(OUTSIDE) from None
    if not FIRST_YEAR <= in_utc.year <= LAST_YEAR:
        raise ValueError(OUTSIDE)
    return in_utc


def find_midnight(day: date, *, later: int = 0) -> datetime:
    """Return the start of the day ``later`` days after ``day``, in the current time zone. Raise as ``to_utc`` does."""
    try:
        target_day = day + timedelta(days=later)
    except OverflowError:
        raise ValueError(OUTSIDE) from None
    return to_utc(datetime.combine(target_day, time.min))
