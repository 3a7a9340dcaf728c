"""The drawing of a graph as a self-contained SVG picture without HTML, which every viewer supports."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workflows.engine.geometry import GRID, PORT_Y, ROW_HEIGHT, Shape, format_number
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, NodeSpec, Note, Position
from workflows.views.canvas.cards import CardView, build_card
from workflows.views.canvas.layout import ROOT, GraphLayout
from workflows.views.canvas.notes import NoteView, build_note_view, get_note_text
from workflows.views.canvas.summaries import LabelledHandle, count_columns, cut


MARGIN = 32.0
# Characters that fit, also in a viewer without the application's fonts; wide characters count double.
TITLE_COLUMNS, LINE_COLUMNS, TEXT_COLUMNS, NOTE_COLUMNS_PER_PIXEL = 24, 30, 32, 0.16
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
    line: TextLine
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
    """Return the picture of the whole graph, with each container before its content."""
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
    shape, position = layout.shapes[node.id], layout.get_absolute_position(node)
    view = build_card(node, layout.kinds, position=position, shape=shape)
    x, y = position.x, position.y
    return PictureCard(
        view=view,
        x=format_number(x),
        y=format_number(y),
        title=_build_line(view.title, x + 60, y + 28, TITLE_COLUMNS),
        line=_build_line(view.line, x + 60, y + 46, LINE_COLUMNS),
        handles=tuple(_build_handle(handle, shape, x, y) for handle in view.handles),
        target_handle=(format_number(x), format_number(y + PORT_Y))
        if shape.has_target_handle
        else None,
    )


def _build_handle(handle: LabelledHandle, shape: Shape, x: float, y: float) -> PictureHandle:
    offset_x, offset_y = shape.locate_source(handle.handle)
    label = " ".join(filter(None, (handle.word, handle.text)))
    # a single handle is beside the title and needs no label
    has_label = len(shape.handles) > 1
    line = _build_line(label, x + 14, y + offset_y + 4, TEXT_COLUMNS) if has_label else None
    return PictureHandle(line, format_number(x + offset_x), format_number(y + offset_y))


def _build_note(note: Note, position: Position) -> PictureNote:
    view, text = build_note_view(note), get_note_text(note)
    x, y, width = position.x, position.y, float(view.width)
    max_columns = max(8, int((width - 2 * GRID) * NOTE_COLUMNS_PER_PIXEL))
    max_lines = max(1, int((float(view.height) - GRID) // 18))
    text_lines = _wrap(text, max_columns)[: min(max_lines, MAX_NOTE_LINES)]
    lines = tuple(
        TextLine(line, format_number(x + 12), format_number(y + ROW_HEIGHT + 18 * index))
        for index, line in enumerate(text_lines)
    )
    return PictureNote(view, format_number(x), format_number(y), lines)


def _wrap(text: str, max_columns: int) -> list[str]:
    """Wrap a text without the Markdown marks at the beginning of lines; only words that don't fit are split."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.lstrip("#>- ").replace("**", "").split(" "):
            longer = f"{line} {word}".strip()
            if line and count_columns(longer) > max_columns:
                lines.append(line)
                longer = word
            line = longer
        lines.append(cut(line, max_columns))
    return lines


def _build_line(text: str, x: float, y: float, max_columns: int) -> TextLine:
    return TextLine(cut(" ".join(text.split()), max_columns), format_number(x), format_number(y))
