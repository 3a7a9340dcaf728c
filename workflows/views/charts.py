"""Small bar charts as SVG: the places of the bars, and the text for people who can't see them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise


WIDTH: Final = 168.0
HEIGHT: Final = 40.0
GAP: Final = 3.0
MIN_HEIGHT: Final = 2.0  # of a bar with a small value
BASELINE: Final = 1.0  # of a bar without a value


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its label on the axis; ``bad`` is the part of it that is shown as an error."""

    label: str
    value: float | None
    bad: float = 0.0


@dataclass(frozen=True, slots=True)
class Bar:
    """The place of a bar, and the text that is shown while the pointer is on it."""

    x: float
    y: float
    width: float
    height: float
    text: str
    is_empty: bool
    bad_height: float = 0.0

    @property
    def bad_y(self) -> float:
        return HEIGHT - self.bad_height


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart without axes. ``description`` is its text alternative: every value with its label."""

    title: str | Promise
    bars: tuple[Bar, ...]
    description: str
    width: float = WIDTH
    height: float = HEIGHT


def build_bar_chart(
    title: str | Promise, points: Sequence[Point], format_value: Callable[[float], str]
) -> BarChart:
    """Return the chart of the points in their order. The highest bar has the full height."""
    top = max((point.value or 0.0 for point in points), default=0.0)
    step = WIDTH / max(len(points), 1)
    texts = [_describe(point, format_value) for point in points]
    bars = tuple(
        _build_bar(point, text, round(index * step, 2), round(step - GAP, 2), top)
        for index, (point, text) in enumerate(zip(points, texts, strict=True))
    )
    return BarChart(title, bars, f"{title}. {'; '.join(texts)}")


def _describe(point: Point, format_value: Callable[[float], str]) -> str:
    return f"{point.label}: {'–' if point.value is None else format_value(point.value)}"


def _build_bar(point: Point, text: str, x: float, width: float, top: float) -> Bar:
    value = point.value or 0.0
    height = _scale(value, top) or BASELINE
    bad_height = _scale(min(point.bad, value), top)
    return Bar(x, round(HEIGHT - height, 2), width, height, text, not value, bad_height)


def _scale(value: float, top: float) -> float:
    if not value or not top:
        return 0.0
    return round(max(value / top * HEIGHT, MIN_HEIGHT), 2)
