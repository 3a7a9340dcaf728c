"""The timeline of a namespace: its changes, day by day."""

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
from memory.views.request_context import build_caller


CHANGES_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class ChangeRow:
    row: ChangeSummary
    word: str
    actor: str
    run: RunDescription | None
    node: str
    at_url: str  # the snapshot just after the change


@dataclass(frozen=True, slots=True)
class DayRow:
    on: date
    counts: Sequence[tuple[str, str, int]]  # operation, label, count
    url: str
    changes: Sequence[ChangeRow]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the drawing, in pixels from the left and the top."""

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


BAR_STEP, BAR_WIDTH = 14, 10


def build_timeline_context(
    request: HttpRequest, row: Namespace, search: SearchForm
) -> dict[str, Any]:
    timeline = read_timeline(
        build_caller(request),
        namespace=row.text,
        search=search.build_search(),
        limit=CHANGES_PER_PAGE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_timeline.html",
        "days": _build_days(request, timeline.changes, {day.on: day for day in timeline.days}),
        "bars": _build_bars(request, timeline.days),
        "bar_width": BAR_WIDTH,
        "total": timeline.total,
        "page": OffsetPage(timeline.total, timeline.offset, request.GET, CHANGES_PER_PAGE),
    }


def _build_days(
    request: HttpRequest, changes: Sequence[ChangeSummary], days: dict[date, Day]
) -> list[DayRow]:
    provenance = load_provenance(
        get_principal(request),
        [change.actor for change in changes],
        [change.run_id for change in changes],
    )
    words = dict(Operation.choices)
    rows = [
        ChangeRow(
            change,
            str(words[change.operation]),
            provenance.actors.get(change.actor, ""),
            provenance.runs.get(change.run_id),
            provenance.get_node_title(change.run_id, change.node_id),
            _build_snapshot_url(request, change.at),
        )
        for change in changes
    ]
    return [
        DayRow(
            on,
            _list_counts(on, day_rows, days),
            _build_snapshot_url(request, _get_end_of_day(on)),
            day_rows,
        )
        for on, day_rows in _group_by_day(rows)
    ]


def _group_by_day(rows: Iterable[ChangeRow]) -> list[tuple[date, list[ChangeRow]]]:
    grouped = groupby(rows, key=lambda row: timezone.localdate(row.row.at))
    return [(on, list(day_rows)) for on, day_rows in grouped]


def _list_counts(
    on: date, rows: Sequence[ChangeRow], days: dict[date, Day]
) -> list[tuple[str, str, int]]:
    """Count the operations of the whole day, even if the page ends in the middle of it."""
    counts: dict[str, int] = dict(days[on].counts) if on in days else {}
    if not counts:
        for row in rows:
            counts[row.row.operation] = counts.get(row.row.operation, 0) + row.row.count
    return [(name, str(word), counts[name]) for name, word in Operation.choices if name in counts]


def _build_bars(request: HttpRequest, days: Sequence[Day]) -> Bars:
    """Build a bar for each day with changes; the busiest has the full height."""
    height = Bars((), 0).height
    max_total = max((day.total for day in days), default=1)
    bars = []
    for number, day in enumerate(days):
        bar_height = max(3, round(height * day.total / max_total))
        title = f"{date_format(day.on, 'DATE_FORMAT')}: {day.total}"
        url = replace_query(request.GET, since=day.on.isoformat(), until=day.on.isoformat())
        bars.append(Bar(number * BAR_STEP, height - bar_height, bar_height, title, url))
    return Bars(bars, max(len(days) * BAR_STEP, BAR_STEP))


def _build_snapshot_url(request: HttpRequest, at: datetime) -> str:
    return replace_query(request.GET, view="", since="", until="", at=at.isoformat())


def _get_end_of_day(on: date) -> datetime:
    return timezone.make_aware(datetime.combine(on + timedelta(days=1), time.min))
