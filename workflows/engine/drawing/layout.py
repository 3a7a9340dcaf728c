"""Positions nodes in columns from left to right, by Sugiyama's method without dummy nodes.

The longest path to a node decides its column, edges back are ignored, and barycentre sweeps reduce the crossings.
Nothing is recursive, so that a chain of thousands of nodes works.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.engine.language.document import Position


GAP_X = 64.0
GAP_Y = 40.0
SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Box:
    width: float
    height: float


@dataclass(slots=True)
class _Links:
    """The neighbours of each node, without edges that close a cycle, and a topological order of the nodes."""

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
    targets: dict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        if source in boxes and target in boxes:
            targets[source].append(target)
    links = _Links()
    visited: set[str] = set()
    for root in boxes:
        if root not in visited:
            _visit_descendants(root, targets, visited, links)
    links.order.reverse()
    return links


def _visit_descendants(
    root: str, targets: Mapping[str, list[str]], visited: set[str], links: _Links
) -> None:
    """Add the edges and nodes that a depth-first search from the root meets first to the links."""
    on_path: set[str] = {root}
    visited.add(root)
    stack = [(root, iter(targets.get(root, ())))]
    while stack:
        node, remaining_targets = stack[-1]
        for target in remaining_targets:
            if target in on_path:
                continue  # a back edge would make ranks endless
            links.successors[node].append(target)
            links.predecessors[target].append(node)
            if target not in visited:
                visited.add(target)
                on_path.add(target)
                stack.append((target, iter(targets.get(target, ()))))
                break
        else:
            on_path.discard(node)
            links.order.append(node)
            stack.pop()


def _build_columns(boxes: Mapping[str, Box], links: _Links) -> list[list[str]]:
    rank: dict[str, int] = {}
    for node in links.order:
        predecessors = links.predecessors.get(node, ())
        rank[node] = 1 + max((rank[source] for source in predecessors), default=-1)
    for node in reversed(links.order):
        # a source belongs next to its first consumer, not at the far left
        consumer_ranks = [rank[target] for target in links.successors.get(node, ())]
        if consumer_ranks and not links.predecessors.get(node):
            rank[node] = min(consumer_ranks) - 1
    columns: dict[int, list[str]] = defaultdict(list)
    for node in boxes:
        columns[rank[node]].append(node)
    return [columns[column_rank] for column_rank in sorted(columns)]


def _reduce_crossings(columns: list[list[str]], links: _Links) -> None:
    row = {node: float(index) for column in columns for index, node in enumerate(column)}
    for sweep in range(SWEEPS):
        is_forward = sweep % 2 == 0
        neighbours = links.predecessors if is_forward else links.successors
        for column in columns if is_forward else reversed(columns):
            barycentres = {
                node: _average([row[other] for other in neighbours.get(node, ())], row[node])
                for node in column
            }
            column.sort(key=barycentres.__getitem__)
            row |= {node: float(index) for index, node in enumerate(column)}


def _average(rows: list[float], default: float) -> float:
    return sum(rows) / len(rows) if rows else default


def _position_columns(columns: list[list[str]], boxes: Mapping[str, Box]) -> dict[str, Position]:
    heights = [
        sum(boxes[node].height for node in column) + GAP_Y * (len(column) - 1) for column in columns
    ]
    tallest = max(heights, default=0.0)
    positions: dict[str, Position] = {}
    x = 0.0
    for column, height in zip(columns, heights, strict=True):
        y = (tallest - height) / 2
        for node in column:
            positions[node] = Position(x, y)
            y += boxes[node].height + GAP_Y
        x += max(boxes[node].width for node in column) + GAP_X
    return positions
