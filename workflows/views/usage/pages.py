"""The page of usage: totals, charts and a breakdown of a period, and the same as CSV."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.dateparse import parse_date
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext
from django.views.decorators.http import require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import replace_query
from workflows.execution.usage.numbers import Numbers
from workflows.services.usage import labels
from workflows.services.usage.export import export_usage as export_file
from workflows.services.usage.report import (
    DEFAULT_DAYS,
    DIMENSIONS,
    MAX_DAYS,
    NO_CHANNEL,
    NO_KEY,
    Dimension,
    Key,
    Selection,
    UsageReport,
    get_today,
    load_report,
    sees_team,
)
from workflows.templatetags.usage_numbers import (
    format_cost,
    format_count,
    format_seconds,
    format_share,
)
from workflows.views.request_context import parse_id_or_none, read_text
from workflows.views.usage import charts


PERIODS: Final = (7, 30, 90, 365)
MAX_ROWS: Final = 100
TITLES: Final[Mapping[Dimension, str | Promise]] = {
    "workflow": gettext_lazy("Workflow"),
    "key": gettext_lazy("API key"),
    "person": gettext_lazy("User"),
    "channel": gettext_lazy("Channel"),
    "model": gettext_lazy("Model"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the breakdown or of a day. ``url`` selects it as a filter; its texts are formatted."""

    cells: list[str]
    name: str = ""
    url: str = ""
    day: date | None = None


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the usage of the current team: of all members to its admins, of oneself to others."""
    principal = get_principal(request)
    selection = read_selection(request.GET, get_current_team_id(request))
    dimension = read_dimension(request.GET)
    report = load_report(principal, selection, (dimension,))
    context = {
        "report": report,
        "sees_team": sees_team(principal, selection.team_id),
        "is_own": selection.is_own,
        "tiles": build_tiles(report),
        "charts": charts.build_charts(report.by_day, report.total, is_of_calls=report.is_of_calls),
        "days": [
            Row(format_numbers(row), day=day)
            for day, row in reversed(report.by_day.items())
            if row.count or row.calls
        ],
        "heads": list_heads(report.is_of_calls),
        "dimension": dimension,
        "tabs": [(name, TITLES[name], _link(request, by=name)) for name in DIMENSIONS],
        "rows": _build_rows(request, principal, report, dimension),
        "row_heads": list_heads(report.is_of_calls or dimension == "model"),
        "row_title": TITLES[dimension],
        "filters": _list_filters(request, principal, selection),
        "periods": [(days, _link(request, days=str(days), since="", until="")) for days in PERIODS],
        "days_selected": len(selection.days) if selection.until == get_today() else 0,
        "own_url": _link(request, own="" if selection.is_own else "1"),
        "csv_url": f"export.csv{_link(request, by=dimension)}",
        "has_limit": len(report.by[dimension]) > MAX_ROWS,
    }
    return render(request, "usage/page.html", context)


@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Return the usage of each day by the selected breakdown as CSV."""
    principal = get_principal(request)
    selection = read_selection(request.GET, get_current_team_id(request))
    dimension = read_dimension(request.GET)
    name = f"usage-{selection.since}-{selection.until}-{dimension}.csv"
    return HttpResponse(
        export_file(principal, selection, dimension),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
        },
    )


def read_selection(data: Mapping[str, str], team_id: UUID) -> Selection:
    """Read the selection from the query; an invalid value is ignored."""
    days = read_text(data, "days")
    count = min(int(days[:6]), MAX_DAYS) if days.isdecimal() and int(days[:6]) > 0 else DEFAULT_DAYS
    until = _parse_day(read_text(data, "until")) or get_today()
    since = _parse_day(read_text(data, "since")) or until - timedelta(days=count - 1)
    earliest = until - timedelta(days=MAX_DAYS - 1)
    key, channel = read_text(data, "key"), read_text(data, "channel")
    provider, has_model, model = read_text(data, "model").partition("/")
    selection = Selection(
        team_id,
        max(min(since, until), earliest),
        until,
        workflow_id=parse_id_or_none(read_text(data, "workflow")),
        key=NO_KEY if key == NO_KEY else parse_id_or_none(key),
        channel=("" if channel == NO_CHANNEL else channel) if channel else None,
        model=(provider, model) if has_model else None,
        is_own=bool(read_text(data, "own")),
    )
    person = read_text(data, "person")
    return replace(selection, subject=labels.find_subject(selection, person) if person else None)


def read_dimension(data: Mapping[str, str]) -> Dimension:
    name = read_text(data, "by")
    return name if name in DIMENSIONS else "workflow"


def build_tiles(report: UsageReport) -> list[tuple[str, str, str]]:
    """Return label, value and note of each total."""
    total = report.total
    note = ""
    if total.unpriced_calls:
        calls = ngettext(
            "%(n)s call without a price", "%(n)s calls without a price", total.unpriced_calls
        )
        note = calls % {"n": format_count(total.unpriced_calls)}
    model_calls = ngettext("%(n)s model call", "%(n)s model calls", total.calls)
    rate = format_share(total.error_rate)
    return [
        (
            _("Model calls") if report.is_of_calls else pgettext("number", "Runs"),
            format_count(total.count),
            "" if report.is_of_calls else model_calls % {"n": format_count(total.calls)},
        ),
        (
            _("Errors"),
            format_count(total.failed),
            _("%(rate)s of runs") % {"rate": rate} if not report.is_of_calls else rate,
        ),
        (
            _("Latency"),
            format_seconds(total.median_latency),
            _("95%% within %(time)s") % {"time": format_seconds(total.p95_latency)},
        ),
        (
            _("Tokens"),
            format_count(total.tokens),
            _("%(prompt)s prompt, %(completion)s completion")
            % {
                "prompt": format_count(total.prompt_tokens),
                "completion": format_count(total.completion_tokens),
            },
        ),
        (_("Cost"), format_cost(total.cost), note),
        *(
            []
            if report.is_of_calls
            else [
                (
                    _("Feedback"),
                    format_count(total.liked + total.disliked),
                    _("%(liked)s good, %(disliked)s bad")
                    % {
                        "liked": format_count(total.liked),
                        "disliked": format_count(total.disliked),
                    },
                )
            ]
        ),
    ]


def list_heads(is_of_calls: bool) -> list[str]:
    count_title = _("Model calls") if is_of_calls else pgettext("number", "Runs")
    return [count_title, _("Errors"), _("Median"), _("95th percentile"), _("Tokens"), _("Cost")]


def format_numbers(numbers: Numbers) -> list[str]:
    """Return the cells of a row, in the order of ``list_heads``."""
    return [
        format_count(numbers.count),
        format_count(numbers.failed),
        format_seconds(numbers.median_latency),
        format_seconds(numbers.p95_latency),
        format_count(numbers.tokens),
        format_cost(numbers.cost),
    ]


def _build_rows(
    request: HttpRequest, principal: Principal, report: UsageReport, dimension: Dimension
) -> list[Row]:
    """Return the rows of the breakdown, those with the most runs first."""
    team_id = report.selection.team_id
    numbers_by_key = report.by[dimension]
    order = sorted(
        numbers_by_key,
        key=lambda key: (-numbers_by_key[key].count, -numbers_by_key[key].tokens, str(key)),
    )
    keys = order[:MAX_ROWS]
    names = labels.label_rows(principal, team_id, dimension, keys)
    visible = labels.list_visible_people_of(principal, team_id, dimension)
    rows = []
    for key in keys:
        value = _write_key(dimension, key, visible, team_id)
        url = _link(request, **{dimension: value}) if value else ""
        rows.append(Row(format_numbers(numbers_by_key[key]), names[key], url))
    return rows


def _write_key(dimension: Dimension, key: Key, visible: set[str], team_id: UUID) -> str:
    """Return the value of the filter that selects a row."""
    if dimension == "model":
        return "/".join(key)
    if dimension == "person":
        return labels.hide_person(key[0], visible, team_id)
    if dimension == "channel":
        return str(key[0]) or NO_CHANNEL
    if dimension == "workflow":
        return str(key[0] or "")  # what is outside of workflows can't be selected
    return NO_KEY if key[0] is None else str(key[0])


def _list_filters(
    request: HttpRequest, principal: Principal, selection: Selection
) -> list[tuple[str, str]]:
    """Return the text of each filter in use and the URL without it."""
    selected: list[tuple[Dimension, Key]] = []
    if selection.workflow_id:
        selected.append(("workflow", (selection.workflow_id,)))
    if selection.key:
        selected.append(("key", (None if selection.key == NO_KEY else selection.key,)))
    if selection.subject is not None:
        selected.append(("person", (selection.subject,)))
    if selection.channel is not None:
        selected.append(("channel", (selection.channel,)))
    if selection.model:
        selected.append(("model", selection.model))
    result = []
    for dimension, key in selected:
        name = labels.label_rows(principal, selection.team_id, dimension, [key])[key]
        result.append((f"{TITLES[dimension]}: {name}", _link(request, **{dimension: ""})))
    return result


def _link(request: HttpRequest, **changes: Any) -> str:  # Any: texts by name
    query: QueryDict = request.GET
    return replace_query(query, **changes)


def _parse_day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None
