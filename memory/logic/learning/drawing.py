"""The drawing of runs on one time axis: a lane for each workflow, marks for what runs learned, arcs to where it was used.

Positions on the axis are between 0 and 100, so that the drawing fits any width; heights are in pixels. Times in which
nothing happened are shortened: half of a position is the time, the other half is the rank of the run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.logic.learning.lessons import Learning, LessonKind


LABEL_HEIGHT: Final = 26  # of a lane's name, above the space for its arcs
ARC_SPACE: Final = 30
MARK_HEIGHT: Final = 16
LANE_GAP: Final = 12
AXIS_HEIGHT: Final = 24
MARGIN: Final = 2.0  # percent on both sides
MAX_WIDTH: Final = 4  # pixels, of an arc for many entries
TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class RunMark:
    """A run, as the drawing needs it: its lane and its time."""

    id: str
    lane: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RunDot:
    run_id: str
    x: float
    y: int


@dataclass(frozen=True, slots=True)
class LessonMark:
    """The lessons of one kind of one run."""

    run_id: str
    kind: LessonKind
    count: int
    x: float
    y: int


@dataclass(frozen=True, slots=True)
class Arc:
    """All entries of one run that another run used. ``path`` is an SVG path in 0–1000 by pixels."""

    source: str
    target: str
    kind: LessonKind
    count: int
    is_in_prompt: bool
    path: str

    @property
    def width(self) -> float:
        return min(MAX_WIDTH, 1 + self.count / 2)


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    top: int
    line: int  # the height of its dots


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    at: datetime
    is_minor: bool  # hidden on narrow screens

    @property
    def anchor(self) -> str:
        """Return the side of its text that stands at the tick, so that no text leaves the drawing."""
        return "start" if self.x < 20 else "end" if self.x > 80 else "middle"


@dataclass(frozen=True, slots=True)
class Drawing:
    lanes: tuple[Lane, ...] = ()
    dots: tuple[RunDot, ...] = ()
    marks: tuple[LessonMark, ...] = ()
    arcs: tuple[Arc, ...] = ()
    ticks: tuple[Tick, ...] = ()
    height: int = 0

    @property
    def axis(self) -> int:
        """Return the height of the time axis."""
        return self.height - AXIS_HEIGHT


def draw(runs: Sequence[RunMark], learning: Learning) -> Drawing:
    """Draw the runs, the lessons and the uses among them. Runs are in any order."""
    if not runs:
        return Drawing()
    ordered = sorted(runs, key=lambda run: (run.at, run.id))
    kinds = {run_id: Counter(lesson.kind for lesson in lessons)
             for run_id, lessons in learning.group_lessons().items()}  # fmt: skip
    positions = _place_in_time(ordered)
    lanes, height = _place_lanes(ordered, kinds)
    lines = {lane.name: lane.line for lane in lanes}
    dots = {run.id: RunDot(run.id, positions[run.id], lines[run.lane]) for run in ordered}
    return Drawing(
        tuple(lanes),
        tuple(dots.values()),
        tuple(_place_marks(dots, kinds)),
        tuple(_draw_arcs(dots, learning)),
        tuple(_choose_ticks(ordered, positions)),
        height + AXIS_HEIGHT,
    )


def _place_in_time(runs: Sequence[RunMark]) -> dict[str, float]:
    first, last = runs[0].at, runs[-1].at
    seconds = (last - first).total_seconds() or 1.0
    steps = max(1, len(runs) - 1)
    width = 100 - 2 * MARGIN
    return {
        run.id: round(
            MARGIN + width * ((run.at - first).total_seconds() / seconds + rank / steps) / 2, 2
        )
        for rank, run in enumerate(runs)
    }


def _place_lanes(
    runs: Sequence[RunMark], kinds: Mapping[str, Counter[LessonKind]]
) -> tuple[list[Lane], int]:
    """Return the lanes, the one with the last run first, and their height."""
    rows: dict[str, int] = {}
    for run in reversed(runs):
        rows[run.lane] = max(rows.get(run.lane, 0), len(kinds.get(run.id, ())))
    lanes, top = [], 0
    for name, row_count in rows.items():
        line = top + LABEL_HEIGHT + ARC_SPACE
        lanes.append(Lane(name, top, line))
        top = line + MARK_HEIGHT * row_count + LANE_GAP
    return lanes, top


def _place_marks(
    dots: Mapping[str, RunDot], kinds: Mapping[str, Counter[LessonKind]]
) -> list[LessonMark]:
    return [
        LessonMark(run_id, kind, kinds[run_id][kind], dot.x, dot.y + MARK_HEIGHT * row)
        for run_id, dot in dots.items()
        if run_id in kinds
        for row, kind in enumerate((k for k in LessonKind if kinds[run_id][k]), start=1)
    ]


def _draw_arcs(dots: Mapping[str, RunDot], learning: Learning) -> list[Arc]:
    kind_by_entry = {(lesson.entry_id, lesson.run_id): lesson.kind for lesson in learning.lessons}
    kinds: dict[tuple[str, str], Counter[LessonKind]] = {}
    prompted: set[tuple[str, str]] = set()
    for use in learning.uses:
        pair = use.source_run, use.target_run
        if pair[0] in dots and pair[1] in dots:
            kind = kind_by_entry.get((use.entry_id, use.source_run), LessonKind.NOTE)
            kinds.setdefault(pair, Counter())[kind] += 1
            if use.is_in_prompt:
                prompted.add(pair)
    return [
        Arc(*pair, _get_main_kind(counts), counts.total(), pair in prompted,
            _draw_path(dots[pair[0]], dots[pair[1]]))
        for pair, counts in kinds.items()
    ]  # fmt: skip


def _get_main_kind(counts: Counter[LessonKind]) -> LessonKind:
    """Return the kind of most entries; of several, the one that says most."""
    order = [LessonKind.LEARNING, LessonKind.ERROR, LessonKind.NOTE, LessonKind.TASK]
    return max(order, key=lambda kind: (counts[kind], -order.index(kind)))


def _draw_path(source: RunDot, target: RunDot) -> str:
    x1, x2 = source.x * 10, target.x * 10
    if source.y == target.y:
        top = source.y - min(ARC_SPACE + 4, 12 + abs(x2 - x1) / 12)
        return f"M{x1:.0f} {source.y}C{x1:.0f} {top:.0f} {x2:.0f} {top:.0f} {x2:.0f} {target.y}"
    middle = (x1 + x2) / 2
    return (
        f"M{x1:.0f} {source.y}C{middle:.0f} {source.y} {middle:.0f} {target.y} {x2:.0f} {target.y}"
    )


def _choose_ticks(runs: Sequence[RunMark], positions: Mapping[str, float]) -> list[Tick]:
    """Return the runs whose times are written at the axis: the first, the last, and those nearest to even distances."""
    targets = [MARGIN + (100 - 2 * MARGIN) * n / (TICKS - 1) for n in range(TICKS)]
    ticks: dict[str, Tick] = {}
    for number, target in enumerate(targets):
        run = min(runs, key=lambda one: (abs(positions[one.id] - target), one.id))
        is_far = all(abs(positions[run.id] - tick.x) > 15 for tick in ticks.values())
        minutes = {_get_minute(tick.at) for tick in ticks.values()}
        if is_far and _get_minute(run.at) not in minutes:
            ticks[run.id] = Tick(positions[run.id], run.at, number not in (0, TICKS - 1))
    return list(ticks.values())


def _get_minute(moment: datetime) -> datetime:
    """Return the moment as it is written at the axis, without its seconds."""
    return moment.replace(second=0, microsecond=0)
