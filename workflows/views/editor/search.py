"""Find in flow: names, types, values and problems of a draft, each hit with the node and field it is in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.validation import validate
from workflows.engine.nodes import find_appearance
from workflows.services.kinds import installed_kinds
from workflows.templatetags.problems import in_words
from workflows.views.canvas.notes import get_note_text
from workflows.views.catalog.workflow_page import document_for
from workflows.views.editor.outline import title_of
from workflows.views.request_context import typed, workflow_for


MOST = 100
AROUND = 28  # characters shown before and after a match
LONGEST_QUERY = 200
# What is in a node's data but says the same as its card, or nothing to people.
SAID_ALREADY = frozenset({"title", "type"})


@dataclass(frozen=True, slots=True)
class Hit:
    node: str
    field: str  # a dotted path inside the node's data; empty for the node itself
    title: str
    where: str
    icon: str
    family: str
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A text of the draft, and where it stands."""

    text: str
    field: str = ""
    where: str = ""


@login_required
@require_safe
def find(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    query = typed(request.GET, "q")[:LONGEST_QUERY]
    hits = hits_in(document_for(principal, workflow), query) if query else []
    context = {"hits": hits, "total": len(hits), "query": query}
    return render(request, "editor/commands/_search_results.html", context)


def hits_in(document: Document, query: str) -> list[Hit]:
    """In reading order; of a node its name first, then its type, values and problems."""
    return list(islice(_hits(document, query.casefold()), MOST))


def _hits(document: Document, query: str) -> Iterator[Hit]:
    kinds = installed_kinds()
    problems: dict[str, list[_Place]] = {}
    for problem in validate(document, kinds):
        place = _Place(in_words(problem), problem.field or "", _("Problem"))
        problems.setdefault(problem.node or "", []).append(place)
    for node in document.nodes:
        kind = kinds.get(node.kind)
        shown = find_appearance(node.kind, kinds)
        places = [
            _Place(title_of(node)),
            _Place(_(kind.title) if kind else node.kind, where=_("type")),
            _Place(node.kind, where=_("type")),
            _Place(node.id, where=_("ID")),
            *_values(node),
            *problems.get(node.id, ()),
        ]
        yield from _matches(query, node.id, title_of(node), (shown.icon, shown.family), places)
    for note in document.notes:
        title = str(note.data.get("title") or _("Note"))
        yield from _matches(query, note.id, title, ("edit", "data"), [_Place(get_note_text(note))])


def _values(node: NodeSpec) -> Iterator[_Place]:
    for name, value in node.data.items():
        if name not in SAID_ALREADY:
            yield from _texts(value, name)


def _texts(value: Json, path: str, depth: int = 0) -> Iterator[_Place]:
    """Every text and number inside; a selector reads as people write it, with dots."""
    if depth > 12:  # deeper than any field of any kind
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, f"{path}.{name}", depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(part, str) for part in value):
            yield _Place(".".join(value), path, path)
            return
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{path}.{at}", depth + 1)
    elif isinstance(value, str) and value:
        yield _Place(value, path, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _Place(f"{value:g}", path, path)


def _matches(
    query: str, node: str, title: str, look: tuple[str, str], places: Sequence[_Place]
) -> Iterator[Hit]:
    said = set()
    for place in places:
        text = " ".join(place.text.split())
        at = text.casefold().find(query)
        if at < 0 or (place.where, text) in said:
            continue
        said.add((place.where, text))
        end = at + len(query)
        yield Hit(
            node=node,
            field=place.field,
            title=title,
            where=place.where,
            icon=look[0],
            family=look[1],
            before=("…" if at > AROUND else "") + text[max(0, at - AROUND) : at],
            match=text[at:end],
            after=text[end : end + AROUND] + ("…" if len(text) > end + AROUND else ""),
        )
