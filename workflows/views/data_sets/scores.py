"""Scores over time as lines in SVG: of each workflow with a data set, or with each data set of a workflow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workflows.models import Evaluation
from workflows.templatetags.usage_numbers import format_share


@dataclass(frozen=True, slots=True)
class Point:
    """A score; its place in percent of the chart, from the left and from the top."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """The scores of one workflow with one data set and one scorer, oldest first."""

    name: str
    scorer: str
    newest: str
    points: Sequence[Point]
    line: str  # the points of a polyline
    description: str
    first_day: str
    last_day: str


def build_score_charts(
    evaluations: Sequence[Evaluation], name: Callable[[Evaluation], str]
) -> list[ScoreChart]:
    """Return a chart for each name and scorer of finished evaluations. Of two versions compared, both are points.

    An evaluation of a part of the cases is no point, because its score is that of other cases.
    """
    by_name: dict[tuple[str, str], list[tuple[Evaluation, str, float]]] = {}
    for evaluation in reversed(evaluations):
        labels = {"0": evaluation.label, "1": evaluation.other_label}
        for side, numbers in sorted(evaluation.summary.items()):
            is_point = not evaluation.is_running and not evaluation.is_partial
            if numbers.get("score") is not None and is_point:
                row = (evaluation, labels.get(side, ""), float(numbers["score"]))
                key = (name(evaluation), str(evaluation.get_scorer_display()))
                by_name.setdefault(key, []).append(row)
    return [_build_chart(title, scorer, rows) for (title, scorer), rows in by_name.items()]


def _build_chart(
    name: str, scorer: str, rows: Sequence[tuple[Evaluation, str, float]]
) -> ScoreChart:
    last = len(rows) - 1
    points = [
        Point(
            round(100 * number / last, 2) if last else 50.0,
            round(100 * (1 - score), 2),
            f"{date_format(evaluation.created_at, 'DATETIME_FORMAT')}, {_write_version(label)},"
            f" {scorer}: {format_share(score)}",
        )
        for number, (evaluation, label, score) in enumerate(rows)
    ]
    newest = format_share(rows[-1][2])
    count = ngettext("%(n)s score", "%(n)s scores", len(rows)) % {"n": len(rows)}
    return ScoreChart(
        name,
        scorer,
        newest,
        points,
        " ".join(f"{point.x},{point.y}" for point in points),
        _("%(name)s: %(count)s, the newest %(score)s.")
        % {"name": name, "count": count, "score": newest},
        date_format(rows[0][0].created_at, "SHORT_DATE_FORMAT"),
        date_format(rows[-1][0].created_at, "SHORT_DATE_FORMAT"),
    )


def _write_version(label: str) -> str:
    return _("Draft") if label == "draft" else _("Version %(n)s") % {"n": label}
