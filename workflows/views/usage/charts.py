"""Charts of usage as SVG: bars for each day, whose colors are those of the theme. A table shows the same numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from workflows.execution.usage.numbers import Numbers
from workflows.templatetags.usage_numbers import format_cost, format_count, format_seconds


WIDTH: Final = 600
HEIGHT: Final = 120
_GAP: Final = 0.2  # of the width of a day
Formatter = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a day's bar. ``color`` is a class of usage.css."""

    x: float
    y: float
    width: float
    height: float
    color: str


@dataclass(frozen=True, slots=True)
class DayMark:
    """The whole column of a day, which shows its numbers when it is pointed at."""

    x: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    color: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its text alternative. Bars of one day are stacked, unless ``is_stacked`` is False."""

    title: str
    total: str
    highest: str
    first_day: str
    last_day: str
    bars: Sequence[Bar]
    marks: Sequence[DayMark]
    legend: Sequence[Series]
    description: str
    width: int = WIDTH
    height: int = HEIGHT


def build_charts(
    by_day: Mapping[date, Numbers], total: Numbers, *, is_of_calls: bool
) -> list[Chart]:
    """Return the charts of a report: runs or calls, latency, tokens and cost."""
    numbers = list(by_day.values())
    count_title = _("Model calls") if is_of_calls else pgettext("number", "Runs")
    rest = _("Succeeded") if is_of_calls else _("Other runs")
    charts = (
        (
            count_title,
            format_count(total.count),
            format_count,
            True,
            (
                (_("Failed"), "usage-bad", [day.failed for day in numbers]),
                (rest, "usage-1", [day.count - day.failed for day in numbers]),
            ),
        ),
        (
            _("Latency"),
            _("median %(time)s") % {"time": format_seconds(total.median_latency)},
            format_seconds,
            False,
            (
                (_("95th percentile"), "usage-2", [day.p95_latency or 0 for day in numbers]),
                (_("Median"), "usage-1", [day.median_latency or 0 for day in numbers]),
            ),
        ),
        (
            _("Tokens"),
            format_count(total.tokens),
            format_count,
            True,
            (
                (_("Prompt"), "usage-1", [day.prompt_tokens for day in numbers]),
                (_("Completion"), "usage-2", [day.completion_tokens for day in numbers]),
            ),
        ),
        (
            _("Cost"),
            format_cost(total.cost),
            format_cost,
            True,
            ((_("Cost"), "usage-1", [day.cost for day in numbers]),),
        ),
    )
    days = list(by_day)
    return [
        _build_chart(title, text, write, [Series(*line) for line in lines], days, stacked=stacked)
        for title, text, write, stacked, lines in charts
    ]


def _build_chart(
    title: str,
    total: str,
    write: Formatter,
    series: Sequence[Series],
    days: Sequence[date],
    *,
    stacked: bool,
) -> Chart:
    heights = [
        sum(line.values[i] for line in series)
        if stacked
        else max(line.values[i] for line in series)
        for i in range(len(days))
    ]
    highest = max(heights, default=0)
    step = WIDTH / max(len(days), 1)
    bars: list[Bar] = []
    marks: list[DayMark] = []
    for number, day in enumerate(days):
        x, below = number * step + step * _GAP / 2, 0.0
        for line in series:
            height = HEIGHT * line.values[number] / highest if highest else 0.0
            if height:
                top = HEIGHT - below - height
                bars.append(
                    Bar(
                        round(x, 2),
                        round(top, 2),
                        round(step * (1 - _GAP), 2),
                        round(height, 2),
                        line.color,
                    )
                )
            below += height if stacked else 0
        texts = (f"{line.name} {write(line.values[number])}" for line in series)
        text = f"{date_format(day, 'DATE_FORMAT')}: {', '.join(texts)}"
        marks.append(DayMark(round(number * step, 2), round(step, 2), text))
    return Chart(
        title,
        total,
        write(highest),
        date_format(days[0], "SHORT_DATE_FORMAT") if days else "",
        date_format(days[-1], "SHORT_DATE_FORMAT") if days else "",
        bars,
        marks,
        series if len(series) > 1 else (),
        _describe(title, total, write, heights, days),
    )


def _describe(
    title: str, total: str, write: Formatter, heights: Sequence[float], days: Sequence[date]
) -> str:
    """Return the text alternative: the total, and the day with the highest value."""
    text = ngettext(
        "%(title)s, %(n)s day: %(total)s.", "%(title)s, %(n)s days: %(total)s.", len(days)
    )
    text %= {"title": title, "n": len(days), "total": total}
    highest = max(heights, default=0)
    if not highest:
        return text
    day = date_format(days[heights.index(highest)], "DATE_FORMAT")
    return f"{text} " + _("Highest on %(day)s: %(value)s.") % {"day": day, "value": write(highest)}
