"""Which memories of a namespace name each other, drawn."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.core.records import MemoryEntry
from memory.forms.browsing import SearchForm
from memory.logic.entries.link_map import LINE, WIDTH, LinkKind
from memory.models import Namespace
from memory.services.entries.link_map import load_links
from memory.views.request_context import caller_of


@dataclass(frozen=True, slots=True)
class LineShown:
    """An entry, and what it says of the others in words."""

    entry: MemoryEntry
    y: int
    is_forgotten: bool
    says: tuple[tuple[str | Promise, MemoryEntry], ...]


KINDS: dict[LinkKind, str | Promise] = {
    LinkKind.RELATED: _("related to"),
    LinkKind.SUPERSEDES: _("replaced"),
    LinkKind.MERGED: _("merged"),
}


def links_of(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    found = load_links(caller_of(request), namespace=row.text, search=search.build_search())
    says: dict[str, list[tuple[str | Promise, MemoryEntry]]] = {}
    for arc in found.drawing.arcs:
        link = arc.link
        says.setdefault(link.source, []).append((KINDS[link.kind], found.entries[link.target]))
    lines = [
        LineShown(
            found.entries[dot.id], dot.y, dot.id in found.forgotten_ids, tuple(says.get(dot.id, ()))
        )
        for dot in found.drawing.dots
    ]
    return {
        "body": "memory/entries/_links.html",
        "lines": lines,
        "arcs": found.drawing.arcs,
        "arcs_width": WIDTH,
        "dots_x": WIDTH - 10,
        "line_height": LINE,
        "links_height": found.drawing.height,
        "is_all": found.is_all,
        "kinds": [(kind.value, label) for kind, label in KINDS.items()],
        "total": len(lines),
    }
