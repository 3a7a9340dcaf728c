"""Leads edges around the cards between their ends.

An edge is a curve from its source handle to its target handle. If the curve crosses a card, the edge takes a detour:
out to the right, up or down beside the cards, along a free lane, and back to its target handle.
``static/js/canvas/edge_routes.js`` does the same in the browser, and a parity test keeps the two equal.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from math import hypot
from typing import NamedTuple

from workflows.engine.geometry import build_edge_path, compute_control_offset, format_number


MAX_ROUTED_NODES = 260  # in larger graphs, all edges are curves
MAX_ROUTED_EDGES = 400
LEAD = 24.0  # the horizontal distance between a handle and the first turn
LANE = 16.0  # the distance of a detour from the cards that it passes
CLEARANCE = 6.0  # the least distance of a detour from any card
REACH = 400.0  # how far above and below its ends an edge may be led
CORNER = 12.0  # the radius of a turn
SAMPLES = 16  # the straight parts that a curve is tested with

Point = tuple[float, float]


class Ends(NamedTuple):
    """The two ends of an edge: its source handle and its target handle."""

    x1: float
    y1: float
    x2: float
    y2: float


class Obstacle(NamedTuple):
    """The box of a card that edges are led around."""

    id: str
    left: float
    top: float
    right: float
    bottom: float


class Detour(NamedTuple):
    """A route that leaves its source at ``out_x``, runs along ``y``, and approaches its target at ``in_x``."""

    out_x: float
    y: float
    in_x: float

    def shift(self, x: float, y: float) -> "Detour":
        return Detour(self.out_x + x, self.y + y, self.in_x + x)


def build_route_path(ends: Ends, detour: Detour | None) -> str:
    """Return the SVG path of an edge, with rounded turns if it takes a detour."""
    if detour is None:
        return build_edge_path(*ends)
    points = list_points(ends, detour)
    path = f"M{_format_point(points[0])}"
    for index in range(1, len(points) - 1):
        before, turn, after = points[index - 1 : index + 2]
        radius = min(CORNER, _measure(before, turn) / 2, _measure(turn, after) / 2)
        start, end = _approach(turn, before, radius), _approach(turn, after, radius)
        path += f"L{_format_point(start)}Q{_format_point(turn)} {_format_point(end)}"
    return f"{path}L{_format_point(points[-1])}"


def list_points(ends: Ends, detour: Detour) -> list[Point]:
    """Return the corners of a detour, without those that lie on one another."""
    x1, y1, x2, y2 = ends
    out_x, y, in_x = detour
    points = [(x1, y1), (out_x, y1), (out_x, y), (in_x, y), (in_x, y2), (x2, y2)]
    return [points[0], *(after for before, after in pairwise(points) if after != before)]


def find_detour(
    ends: Ends, obstacles: Sequence[Obstacle], end_ids: Collection[str] = ()
) -> Detour | None:
    """Return the shortest detour, or None if the curve is free or every detour is blocked.

    ``end_ids`` are the ids of the cards at the ends, which an edge may come close to there.
    """
    x1, y1, x2, y2 = ends
    is_forward = x2 >= x1
    overhang = 0.0 if is_forward else compute_control_offset(x1, x2)
    left, right = min(x1, x2) - overhang, max(x1, x2) + overhang
    top, bottom = min(y1, y2), max(y1, y2)
    blocking = [
        o
        for o in obstacles
        if o.left < right and o.right > left and o.top < bottom + 1 and o.bottom > top - 1
        if not (is_forward and o.id in end_ids) and _crosses(ends, o)
    ]
    if not blocking:
        return None
    margin = max(overhang, LEAD)
    near = [
        o
        for o in obstacles
        if o.left < right + margin and o.right > left - margin
        if o.top < bottom + REACH and o.bottom > top - REACH
    ]
    return _choose_detour(ends, near, blocking, end_ids)


def _crosses(ends: Ends, obstacle: Obstacle) -> bool:
    x1, y1, x2, y2 = ends
    bend = compute_control_offset(x1, x2)
    before = (x1, y1)
    for step in range(1, SAMPLES + 1):
        t = step / SAMPLES
        s = 1 - t
        a, b, c, d = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
        after = (
            a * x1 + b * (x1 + bend) + c * (x2 - bend) + d * x2,
            a * y1 + b * y1 + c * y2 + d * y2,
        )
        if _cuts(before, after, obstacle):
            return True
        before = after
    return False


def _cuts(start: Point, end: Point, obstacle: Obstacle) -> bool:
    """Return whether a straight line has a part inside a box."""
    low, high = 0.0, 1.0
    for from_, to, near, far in (
        (start[0], end[0], obstacle.left, obstacle.right),
        (start[1], end[1], obstacle.top, obstacle.bottom),
    ):
        if from_ == to:
            if from_ <= near or from_ >= far:
                return False
            continue
        first, last = (near - from_) / (to - from_), (far - from_) / (to - from_)
        low, high = max(low, min(first, last)), min(high, max(first, last))
    return low < high


def _choose_detour(
    ends: Ends,
    near: Sequence[Obstacle],
    blocking: Sequence[Obstacle],
    end_ids: Collection[str],
) -> Detour | None:
    x1, y1, x2, y2 = ends
    lead = min(LEAD, (x2 - x1) / 2) if x2 >= x1 else LEAD
    lanes = {y1, y2}
    lanes |= {o.top - LANE for o in near} | {o.bottom + LANE for o in near}
    out_xs = {x1 + lead} | {o.left - LANE for o in blocking if o.left - LANE > x1 + lead}
    in_xs = {x2 - lead} | {o.right + LANE for o in blocking if o.right + LANE < x2 - lead}
    detours = [Detour(out_x, y, in_x) for y in lanes for out_x in out_xs for in_x in in_xs]
    detours.sort(key=lambda d: (abs(d.y - y1) + abs(d.y - y2) + abs(d.in_x - d.out_x), d))
    return next((d for d in detours if _is_free(ends, d, near, end_ids)), None)


def _is_free(
    ends: Ends, detour: Detour, near: Sequence[Obstacle], end_ids: Collection[str]
) -> bool:
    x1, y1, x2, y2 = ends
    out_x, y, in_x = detour
    lines = (
        (x1, y1, out_x, y1, False),
        (out_x, y1, out_x, y, True),
        (out_x, y, in_x, y, True),
        (in_x, y, in_x, y2, True),
        (in_x, y2, x2, y2, False),
    )
    return not any(
        _touches(line, obstacle)
        for line in lines
        for obstacle in near
        if line[4] or obstacle.id not in end_ids
    )


def _touches(line: tuple[float, float, float, float, bool], obstacle: Obstacle) -> bool:
    """Return whether a horizontal or vertical line comes too close to a card."""
    x1, y1, x2, y2, _ = line
    return (
        max(x1, x2) > obstacle.left - CLEARANCE
        and min(x1, x2) < obstacle.right + CLEARANCE
        and max(y1, y2) > obstacle.top - CLEARANCE
        and min(y1, y2) < obstacle.bottom + CLEARANCE
    )


def _measure(a: Point, b: Point) -> float:
    return hypot(b[0] - a[0], b[1] - a[1])


def _approach(turn: Point, other: Point, radius: float) -> Point:
    """Return the point at a distance from a turn towards another point."""
    length = _measure(turn, other)
    x, y = other[0] - turn[0], other[1] - turn[1]
    return turn[0] + x / length * radius, turn[1] + y / length * radius


def _format_point(point: Point) -> str:
    return f"{format_number(point[0])},{format_number(point[1])}"
