"""The tool ``time``: the current time in a time zone, and arithmetic with dates."""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workflows.engine.language.document import Json
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.local_tool import LocalTool, ToolServices, build_error


_UNITS: Final = ("weeks", "days", "hours", "minutes", "seconds")
_MAX_AMOUNT: Final = 10_000_000_000
_TIMESTAMP: Final = re.compile(r"-?\d{9,11}(\.\d{1,6})?")  # unix seconds; fewer digits are a date


class DateInvalid(Exception):
    """A date or time zone of the call can't be read."""


async def tell_time(arguments: Mapping[str, Json], services: ToolServices) -> ToolResult:
    operation = arguments.get("operation", "now")
    try:
        return _OPERATIONS[operation](arguments, services.clock.now())
    except DateInvalid as invalid:
        return build_error(str(invalid))
    except (OverflowError, ValueError):
        return build_error("The date is outside the years 1 to 9999")


def _tell_now(arguments: Mapping[str, Json], now: datetime) -> ToolResult:
    return _describe(now.astimezone(_read_zone(arguments)))


def _convert(arguments: Mapping[str, Json], now: datetime) -> ToolResult:
    zone = arguments.get("to_time_zone") or arguments.get("time_zone")
    return _describe(_read_date(arguments, "date", now).astimezone(_find_zone(zone or "UTC")))


def _add(arguments: Mapping[str, Json], now: datetime) -> ToolResult:
    date = _read_date(arguments, "date", now)
    months = arguments.get("years", 0) * 12 + arguments.get("months", 0)
    date = _add_months(date, months)
    calendar_days = {unit: arguments.get(unit, 0) for unit in ("weeks", "days")}
    clock_time = {unit: arguments.get(unit, 0) for unit in ("hours", "minutes", "seconds")}
    # Days are those of the calendar, so the time of day stays; hours are counted across a change of the clocks.
    date += timedelta(**calendar_days)
    if any(clock_time.values()):
        zone = date.tzinfo
        date = (date.astimezone(ZoneInfo("UTC")) + timedelta(**clock_time)).astimezone(zone)
    return _describe(date)


def _subtract(arguments: Mapping[str, Json], now: datetime) -> ToolResult:
    start = _read_date(arguments, "date", now)
    end = _read_date(arguments, "other_date", now)
    utc = ZoneInfo("UTC")
    seconds = (end.astimezone(utc) - start.astimezone(utc)).total_seconds()
    days, rest = divmod(abs(seconds), 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [
        f"{days:,.0f} days",
        f"{hours:.0f} hours",
        f"{minutes:.0f} minutes",
        f"{rest:g} seconds",
    ]
    shown = ", ".join(part for part in parts if not part.startswith("0 ")) or "0 seconds"
    sign = "-" if seconds < 0 else ""
    data = {"seconds": seconds, "hours": seconds / 3600, "days": seconds / 86_400}
    return ToolResult(f"{sign}{shown}", data=(data,))


def _add_months(date: datetime, months: int) -> datetime:
    """Return the date that many months later, on the last day of the month if it has fewer days."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return date.replace(
        year=year, month=month + 1, day=min(date.day, monthrange(year, month + 1)[1])
    )


def _describe(date: datetime) -> ToolResult:
    zone = str(date.tzinfo)
    text = f"{date.isoformat(timespec='seconds')} ({date:%A}, {zone})"
    data = {
        "datetime": date.isoformat(timespec="seconds"),
        "date": date.date().isoformat(),
        "time": date.time().isoformat(timespec="seconds"),
        "weekday": f"{date:%A}",
        "week": date.isocalendar().week,
        "time_zone": zone,
        "timestamp": int(date.timestamp()),
    }
    return ToolResult(text, data=(data,))


def _read_date(arguments: Mapping[str, Json], name: str, now: datetime) -> datetime:
    """Return the date of that parameter; without an offset of its own it is in the time zone of the call."""
    text = str(arguments.get(name) or "now").strip()
    zone = _read_zone(arguments)
    if text.lower() == "now":
        return now.astimezone(zone)
    if text.lower() == "today":
        return now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if _TIMESTAMP.fullmatch(text):
            return datetime.fromtimestamp(float(text), tz=zone)
        date = datetime.fromisoformat(text)
    except ValueError:
        message = (
            f"The {name} {text[:60]!r} can't be read; write it as 2026-03-31 or 2026-03-31T14:30:00"
        )
        raise DateInvalid(message) from None
    return date.replace(tzinfo=zone) if date.tzinfo is None else date


def _read_zone(arguments: Mapping[str, Json]) -> ZoneInfo:
    return _find_zone(arguments.get("time_zone") or "UTC")


def _find_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"There is no time zone {name[:60]!r}; use a name such as Europe/Berlin or Asia/Shanghai"
        raise DateInvalid(message) from None


_OPERATIONS: Final[Mapping[str, Callable[[Mapping[str, Json], datetime], ToolResult]]] = {
    "now": _tell_now,
    "convert": _convert,
    "add": _add,
    "difference": _subtract,
}
_AMOUNT: Final[Json] = {"minimum": -_MAX_AMOUNT, "maximum": _MAX_AMOUNT}

TIME: Final = LocalTool(
    ToolSpec(
        "time",
        gettext_noop(
            "Tell the current time in a time zone, convert a time to another time zone, add to a date, or tell the time "
            "between two dates."
        ),
        {
            "type": "object",
            "properties": {
                "operation": {
                    "type": "string",
                    "enum": [*_OPERATIONS],
                    "description": gettext_noop(
                        "now: the current time. convert: date in to_time_zone. add: date plus years, "
                        "months, weeks, days, hours, minutes, seconds. difference: from date to other_date."
                    ),
                    "default": "now",
                },
                "time_zone": {
                    "type": "string",
                    "description": gettext_noop(
                        "Time zone of the answer and of dates without one, such as Europe/Berlin"
                    ),
                    "default": "UTC",
                },
                "to_time_zone": {
                    "type": "string",
                    "description": gettext_noop("Time zone to convert to"),
                },
                "date": {
                    "type": "string",
                    "description": gettext_noop("ISO date or time, unix seconds, now or today"),
                    "default": "now",
                },
                "other_date": {
                    "type": "string",
                    "description": gettext_noop(
                        "End of a difference: ISO date or time, or now or today"
                    ),
                },
                "years": {"type": "integer", **_AMOUNT},
                "months": {"type": "integer", **_AMOUNT},
                **{unit: {"type": "number", **_AMOUNT} for unit in _UNITS},
            },
            "additionalProperties": False,
        },
    ),
    tell_time,
    title=gettext_noop("Time"),
    is_untrusted=False,
)
