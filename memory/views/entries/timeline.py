"""The timeline of a namespace: its changes, day by day."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format

from accounts.principals import get_principal
from accounts.views.pagination import OffsetPage, replace_query
from config.timestamps import find_midnight
from memory.forms.browsing import SearchForm
from memory.host import RunDescription
from memory.models import Namespace
from memory.models.entries import Operation
from memory.provenance import load_provenance
from memory.services.history.timeline import ChangeSummary, Day, read_timeline
from memory.views.request_context import build_caller


CHANGES_PER_PAGE = 50
BAR_STEP, BAR_WIDTH, BARS_HEIGHT = 14, 10, 56  # pixels


@dataclass(frozen=True, slots=True)
class ChangeRow:
    row: ChangeSummary
    operation_label: str
    actor: str
    run: RunDescription | None
    node: str
    snapshot_url: str  # the state just after the change


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
        "bars_width": max(len(timeline.days) * BAR_STEP, BAR_STEP),
        "bars_height": BARS_HEIGHT,
        "total": timeline.total,
        "page": OffsetPage(timeline.total, timeline.offset, request.GET, CHANGES_PER_PAGE),
    }


def _build_days(
    request: HttpRequest, changes: Sequence[ChangeSummary], days: dict[date, Day]
) -> list[DayRow]:
    actors, runs = [change.actor for change in changes], [change.run_id for change in changes]
    provenance = load_provenance(get_principal(request), actors, runs)
    labels = dict(Operation.choices)
    rows = [
        ChangeRow(
            change,
            str(labels[change.operation]),
            provenance.actors.get(change.actor, ""),
            provenance.runs.get(change.run_id),
            provenance.get_node_title(change.run_id, change.node_id),
            _build_snapshot_url(request, change.at),
        )
        for change in changes
    ]
    day_rows = []
    for on, group in groupby(rows, key=lambda row: timezone.localdate(row.row.at)):
        changes_of_day = list(group)
        url = _build_snapshot_url(request, find_midnight(on, days_later=1))
        day_rows.append(DayRow(on, _list_counts(changes_of_day, days.get(on)), url, changes_of_day))
    return day_rows


def _list_counts(rows: Sequence[ChangeRow], day: Day | None) -> list[tuple[str, str, int]]:
    """Return each operation with its label and its count on the whole day, even if the page shows a part of the day."""
    counts = Counter(dict(day.counts) if day else {})
    if not counts:
        for row in rows:
            counts[row.row.operation] += row.row.count
    return [(name, str(label), counts[name]) for name, label in Operation.choices if name in counts]


def _build_bars(request: HttpRequest, days: Sequence[Day]) -> list[Bar]:
    """Build a bar for each day with changes; the busiest has the full height."""
    max_total = max((day.total for day in days), default=1)
    bars = []
    for number, day in enumerate(days):
        height = max(3, round(BARS_HEIGHT * day.total / max_total))
        title = f"{date_format(day.on, 'DATE_FORMAT')}: {day.total}"
        url = replace_query(request.GET, since=day.on.isoformat(), until=day.on.isoformat())
        bars.append(Bar(number * BAR_STEP, BARS_HEIGHT - height, height, title, url))
    return bars


def _build_snapshot_url(request: HttpRequest, moment: datetime) -> str:
    return replace_query(request.GET, view="", since="", until="", at=moment.isoformat())
