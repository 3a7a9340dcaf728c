"""Sizes of cards, positions of ports and paths of edges, computed and never measured.

``static/js/canvas/geometry.js`` does the same in the browser, and a parity test keeps the two equal. So the
server can draw the first picture, tidy up and export, and dragging needs no layout by the browser.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec, Note
from workflows.engine.language.failure_policy import Strategy


GRID = 8

CARD_WIDTH = 240.0
HEAD = 48.0  # icon, title, kind
ROW = 24.0  # what it does, or one way out
FOOT = 8.0
PORT_Y = 24.0  # of the way in, and of the only way out

BOX_WIDTH, BOX_HEIGHT = 560.0, 240.0  # a container nobody sized
BOX_PAD = 24.0
NOTE_WIDTH, NOTE_HEIGHT = 240.0, 128.0
DOT = 48.0  # the start inside a container

SOURCE = "source"
FAIL_BRANCH = "fail-branch"
SMALLEST = {"box": (240.0, 120.0), "note": (120.0, 64.0)}

# An edge leaves and arrives level, also when it runs backwards.
LEAST_BEND, LEAST_BEND_BACK, BACK = 40.0, 60.0, 0.6


@dataclass(frozen=True, slots=True)
class Shape:
    width: float
    height: float
    ways: tuple[str, ...]  # the handles of its ways out, from the top
    rows: int = 0  # rows between the head and the ways
    has_way_in: bool = True
    is_box: bool = False
    is_dot: bool = False  # the start inside a container

    def way_out(self, handle: str) -> tuple[float, float]:
        """Of a handle it doesn't have: where the first one is, so that the edge is still seen."""
        index = self.ways.index(handle) if handle in self.ways else 0
        return self.width, port_y(index, len(self.ways), self.rows)

    @property
    def way_in(self) -> tuple[float, float]:
        return 0.0, PORT_Y


def shape(node: NodeSpec, kinds: Mapping[str, AnyKind], *, is_box: bool = False) -> Shape:
    kind = kinds.get(node.kind)
    is_root = kind is not None and kind.execution is Execution.ROOT
    if kind is not None and kind.execution is Execution.ENTRY:
        return Shape(DOT, DOT, (SOURCE,), has_way_in=False, is_dot=True)
    ways = ways_out(node, kind)
    if is_box or (kind is not None and kind.execution is Execution.CONTAINER):
        width, height = node.width or BOX_WIDTH, node.height or BOX_HEIGHT
        least = SMALLEST["box"]
        return Shape(max(width, least[0]), max(height, least[1]), ways, is_box=True)
    rows = 0 if kind is not None and kind.execution is Execution.BRANCH else 1
    height = card_height(rows, len(ways))
    return Shape(CARD_WIDTH, height, ways, rows, has_way_in=not is_root)


def note_shape(note: Note) -> Shape:
    return Shape(note.width or NOTE_WIDTH, note.height or NOTE_HEIGHT, (), has_way_in=False)


def ways_out(node: NodeSpec, kind: AnyKind | None) -> tuple[str, ...]:
    if kind is not None and not kind.has_way_out:
        return ()
    ways = _handles(node, kind)
    return (*ways, FAIL_BRANCH) if _is_guarded(node) else ways


def _handles(node: NodeSpec, kind: AnyKind | None) -> tuple[str, ...]:
    if kind is None:
        return (SOURCE,)
    try:
        return tuple(dict.fromkeys(kind.handles(node)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return (SOURCE,)  # a configuration nobody can read; validation says what is wrong with it


def _is_guarded(node: NodeSpec) -> bool:
    strategy = node.data.get("error_strategy")
    named = strategy.get("type") if isinstance(strategy, Mapping) else strategy
    return bool(named == Strategy.FAIL_BRANCH.value)


def card_height(rows: int, ways: int) -> float:
    """A single way out stands at the head; several have a row each."""
    lines = rows + (ways if ways > 1 else 0)
    return HEAD + (lines * ROW + FOOT if lines else 0)


def port_y(index: int, ways: int, rows: int) -> float:
    return PORT_Y if ways <= 1 else HEAD + ROW * (rows + index) + ROW / 2


def path(x1: float, y1: float, x2: float, y2: float) -> str:
    bend = max(LEAST_BEND, (x2 - x1) / 2) if x2 >= x1 else max(LEAST_BEND_BACK, (x1 - x2) * BACK)
    return (
        f"M{number(x1)},{number(y1)}C{number(x1 + bend)},{number(y1)} "
        f"{number(x2 - bend)},{number(y2)} {number(x2)},{number(y2)}"
    )


def number(value: float) -> str:
    """Two digits, rounded half up: the one way that is the same in both languages."""
    rounded = floor(value * 100 + 0.5) / 100
    integer = int(rounded)
    return str(integer) if integer == rounded else repr(rounded)
