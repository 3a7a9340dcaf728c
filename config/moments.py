"""Moments as the database keeps them and Python reads them again: at both ends of time it can't."""

from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone


FIRST_YEAR, LAST_YEAR = 1970, 9000


def kept(moment: datetime) -> datetime:
    """In UTC; without a zone it is the reader's time. ``ValueError`` outside the years we know."""
    aware = timezone.make_aware(moment) if timezone.is_naive(moment) else moment
    try:
        found = aware.astimezone(UTC)
    except OverflowError:
        raise ValueError(OUTSIDE) from None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ValueError(OUTSIDE)
    return found


def midnight(day: date, *, later: int = 0) -> datetime:
    """Where a day of the reader's begins, or the one so many days later. ``ValueError`` as above."""
    try:
        wanted = day + timedelta(days=later)
    except OverflowError:
        raise ValueError(OUTSIDE) from None
    return kept(datetime.combine(wanted, time.min))


OUTSIDE = f"A moment from {FIRST_YEAR} to {LAST_YEAR}."
