"""The drawing of a graph as a self-contained SVG picture without HTML, which every viewer supports."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workflows.engine.geometry import GRID, HEADER_HEIGHT, PORT_Y, ROW_HEIGHT, Shape, format_number
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, NodeSpec, Note, Position
from workflows.views.canvas.cards import CardView, build_card
from workflows.views.canvas.layout import ROOT, GraphLayout
from workflows.views.canvas.notes import NoteView, build_note_view, get_note_text
from workflows.views.canvas.summaries import LabelledHandle, count_columns, cut


MARGIN = 32.0
# Characters that fit, also in a viewer without the application's fonts; wide characters count double.
TITLE_ROOM, TEXT_ROOM, NOTE_ROOM = 24, 32, 0.16
MAX_NOTE_LINES = 40


@dataclass(frozen=True, slots=True)
class TextLine:
    text: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class PictureHandle:
    line: TextLine | None
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class PictureCard:
    view: CardView
    x: str
    y: str
    title: TextLine
    kind: TextLine
    summary: TextLine | None
    handles: tuple[PictureHandle, ...]
    target_handle: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class PictureNote:
    view: NoteView
    x: str
    y: str
    lines: tuple[TextLine, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    view_box: str
    width: str
    height: str
    notes: tuple[PictureNote, ...]
    cards: tuple[PictureCard, ...]  # containers before their content
    edges: tuple[str, ...]


def build_picture(document: Document, kinds: Mapping[str, AnyKind]) -> Picture:
    """Return the whole graph, with containers before their content."""
    layout = GraphLayout(document, kinds)
    frame = layout.frame.widen(MARGIN)
    return Picture(
        view_box=" ".join(map(format_number, frame)),
        width=format_number(frame.width),
        height=format_number(frame.height),
        notes=tuple(
            _build_note(note, layout.get_absolute_position(note)) for note in document.notes
        ),
        cards=tuple(_build_cards(layout, ROOT)),
        edges=tuple(
            layout.build_path(edge, layout.get_corner(scope))
            for scope, edges in layout.edges.items()
            for edge in edges
        ),
    )


def _build_cards(layout: GraphLayout, scope: str) -> Iterator[PictureCard]:
    ids = layout.children.get(scope, ())
    for id_ in ids:
        yield _build_card(layout, layout.nodes[id_])
    for id_ in ids:
        yield from _build_cards(layout, id_)


def _build_card(layout: GraphLayout, node: NodeSpec) -> PictureCard:
    form, position = layout.shapes[node.id], layout.get_absolute_position(node)
    view = build_card(node, layout.kinds, at=position, is_box=form.is_box)
    x, y = position.x, position.y
    return PictureCard(
        view=view,
        x=format_number(x),
        y=format_number(y),
        title=_build_line(view.title, x + 44, y + 21, TITLE_ROOM),
        kind=_build_line(view.kind_title, x + 44, y + 37, TEXT_ROOM),
        summary=_build_line(view.summary, x + 14, y + HEADER_HEIGHT + 16, TEXT_ROOM)
        if form.rows
        else None,
        handles=tuple(_build_handle(handle, form, x, y) for handle in view.handles),
        target_handle=(format_number(x), format_number(y + PORT_Y))
        if form.has_target_handle
        else None,
    )


def _build_handle(handle: LabelledHandle, form: Shape, x: float, y: float) -> PictureHandle:
    right, down = form.locate_source(handle.handle)
    words = " ".join(filter(None, (handle.word, handle.text)))
    # a single handle is beside the title and needs no label
    line = _build_line(words, x + 14, y + down + 4, TEXT_ROOM) if len(form.handles) > 1 else None
    return PictureHandle(line, format_number(x + right), format_number(y + down))


def _build_note(note: Note, at: Position) -> PictureNote:
    view, text = build_note_view(note), get_note_text(note)
    x, y, width = at.x, at.y, float(view.width)
    room = max(8, int((width - 2 * GRID) * NOTE_ROOM))
    max_lines = max(1, int((float(view.height) - GRID) // 18))
    text_lines = _wrap(text, room)[: min(max_lines, MAX_NOTE_LINES)]
    lines = tuple(
        TextLine(line, format_number(x + 12), format_number(y + ROW_HEIGHT + 18 * at))
        for at, line in enumerate(text_lines)
    )
    return PictureNote(view, format_number(x), format_number(y), lines)


def _wrap(text: str, room: int) -> list[str]:
    """Wrap a text without the Markdown marks at the beginning of lines; only words that don't fit are split."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.lstrip("#>- ").replace("**", "").split(" "):
            longer = f"{line} {word}".strip()
            if line and count_columns(longer) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(cut(line, room))
    return lines


def _build_line(text: str, x: float, y: float, room: int) -> TextLine:
    return TextLine(cut(" ".join(text.split()), room), format_number(x), format_number(y))
