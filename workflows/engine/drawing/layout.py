"""Positions nodes in columns from left to right, by Sugiyama's method without dummy nodes.

The longest path to a node decides its column, edges back are ignored, and barycentre sweeps reduce the crossings.
Columns that are too wide together to be read on one screen go on in a row below, as the lines of a text do.
Nothing is recursive, so that a chain of thousands of nodes works.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from workflows.engine.language.document import Position


GAP_X = 64.0
GAP_Y = 40.0
ROW_GAP = 96.0  # between rows of columns, where the edges from one row to the next run
MAX_ROW_WIDTH = 4200.0  # of which titles can still be read when a laptop shows it as a whole
SHAPE = 1.6  # the width of a drawing of many rows divided by its height, as of a screen
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
    """Return the top-left corner of each box, in columns from left to right, centred on the axis of their row."""
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
    positions: dict[str, Position] = {}
    top = 0.0
    for row in _split_into_rows([_measure_column(column, boxes) for column in columns]):
        tallest = max(column.height for column in row)
        x = 0.0
        for column in row:
            y = top + (tallest - column.height) / 2
            for node in column.nodes:
                positions[node] = Position(x, y)
                y += boxes[node].height + GAP_Y
            x += column.width + GAP_X
        top += tallest + ROW_GAP
    return positions


@dataclass(frozen=True, slots=True)
class _Column:
    nodes: list[str]
    width: float
    height: float


def _measure_column(nodes: list[str], boxes: Mapping[str, Box]) -> _Column:
    height = sum(boxes[node].height for node in nodes) + GAP_Y * (len(nodes) - 1)
    return _Column(nodes, max(boxes[node].width for node in nodes), height)


def _split_into_rows(columns: list[_Column]) -> list[list[_Column]]:
    """Return the columns in rows of about the same width; one row if that is not too wide for its height."""
    total = sum(column.width + GAP_X for column in columns)
    tallest = max((column.height for column in columns), default=0.0)
    limit = max(MAX_ROW_WIDTH + GAP_X, sqrt(SHAPE * total * (tallest + ROW_GAP)))
    row_width = total / max(1, ceil(total / limit))
    rows: dict[int, list[_Column]] = defaultdict(list)
    x = 0.0
    for column in columns:
        rows[int((x + column.width / 2) / row_width)].append(column)
        x += column.width + GAP_X
    return list(rows.values())
