"""The drawing of links between the entries of a namespace."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.core.records import MemoryEntry
from memory.forms.browsing import SearchForm
from memory.logic.entries.link_map import ARCS_WIDTH, LinkKind
from memory.models import Namespace
from memory.services.entries.link_map import load_links
from memory.views.request_context import build_caller


@dataclass(frozen=True, slots=True)
class LinkLine:
    """An entry with its links to others in words."""

    entry: MemoryEntry
    y: int
    is_forgotten: bool
    links: tuple[tuple[str | Promise, MemoryEntry], ...]


KIND_LABELS: dict[LinkKind, str | Promise] = {
    LinkKind.RELATED: _("related to"),
    LinkKind.SUPERSEDES: _("replaced"),
    LinkKind.MERGED: _("merged"),
}


def build_links_context(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    link_map = load_links(build_caller(request), namespace=row.text, search=search.build_search())
    links: dict[str, list[tuple[str | Promise, MemoryEntry]]] = {}
    for arc in link_map.drawing.arcs:
        link = arc.link
        label, target = KIND_LABELS[link.kind], link_map.entries[link.target]
        links.setdefault(link.source, []).append((label, target))
    lines = [
        LinkLine(
            link_map.entries[dot.id],
            dot.y,
            dot.id in link_map.forgotten_ids,
            tuple(links.get(dot.id, ())),
        )
        for dot in link_map.drawing.dots
    ]
    return {
        "body": "memory/entries/_links.html",
        "lines": lines,
        "arcs": link_map.drawing.arcs,
        "arcs_width": ARCS_WIDTH,
        "dots_x": ARCS_WIDTH - 10,
        "links_height": link_map.drawing.height,
        "is_all": link_map.is_all,
        "kinds": [(kind.value, label) for kind, label in KIND_LABELS.items()],
        "total": len(lines),
    }
