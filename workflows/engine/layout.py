"""Positions the nodes of a document that has no positions, or that a user wants arranged.

Layers by longest path, back edges ignored, then barycentre sweeps against crossings (Sugiyama's
method without dummy nodes). Iterative throughout, so that a chain of thousands works.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.engine.language.document import Position


GAP_X = 96.0
GAP_Y = 40.0
SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Box:
    width: float
    height: float


@dataclass(slots=True)
class _Links:
    """Edges without those that close a cycle, both ways round, and a topological order."""

    successors: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    predecessors: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    order: list[str] = field(default_factory=list)


def arrange_in_layers(
    boxes: Mapping[str, Box], edges: Sequence[tuple[str, str]]
) -> dict[str, Position]:
    """Return the top-left corner of each box, in columns from left to right, centred on one axis."""
    links = _remove_cycles(boxes, edges)
    columns = _build_columns(boxes, links)
    _reduce_crossings(columns, links)
    return _position_columns(columns, boxes)


def _remove_cycles(boxes: Mapping[str, Box], edges: Sequence[tuple[str, str]]) -> _Links:
    out: dict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        if source in boxes and target in boxes:
            out[source].append(target)
    links = _Links()
    visited: set[str] = set()
    for root in boxes:
        if root not in visited:
            _walk(root, out, visited, links)
    links.order.reverse()
    return links


def _walk(root: str, out: Mapping[str, list[str]], visited: set[str], links: _Links) -> None:
    on_path: set[str] = {root}
    visited.add(root)
    stack = [(root, iter(out.get(root, ())))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target in on_path:
                continue  # a back edge would make ranks endless
            links.successors[node].append(target)
            links.predecessors[target].append(node)
            if target not in visited:
                visited.add(target)
                on_path.add(target)
                stack.append((target, iter(out.get(target, ()))))
                break
        else:
            on_path.discard(node)
            links.order.append(node)
            stack.pop()


def _build_columns(boxes: Mapping[str, Box], links: _Links) -> list[list[str]]:
    rank: dict[str, int] = {}
    for node in links.order:
        rank[node] = 1 + max((rank[b] for b in links.predecessors.get(node, ())), default=-1)
    for node in reversed(links.order):
        # a source belongs next to its first consumer, not at the far left
        consumer_ranks = [rank[a] for a in links.successors.get(node, ())]
        if consumer_ranks and not links.predecessors.get(node):
            rank[node] = min(consumer_ranks) - 1
    columns: dict[int, list[str]] = defaultdict(list)
    for node in boxes:
        columns[rank[node]].append(node)
    return [columns[r] for r in sorted(columns)]


def _reduce_crossings(columns: list[list[str]], links: _Links) -> None:
    row = {node: float(i) for column in columns for i, node in enumerate(column)}
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        side = links.predecessors if forwards else links.successors
        for column in columns if forwards else reversed(columns):
            target = {n: _average([row[m] for m in side.get(n, ())], row[n]) for n in column}
            column.sort(key=lambda n: target[n])
            for i, node in enumerate(column):
                row[node] = float(i)


def _average(rows: list[float], default: float) -> float:
    return sum(rows) / len(rows) if rows else default


def _position_columns(columns: list[list[str]], boxes: Mapping[str, Box]) -> dict[str, Position]:
    heights = [sum(boxes[n].height for n in c) + GAP_Y * (len(c) - 1) for c in columns]
    tallest = max(heights, default=0.0)
    positions: dict[str, Position] = {}
    x = 0.0
    for column, height in zip(columns, heights, strict=True):
        y = (tallest - height) / 2
        for node in column:
            positions[node] = Position(x, y)
            y += boxes[node].height + GAP_Y
        x += max(boxes[n].width for n in column) + GAP_X
    return positions
