"""Computes the sizes of cards, the positions of ports and the paths of edges.

``static/js/canvas/geometry.js`` does the same in the browser, and a parity test keeps the two equal. So the server
can draw the first view, arrange nodes and export, and the browser needs no layout for dragging.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec, Note
from workflows.engine.language.failure_policy import FAIL_HANDLE, has_fail_branch


GRID = 8

CARD_WIDTH = 256.0
HEADER_HEIGHT = 64.0  # of the icon, the title and the summary
ROW_HEIGHT = 24.0  # of one output handle
FOOTER_HEIGHT = 8.0
PORT_Y = 32.0  # of the input handle, and of a single output handle

BOX_WIDTH, BOX_HEIGHT = 560.0, 240.0  # of a container without a size
BOX_PADDING = 24.0
NOTE_WIDTH, NOTE_HEIGHT = 240.0, 128.0
DOT_SIZE = 64.0  # of the start inside a container

SOURCE = "source"
MIN_SIZES = {"box": (240.0, 120.0), "note": (120.0, 64.0)}

# An edge starts and ends horizontally, also when it runs backwards.
MIN_BEND, MIN_BACKWARD_BEND, BACKWARD_BEND = 40.0, 60.0, 0.6


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a node's card, and the parts that are drawn on it."""

    width: float
    height: float
    handles: tuple[str, ...]  # its output handles, from the top
    has_target_handle: bool = True
    is_box: bool = False
    is_dot: bool = False  # the start inside a container

    def locate_source(self, handle: str) -> tuple[float, float]:
        """Return the position of a source handle. Edges of an unknown handle are drawn at the first one."""
        index = self.handles.index(handle) if handle in self.handles else 0
        return self.width, compute_port_y(index, len(self.handles))

    @property
    def target_position(self) -> tuple[float, float]:
        return 0.0, PORT_Y


def compute_shape(node: NodeSpec, kinds: Mapping[str, AnyKind], *, is_box: bool = False) -> Shape:
    """Return the shape of a node. With ``is_box`` the node is drawn as a container, whatever its kind."""
    kind = kinds.get(node.kind)
    is_root = kind is not None and kind.execution is Execution.ROOT
    if kind is not None and kind.execution is Execution.ENTRY:
        return Shape(DOT_SIZE, DOT_SIZE, (SOURCE,), has_target_handle=False, is_dot=True)
    handles = list_source_handles(node, kind)
    if is_box or (kind is not None and kind.execution is Execution.CONTAINER):
        min_width, min_height = MIN_SIZES["box"]
        width = max(node.width or BOX_WIDTH, min_width)
        return Shape(width, max(node.height or BOX_HEIGHT, min_height), handles, is_box=True)
    height = compute_card_height(len(handles))
    return Shape(CARD_WIDTH, height, handles, has_target_handle=not is_root)


def compute_note_shape(note: Note) -> Shape:
    return Shape(note.width or NOTE_WIDTH, note.height or NOTE_HEIGHT, (), has_target_handle=False)


def list_source_handles(node: NodeSpec, kind: AnyKind | None) -> tuple[str, ...]:
    if kind is not None and not kind.has_source_handle:
        return ()
    handles = _list_kind_handles(node, kind)
    return (*handles, FAIL_HANDLE) if has_fail_branch(node.data) else handles


def _list_kind_handles(node: NodeSpec, kind: AnyKind | None) -> tuple[str, ...]:
    if kind is None:
        return (SOURCE,)
    try:
        return tuple(dict.fromkeys(kind.list_handles(node)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return (SOURCE,)  # an unreadable configuration; validation reports it


def compute_card_height(handle_count: int) -> float:
    """Return the height of a card. A single source handle is in the heading; several have a row each."""
    return HEADER_HEIGHT + (handle_count * ROW_HEIGHT + FOOTER_HEIGHT if handle_count > 1 else 0)


def compute_port_y(index: int, handle_count: int) -> float:
    if handle_count <= 1:
        return PORT_Y
    return HEADER_HEIGHT + ROW_HEIGHT * index + ROW_HEIGHT / 2


def compute_control_offset(x1: float, x2: float) -> float:
    """Return how far the control points of an edge lie from its ends."""
    dx = x2 - x1
    return (
        max(min(MIN_BEND, dx), dx / 2) if dx >= 0 else max(MIN_BACKWARD_BEND, -dx * BACKWARD_BEND)
    )


def build_edge_path(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return the SVG path of an edge from its source handle to its target handle."""
    bend = compute_control_offset(x1, x2)
    return (
        f"M{format_number(x1)},{format_number(y1)}C{format_number(x1 + bend)},{format_number(y1)} "
        f"{format_number(x2 - bend)},{format_number(y2)} {format_number(x2)},{format_number(y2)}"
    )


def format_number(value: float) -> str:
    """Return the number as text with at most two decimals, rounded half up as in JavaScript."""
    rounded = floor(value * 100 + 0.5) / 100
    integer = int(rounded)
    return str(integer) if integer == rounded else repr(rounded)
