"""A workflow's graph as numbers a template can print: cards, boxes, wires, and the frame around them.

Positions go into SVG attributes, never into ``style``: the pages' content security policy allows none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workflows.engine.document import Document, NodeSpec, Position
from workflows.engine.layout import Box, layered


CARD = Box(220, 64)
PORT_Y = 32.0
MARGIN = 24.0

# A wide graph is drawn smaller up to a point, and scrolled beyond it: its words must stay readable.
COMFORTABLE_WIDTH = 960.0
SMALLEST_SCALE = 0.7

# kind → (icon of static/icons.svg, colour family of canvas.css)
LOOKS: dict[str, tuple[str, str]] = {
    "start": ("start", "flow"),
    "end": ("end", "flow"),
    "answer": ("chat", "flow"),
    "llm": ("model", "model"),
    "if-else": ("branch", "logic"),
    "template-transform": ("template", "data"),
    "variable-aggregator": ("merge", "data"),
    "assigner": ("assign", "data"),
    "memory-recall": ("recall", "memory"),
    "memory-store": ("store", "memory"),
    "memory-retrieval": ("clock", "memory"),
    "memory-delete": ("forget", "memory"),
    "conversation-memory": ("chat", "memory"),
    "knowledge-retrieval": ("search", "memory"),
    "knowledge-write": ("edit", "memory"),
}
PLAIN_LOOK = ("workflow", "data")


@dataclass(frozen=True, slots=True)
class Card:
    id: str
    kind: str
    title: str
    icon: str
    family: str
    x: float
    y: float
    width: float
    height: float
    remembers: bool = False  # an llm node with enhanced_memory: shown on its card
    is_box: bool = False

    @property
    def way_in(self) -> Position:
        return Position(self.x, self.y + PORT_Y)

    @property
    def way_out(self) -> Position:
        return Position(self.x + self.width, self.y + PORT_Y)


@dataclass(frozen=True, slots=True)
class Wire:
    id: str
    source: str
    target: str
    handle: str
    path: str
    label: str
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Drawing:
    cards: tuple[Card, ...]
    boxes: tuple[Card, ...]
    wires: tuple[Wire, ...]
    left: float
    top: float
    width: float
    height: float

    @property
    def view_box(self) -> str:
        return f"{self.left:g} {self.top:g} {self.width:g} {self.height:g}"

    @property
    def scale(self) -> float:
        return min(1.0, max(SMALLEST_SCALE, COMFORTABLE_WIDTH / self.width))

    @property
    def shown_width(self) -> str:
        return f"{self.width * self.scale:g}"

    @property
    def shown_height(self) -> str:
        return f"{self.height * self.scale:g}"


def draw(document: Document) -> Drawing:
    """The whole document in one scope; what a container holds is drawn inside its box."""
    cards = _cards(document)
    by_id = {card.id: card for card in cards}
    wires = tuple(
        _wire(edge.id, by_id[edge.source], by_id[edge.target], edge.handle)
        for edge in document.edges
        if edge.source in by_id and edge.target in by_id
    )
    left, top, width, height = _frame(cards)
    return Drawing(
        cards=tuple(card for card in cards if not card.is_box),
        boxes=tuple(card for card in cards if card.is_box),
        wires=wires,
        left=left,
        top=top,
        width=width,
        height=height,
    )


def _cards(document: Document) -> list[Card]:
    where = _positions(document)
    parents = {node.parent for node in document.nodes if node.parent}
    return [_card(node, where[node.id], is_box=node.id in parents) for node in document.nodes]


def _card(node: NodeSpec, at: Position, *, is_box: bool) -> Card:
    icon, family = LOOKS.get(node.kind, PLAIN_LOOK)
    memory = node.data.get("enhanced_memory")
    return Card(
        id=node.id,
        kind=node.kind,
        title=node.title or node.kind,
        icon=icon,
        family=family,
        x=at.x,
        y=at.y,
        width=(node.width or 400.0) if is_box else CARD.width,
        height=(node.height or 200.0) if is_box else CARD.height,
        remembers=isinstance(memory, dict) and bool(memory.get("enabled")),
        is_box=is_box,
    )


def _positions(document: Document) -> dict[str, Position]:
    """As placed, a child's counted from its container; laid out when nobody placed anything."""
    if _is_unplaced(document.nodes):
        boxes = {node.id: CARD for node in document.nodes}
        return layered(boxes, [(edge.source, edge.target) for edge in document.edges])
    nodes = {node.id: node for node in document.nodes}
    return {node.id: _absolute(node, nodes) for node in document.nodes}


def _is_unplaced(nodes: Sequence[NodeSpec]) -> bool:
    return len(nodes) > 1 and len({node.position for node in nodes}) == 1


def _absolute(node: NodeSpec, nodes: dict[str, NodeSpec]) -> Position:
    x, y = node.position.x, node.position.y
    seen = {node.id}
    while node.parent and node.parent in nodes and node.parent not in seen:
        node = nodes[node.parent]
        seen.add(node.id)
        x, y = x + node.position.x, y + node.position.y
    return Position(x, y)


def _wire(id_: str, source: Card, target: Card, handle: str) -> Wire:
    start, end = source.way_out, target.way_in
    # the bend keeps a wire level where it leaves and arrives, also when it runs backwards
    bend = max(40.0, abs(end.x - start.x) / 2)
    path = (
        f"M{start.x:g} {start.y:g}C{start.x + bend:g} {start.y:g} "
        f"{end.x - bend:g} {end.y:g} {end.x:g} {end.y:g}"
    )
    return Wire(
        id=id_,
        source=source.id,
        target=target.id,
        handle=handle,
        path=path,
        label="" if handle == "source" else handle,
        label_x=start.x + 0.25 * (end.x - start.x) + 8,
        label_y=start.y + 0.16 * (end.y - start.y) - 6,
    )


def _frame(cards: Iterable[Card]) -> tuple[float, float, float, float]:
    placed = list(cards)
    if not placed:
        return 0.0, 0.0, CARD.width, CARD.height
    left = min(card.x for card in placed) - MARGIN
    top = min(card.y for card in placed) - MARGIN
    right = max(card.x + card.width for card in placed) + MARGIN
    bottom = max(card.y + card.height for card in placed) + MARGIN
    return left, top, right - left, bottom - top
