"""Reads the header ``Retry-After``, with which a server says how long it wants to be left alone."""

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import Final


MAX_SECONDS: Final = 86_400


def parse_retry_after(text: str, now: dt.datetime | None = None) -> float | None:
    """Return the seconds that the header says, as a number or as a date, or None if it says neither or more than a day."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        # A date without a zone is one of GMT, as the header's always are.
        date = date if date.tzinfo else date.replace(tzinfo=dt.UTC)
        seconds = max(0.0, (date - (now or dt.datetime.now(dt.UTC))).total_seconds())
    return seconds if 0 <= seconds <= MAX_SECONDS else None
