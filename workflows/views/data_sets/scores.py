"""Scores over time as lines in SVG: of each workflow with a data set, or with each data set of a workflow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workflows.models import Evaluation
from workflows.templatetags.usage_numbers import format_share


WIDTH, HEIGHT = 600, 120


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    text: str

    @property
    def left(self) -> float:
        """Return the left edge of the mark at the point."""
        return self.x - 4


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """The scores of one workflow with one data set, oldest first."""

    name: str
    newest: str
    points: Sequence[Point]
    line: str  # the points of a polyline
    description: str
    first_day: str
    last_day: str


def build_score_charts(
    evaluations: Sequence[Evaluation], name: Callable[[Evaluation], str]
) -> list[ScoreChart]:
    """Return a chart for each name that a finished evaluation has. Of two versions compared, both are points.

    An evaluation of a part of the cases is no point, because its score is that of other cases.
    """
    by_name: dict[str, list[tuple[Evaluation, str, float]]] = {}
    for evaluation in reversed(evaluations):
        labels = {"0": evaluation.label, "1": evaluation.other_label}
        for side, numbers in sorted(evaluation.summary.items()):
            is_point = not evaluation.is_running and not evaluation.is_partial
            if numbers.get("score") is not None and is_point:
                row = (evaluation, labels.get(side, ""), float(numbers["score"]))
                by_name.setdefault(name(evaluation), []).append(row)
    return [_build_chart(title, rows) for title, rows in by_name.items()]


def _build_chart(name: str, rows: Sequence[tuple[Evaluation, str, float]]) -> ScoreChart:
    step = WIDTH / max(len(rows), 1)
    points = [
        Point(
            round(step * (number + 0.5), 2),
            round(HEIGHT * (1 - score), 2),
            f"{date_format(evaluation.created_at, 'DATETIME_FORMAT')}, {_write_version(label)},"
            f" {evaluation.get_scorer_display()}: {format_share(score)}",
        )
        for number, (evaluation, label, score) in enumerate(rows)
    ]
    newest = format_share(rows[-1][2])
    count = ngettext("%(n)s score", "%(n)s scores", len(rows)) % {"n": len(rows)}
    return ScoreChart(
        name,
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
