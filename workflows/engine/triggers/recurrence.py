"""The times of a schedule: cron expressions in a time zone, and Dify's visual settings, which become such an expression.

A time of day that a change of the clocks skips comes later by the change, once. A time of day that comes twice counts
the first time, but an expression for every hour, or every so many, goes on in both hours.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from workflows.engine.language.document import Json


WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LAST_DAY: Final = "last"
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?:\s*([AaPp])\.?[Mm]\.?)?")
_FIELDS: Final = 5
# No change of the clocks is longer.
_LONGEST_CHANGE: Final = timedelta(hours=3)


class ScheduleInvalid(ValueError):
    """The settings name no schedule. The message says which one is at fault."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A cron expression of five fields, and the time zone in which it is read."""

    expression: str
    zone: ZoneInfo

    def find_next(self, after: datetime) -> datetime:
        """Return the first time after this one, in UTC."""
        return next(self.iter_after(after))

    def iter_after(self, after: datetime) -> Iterator[datetime]:
        """Yield the times after this one in their order, in UTC."""
        moment = after.astimezone(UTC)
        find = self._find_next_elapsed if self._is_of_every_hour else self._find_next_by_clock
        while True:
            moment = find(moment)
            yield moment

    @property
    def _is_of_every_hour(self) -> bool:
        return self.expression.split()[1].startswith("*")

    def _find_next_by_clock(self, after: datetime) -> datetime:
        clock = after.astimezone(self.zone).replace(tzinfo=None)
        # From earlier on, because a skipped time of day comes later than the clock says.
        candidates = croniter(self.expression, clock - _LONGEST_CHANGE)
        while True:
            day: datetime = candidates.get_next(datetime)
            moment = day.replace(tzinfo=self.zone).astimezone(UTC)
            if moment > after:
                return moment

    def _find_next_elapsed(self, after: datetime) -> datetime:
        """Return the next time as if the clocks never changed, or find it after their next change."""
        offset = self._get_offset(after)
        clock = (after + offset).replace(tzinfo=None)
        day: datetime = croniter(self.expression, clock).get_next(datetime)
        moment = (day - offset).replace(tzinfo=UTC)
        if self._get_offset(moment) == offset:
            return moment
        change = self._find_change(after, moment)
        later = self._get_offset(change)
        # The change itself may be a time, which is why the search begins just before it.
        start = (change + later).replace(tzinfo=None) - timedelta(seconds=1)
        day = croniter(self.expression, start).get_next(datetime)
        return (day - later).replace(tzinfo=UTC)

    def _find_change(self, before: datetime, after: datetime) -> datetime:
        """Return the first minute with the later one's offset, of two times with different offsets."""
        offset = self._get_offset(before)
        low, high = int(before.timestamp()) // 60, int(after.timestamp()) // 60
        while high - low > 1:
            middle = (low + high) // 2
            same = self._get_offset(datetime.fromtimestamp(middle * 60, UTC)) == offset
            low, high = (middle, high) if same else (low, middle)
        return datetime.fromtimestamp(high * 60, UTC)

    def _get_offset(self, moment: datetime) -> timedelta:
        return moment.astimezone(self.zone).utcoffset() or timedelta()


def build_recurrence(settings: Mapping[str, Json]) -> Recurrence:
    """Return the schedule of a node with this data. Raises ScheduleInvalid."""
    mode = settings.get("mode") or "visual"
    expression = (
        _read_expression(settings.get("cron_expression"))
        if mode == "cron"
        else build_expression(settings.get("frequency"), settings.get("visual_config"))
    )
    return Recurrence(expression, read_zone(settings.get("timezone") or "UTC"))


def read_zone(name: Json) -> ZoneInfo:
    if not isinstance(name, str):
        raise ScheduleInvalid("Enter a time zone, such as Europe/Berlin", "timezone")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        message = f"There is no time zone {name[:60]}. Use a name such as Europe/Berlin."
        raise ScheduleInvalid(message, "timezone") from error


def build_expression(frequency: Json, visual_config: Json) -> str:
    """Return the cron expression for Dify's visual settings."""
    config = visual_config if isinstance(visual_config, Mapping) else {}
    name = frequency or "daily"
    if not isinstance(name, str):
        raise ScheduleInvalid("Choose a frequency", "frequency")
    if name not in _BUILDERS:
        raise ScheduleInvalid(f"There is no frequency {name[:40]}", "frequency")
    return _BUILDERS[name](config)


def _read_expression(value: Json) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise ScheduleInvalid("Enter a cron expression, such as 0 9 * * 1-5", "cron_expression")
    try:
        if not text.startswith("@") and len(text.split()) != _FIELDS:
            message = "A cron expression has five parts: minute, hour, day, month, weekday"
            raise ScheduleInvalid(message, "cron_expression")
        parts = croniter.expand(text)[0]
        croniter(text, datetime(2024, 1, 1)).get_next(datetime)  # noqa: DTZ001  # a time of a clock
    except (CroniterError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, ScheduleInvalid):
            raise
        message = f"This cron expression names no time: {text[:80]}"
        raise ScheduleInvalid(message, "cron_expression") from error
    return _expand_alias(text, parts)


def _expand_alias(text: str, parts: Sequence[Sequence[Any]]) -> str:
    """Return the five parts of a word such as @daily."""
    if not text.startswith("@"):
        return text
    return " ".join(",".join(map(str, part)) for part in parts[:_FIELDS])


def _read_clock(config: Mapping[str, Json]) -> tuple[int, int]:
    """Return hour and minute of a text such as 9:30 PM or 21:30."""
    value = config.get("time") or "12:00 AM"
    if not isinstance(value, str):
        raise ScheduleInvalid("Enter a time of day, such as 9:30 PM", "visual_config.time")
    text = value.strip()
    match = _CLOCK.fullmatch(text)
    hour, minute = (int(match[1]), int(match[2])) if match else (-1, -1)
    half = (match[3] or "").lower() if match else ""
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    elif half:
        hour = -1
    if not (0 <= hour < 24 and 0 <= minute < 60):
        raise ScheduleInvalid(f"{text[:20]} is no time of day", "visual_config.time")
    return hour, minute


def _build_hourly(config: Mapping[str, Json]) -> str:
    minute = config.get("on_minute") or 0
    if not isinstance(minute, int) or not 0 <= minute < 60:
        raise ScheduleInvalid("The minute is a number from 0 to 59", "visual_config.on_minute")
    return f"{minute} * * * *"


def _build_daily(config: Mapping[str, Json]) -> str:
    hour, minute = _read_clock(config)
    return f"{minute} {hour} * * *"


def _build_weekly(config: Mapping[str, Json]) -> str:
    hour, minute = _read_clock(config)
    names = [str(day).strip().lower()[:3] for day in _list(config.get("weekdays"))]
    if not names or not set(names) <= set(WEEKDAYS):
        message = f"Choose weekdays from: {', '.join(WEEKDAYS)}"
        raise ScheduleInvalid(message, "visual_config.weekdays")
    numbers = sorted({WEEKDAYS.index(name) for name in names})
    return f"{minute} {hour} * * {','.join(map(str, numbers))}"


def _build_monthly(config: Mapping[str, Json]) -> str:
    hour, minute = _read_clock(config)
    days = {str(day).strip().lower() for day in _list(config.get("monthly_days"))}
    numbers = sorted(int(day) for day in days if day.isascii() and day.isdigit())
    is_valid = len(numbers) + (LAST_DAY in days) == len(days) and all(1 <= n <= 31 for n in numbers)
    if not days or not is_valid:
        message = "The days are numbers from 1 to 31, or “last”"
        raise ScheduleInvalid(message, "visual_config.monthly_days")
    parts = [*map(str, numbers), *(["L"] if LAST_DAY in days else [])]
    return f"{minute} {hour} {','.join(parts)} * *"


def _list(value: Json) -> Sequence[Any]:  # Any: items of a document
    return value if isinstance(value, list | tuple) else ()


_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Json]], str]]] = {
    "hourly": _build_hourly,
    "daily": _build_daily,
    "weekly": _build_weekly,
    "monthly": _build_monthly,
}
