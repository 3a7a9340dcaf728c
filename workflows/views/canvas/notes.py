"""Sticky notes: their text as HTML, their place and their colour."""

import json
from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from workflows.engine.geometry import compute_note_shape, format_number
from workflows.engine.language.document import Json, Note
from workflows.templatetags.markdown_text import render_markdown
from workflows.views.canvas.cards import Mark


THEMES = ("blue", "cyan", "green", "yellow", "pink", "violet")
MAX_LENGTH = 20_000


@dataclass(frozen=True, slots=True)
class NoteView:
    id: str
    x: str
    y: str
    width: str
    height: str
    theme: str
    html: SafeString
    is_group: bool
    title: str
    mark: Mark | None = None


def build_note_view(note: Note) -> NoteView:
    shape = compute_note_shape(note)
    return NoteView(
        id=note.id,
        x=format_number(note.position.x),
        y=format_number(note.position.y),
        width=format_number(shape.width),
        height=format_number(shape.height),
        theme=get_theme(note),
        html=_render_note(get_note_text(note)),
        is_group=note.data.get("group") is True,
        title=str(note.data.get("title") or _("Note")),
    )


def get_theme(note: Note) -> str:
    theme = note.data.get("theme")
    return theme if theme in THEMES else "yellow"


def get_note_text(note: Note) -> str:
    """Return the text of a note as Markdown, or the plain text of rich text (a tree of paragraphs)."""
    text = note.data.get("text")
    if not isinstance(text, str):
        return ""
    return _extract_rich_text(text) if text.startswith("{") else text[:MAX_LENGTH]


_render_note = lru_cache(maxsize=512)(render_markdown)


def _extract_rich_text(text: str) -> str:
    try:
        root = json.loads(text).get("root", {})
    except (ValueError, AttributeError, RecursionError):
        return text[:MAX_LENGTH]
    return "\n\n".join(_collect_text(child) for child in _list_children(root))[:MAX_LENGTH]


def _collect_text(element: Json) -> str:
    text = element.get("text", "") if isinstance(element, dict) else ""
    return str(text) + "".join(_collect_text(child) for child in _list_children(element))


def _list_children(element: Json) -> list[Json]:
    children = element.get("children") if isinstance(element, dict) else None
    return children if isinstance(children, list) else []
