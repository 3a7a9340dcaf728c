"""What happened in a namespace, day by day."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format

from accounts.principals import get_principal
from accounts.views.pagination import OffsetPage, replace_query
from memory.forms.browsing import SearchForm
from memory.host import RunDescription
from memory.models import Namespace
from memory.models.entries import Operation
from memory.provenance import load_provenance
from memory.services.history.timeline import ChangeSummary, Day, read_timeline
from memory.views.request_context import caller_of


ACTS = 50  # a page


@dataclass(frozen=True, slots=True)
class HappenedShown:
    row: ChangeSummary
    word: str
    actor: str
    run: RunDescription | None
    node: str
    at_url: str  # how everything was just after it


@dataclass(frozen=True, slots=True)
class DayShown:
    on: date
    counts: Sequence[tuple[str, str, int]]  # operation, its word, how often
    url: str
    changes: Sequence[HappenedShown]


@dataclass(frozen=True, slots=True)
class Bar:
    """Pixels from the left and the top of the drawing."""

    x: int
    y: int
    height: int
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Bars:
    bars: Sequence[Bar]
    width: int
    height: int = 56


STEP, THICK = 14, 10


def timeline_of(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    told = read_timeline(
        caller_of(request),
        namespace=row.text,
        search=search.build_search(),
        limit=ACTS,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_timeline.html",
        "days": _days(request, told.changes, {one.on: one for one in told.days}),
        "bars": _bars(request, told.days),
        "thick": THICK,
        "total": told.total,
        "page": OffsetPage(told.total, told.offset, request.GET, ACTS),
    }


def _days(
    request: HttpRequest, happened: Sequence[ChangeSummary], days: dict[date, Day]
) -> list[DayShown]:
    known = load_provenance(
        get_principal(request),
        [one.actor for one in happened],
        [one.run_id for one in happened],
    )
    words = dict(Operation.choices)
    shown = [
        HappenedShown(
            one,
            str(words[one.operation]),
            known.actors.get(one.actor, ""),
            known.runs.get(one.run_id),
            known.get_node_title(one.run_id, one.node_id),
            _at_url(request, one.at),
        )
        for one in happened
    ]
    return [
        DayShown(on, _counts(on, of_day, days), _at_url(request, _end_of(on)), of_day)
        for on, of_day in _by_day(shown)
    ]


def _by_day(shown: Iterable[HappenedShown]) -> list[tuple[date, list[HappenedShown]]]:
    grouped = groupby(shown, key=lambda one: timezone.localdate(one.row.at))
    return [(on, list(of_day)) for on, of_day in grouped]


def _counts(
    on: date, shown: Sequence[HappenedShown], days: dict[date, Day]
) -> list[tuple[str, str, int]]:
    """Of the whole day, though the page may end in the middle of it."""
    counts: dict[str, int] = dict(days[on].counts) if on in days else {}
    if not counts:
        for one in shown:
            counts[one.row.operation] = counts.get(one.row.operation, 0) + one.row.count
    return [(name, str(word), counts[name]) for name, word in Operation.choices if name in counts]


def _bars(request: HttpRequest, days: Sequence[Day]) -> Bars:
    """One a day on which something happened; the busiest is as high as the drawing."""
    height = Bars((), 0).height
    most = max((day.total for day in days), default=1)
    bars = []
    for number, day in enumerate(days):
        high = max(3, round(height * day.total / most))
        title = f"{date_format(day.on, 'DATE_FORMAT')}: {day.total}"
        url = replace_query(request.GET, since=day.on.isoformat(), until=day.on.isoformat())
        bars.append(Bar(number * STEP, height - high, high, title, url))
    return Bars(bars, max(len(days) * STEP, STEP))


def _at_url(request: HttpRequest, at: datetime) -> str:
    return replace_query(request.GET, view="", since="", until="", at=at.isoformat())


def _end_of(on: date) -> datetime:
    return timezone.make_aware(datetime.combine(on + timedelta(days=1), time.min))
