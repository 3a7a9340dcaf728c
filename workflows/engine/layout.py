"""Where to put the nodes of a document that has no positions, or that asks to be tidied.

Layers by longest path, back edges ignored, then barycentre sweeps against crossings
(Sugiyama's method without dummy nodes). Iterative throughout: a chain of thousands is fine.
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

    after: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    before: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    order: list[str] = field(default_factory=list)


def layered(boxes: Mapping[str, Box], edges: Sequence[tuple[str, str]]) -> dict[str, Position]:
    """Positions of the boxes' top-left corners, columns from left to right, centred on one axis."""
    links = _without_cycles(boxes, edges)
    columns = _columns(boxes, links)
    _untangle(columns, links)
    return _place(columns, boxes)


def _without_cycles(boxes: Mapping[str, Box], edges: Sequence[tuple[str, str]]) -> _Links:
    out: dict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        if source in boxes and target in boxes:
            out[source].append(target)
    links = _Links()
    seen: set[str] = set()
    for root in boxes:
        if root not in seen:
            _walk(root, out, seen, links)
    links.order.reverse()
    return links


def _walk(root: str, out: Mapping[str, list[str]], seen: set[str], links: _Links) -> None:
    open_: set[str] = {root}
    seen.add(root)
    stack = [(root, iter(out.get(root, ())))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target in open_:
                continue  # a back edge would make ranks endless
            links.after[node].append(target)
            links.before[target].append(node)
            if target not in seen:
                seen.add(target)
                open_.add(target)
                stack.append((target, iter(out.get(target, ()))))
                break
        else:
            open_.discard(node)
            links.order.append(node)
            stack.pop()


def _columns(boxes: Mapping[str, Box], links: _Links) -> list[list[str]]:
    rank: dict[str, int] = {}
    for node in links.order:
        rank[node] = 1 + max((rank[b] for b in links.before.get(node, ())), default=-1)
    for node in reversed(links.order):
        # a source belongs next to its first consumer, not at the far left
        later = [rank[a] for a in links.after.get(node, ())]
        if later and not links.before.get(node):
            rank[node] = min(later) - 1
    columns: dict[int, list[str]] = defaultdict(list)
    for node in boxes:
        columns[rank[node]].append(node)
    return [columns[r] for r in sorted(columns)]


def _untangle(columns: list[list[str]], links: _Links) -> None:
    place = {node: float(i) for column in columns for i, node in enumerate(column)}
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        side = links.before if forwards else links.after
        for column in columns if forwards else reversed(columns):
            wish = {n: _middle([place[m] for m in side.get(n, ())], place[n]) for n in column}
            column.sort(key=lambda n: wish[n])
            for i, node in enumerate(column):
                place[node] = float(i)


def _middle(places: list[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


def _place(columns: list[list[str]], boxes: Mapping[str, Box]) -> dict[str, Position]:
    heights = [sum(boxes[n].height for n in c) + GAP_Y * (len(c) - 1) for c in columns]
    tallest = max(heights, default=0.0)
    where: dict[str, Position] = {}
    x = 0.0
    for column, height in zip(columns, heights, strict=True):
        y = (tallest - height) / 2
        for node in column:
            where[node] = Position(x, y)
            y += boxes[node].height + GAP_Y
        x += max(boxes[n].width for n in column) + GAP_X
    return where
