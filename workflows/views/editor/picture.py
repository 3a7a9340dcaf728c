"""A draft as numbers for a picture that stands alone: plain SVG, no HTML inside, so that every viewer shows it."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workflows.engine.document import Document, NodeSpec, Note
from workflows.engine.geometry import (
    GRID,
    HEAD,
    PORT_Y,
    ROW,
    Shape,
    note_shape,
    number,
    path,
    shape,
)
from workflows.engine.kinds import AnyKind
from workflows.engine.layout import Box, layered
from workflows.views.editor.cards import CardView, card
from workflows.views.editor.notes import NoteView, note_view, text_of
from workflows.views.editor.summaries import Way


MARGIN = 32.0
# A viewer without our fonts must not run words out of their card: wide characters count double.
TITLE_ROOM, TEXT_ROOM, NOTE_ROOM = 24, 32, 0.16
LINES_OF_NOTE = 40


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class PictureWay:
    line: Line | None
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class PictureCard:
    view: CardView
    x: str
    y: str
    title: Line
    kind: Line
    summary: Line | None
    ways: tuple[PictureWay, ...]
    way_in: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class PictureNote:
    view: NoteView
    x: str
    y: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    view_box: str
    width: str
    height: str
    notes: tuple[PictureNote, ...]
    cards: tuple[PictureCard, ...]  # containers before what is in them
    edges: tuple[str, ...]


def picture_of(document: Document, kinds: Mapping[str, AnyKind]) -> Picture:
    by_id = {node.id: node for node in document.nodes}
    parents = {node.parent for node in document.nodes}
    shapes = {id_: shape(node, kinds, is_box=id_ in parents) for id_, node in by_id.items()}
    places = _places(document, by_id, shapes)
    ordered = sorted(by_id.values(), key=lambda node: _depth(node, by_id))
    at = {note.id: _absolute(note, by_id) for note in document.notes}
    notes = tuple(_note(note_view(n), text_of(n), at[n.id]) for n in document.notes)
    cards = tuple(_card(node, kinds, shapes[node.id], places[node.id]) for node in ordered)
    boxes = [(*places[id_], shapes[id_].width, shapes[id_].height) for id_ in by_id]
    for note in document.notes:
        form = note_shape(note)
        boxes.append((*at[note.id], form.width, form.height))
    left, top, width, height = _frame(boxes)
    return Picture(
        view_box=" ".join(map(number, (left, top, width, height))),
        width=number(width),
        height=number(height),
        notes=notes,
        cards=cards,
        edges=tuple(_edges(document, shapes, places)),
    )


Places = Mapping[str, tuple[float, float]]


def _places(
    document: Document, by_id: Mapping[str, NodeSpec], shapes: Mapping[str, Shape]
) -> Places:
    """As placed, a child's counted from its container; laid out when nobody placed anything."""
    if len(by_id) > 1 and len({node.position for node in by_id.values()}) == 1:
        boxes = {id_: Box(form.width, form.height) for id_, form in shapes.items()}
        laid = layered(boxes, [(edge.source, edge.target) for edge in document.edges])
        return {id_: (at.x, at.y) for id_, at in laid.items()}
    return {id_: _absolute(node, by_id) for id_, node in by_id.items()}


def _absolute(node: NodeSpec | Note, by_id: Mapping[str, NodeSpec]) -> tuple[float, float]:
    around = [node, *_around(node, by_id)]
    at = [each.position for each in around]
    return sum(p.x for p in at), sum(p.y for p in at)


def _around(node: NodeSpec | Note, by_id: Mapping[str, NodeSpec]) -> list[NodeSpec]:
    found: list[NodeSpec] = []
    seen = {node.id}
    while node.parent in by_id and node.parent not in seen:
        node = by_id[str(node.parent)]
        seen.add(node.id)
        found.append(node)
    return found


def _depth(node: NodeSpec, by_id: Mapping[str, NodeSpec]) -> int:
    return len(_around(node, by_id))


def _card(
    node: NodeSpec, kinds: Mapping[str, AnyKind], form: Shape, at: tuple[float, float]
) -> PictureCard:
    view = card(node, kinds, at=at, is_box=form.is_box)
    x, y = at
    return PictureCard(
        view=view,
        x=number(x),
        y=number(y),
        title=_line(view.title, x + 44, y + 21, TITLE_ROOM),
        kind=_line(view.kind_title, x + 44, y + 37, TEXT_ROOM),
        summary=_line(view.summary, x + 14, y + HEAD + 16, TEXT_ROOM) if form.rows else None,
        ways=tuple(_way(way, form, x, y) for way in view.ways),
        way_in=(number(x), number(y + PORT_Y)) if form.has_way_in else None,
    )


def _way(way: Way, form: Shape, x: float, y: float) -> PictureWay:
    right, down = form.way_out(way.handle)
    words = " ".join(filter(None, (way.word, way.text)))
    # a single way out stands at the head and needs no name
    line = _line(words, x + 14, y + down + 4, TEXT_ROOM) if len(form.ways) > 1 else None
    return PictureWay(line, number(x + right), number(y + down))


def _note(view: NoteView, text: str, at: tuple[float, float]) -> PictureNote:
    (x, y), width = at, float(view.width)
    room = max(8, int((width - 2 * GRID) * NOTE_ROOM))
    fitting = max(1, int((float(view.height) - GRID) // 18))
    wrapped = _wrapped(text, room)[: min(fitting, LINES_OF_NOTE)]
    lines = tuple(
        Line(line, number(x + 12), number(y + ROW + 18 * at)) for at, line in enumerate(wrapped)
    )
    return PictureNote(view, number(x), number(y), lines)


def _wrapped(text: str, room: int) -> list[str]:
    """Markdown's own signs left out where they stand at the front; words kept whole where they fit."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.lstrip("#>- ").replace("**", "").split(" "):
            longer = f"{line} {word}".strip()
            if line and _breadth(longer) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(_clipped(line, room))
    return lines


def _edges(document: Document, shapes: Mapping[str, Shape], places: Places) -> list[str]:
    drawn = []
    for edge in document.edges:
        if edge.source in places and edge.target in places:
            (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
            out_x, out_y = shapes[edge.source].way_out(edge.handle)
            in_x, in_y = shapes[edge.target].way_in
            drawn.append(path(x1 + out_x, y1 + out_y, x2 + in_x, y2 + in_y))
    return drawn


def _line(text: str, x: float, y: float, room: int) -> Line:
    return Line(_clipped(" ".join(text.split()), room), number(x), number(y))


def _clipped(text: str, room: int) -> str:
    if _breadth(text) <= room:
        return text
    kept = ""
    for letter in text:
        if _breadth(kept + letter) > room - 1:
            break
        kept += letter
    return kept.rstrip() + "…"


def _breadth(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _frame(
    boxes: Sequence[tuple[float, float, float, float]],
) -> tuple[float, float, float, float]:
    if not boxes:
        return 0.0, 0.0, 2 * MARGIN, 2 * MARGIN
    left = min(x for x, *_ in boxes) - MARGIN
    top = min(y for _, y, *_ in boxes) - MARGIN
    right = max(x + w for x, _, w, _ in boxes) + MARGIN
    bottom = max(y + h for _, y, _, h in boxes) + MARGIN
    return left, top, right - left, bottom - top
