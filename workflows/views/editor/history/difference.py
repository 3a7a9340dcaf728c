"""Two versions of a workflow, or one and the draft, drawn as one graph with what is different marked."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from workflows import permissions, selectors
from workflows.engine.editing.diff import FieldChange
from workflows.engine.geometry import format_number
from workflows.engine.language.config_errors import label_of
from workflows.engine.language.document import Document, Json, NodeSpec, Note
from workflows.models import Version
from workflows.services.editing.compare import Comparison, compare
from workflows.services.kinds import installed_kinds
from workflows.templatetags.problem_sentences import label
from workflows.views.canvas.cards import Mark
from workflows.views.canvas.drawing import Drawing, draw
from workflows.views.request_context import workflow_for


LONGEST = 4_000  # characters of a value that are shown

# mark → sign, word: never by colour alone
MARKS: Mapping[str, tuple[str, Promise]] = {
    "added": ("+", _("Added")),
    "removed": ("−", _("Removed")),
    "changed": ("≠", _("Modified")),
    "moved": ("↔", _("Moved")),
}


@dataclass(frozen=True, slots=True)
class Line:
    sign: str  # " ", "+" or "-"
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One field: two short values, or the lines that differ in a long one."""

    path: str
    before: str
    after: str
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One node, edge, variable or feature in the list beside the drawing."""

    id: str
    title: str
    mark: str
    fields: tuple[Shown, ...] = ()
    has_moved: bool = False  # as well

    @property
    def sign(self) -> str:
        return _marked(self.mark, self.mark, self.has_moved).sign

    @property
    def word(self) -> str:
        return _marked(self.mark, self.mark, self.has_moved).word


def _marked(name: str, mark: str, has_moved: bool) -> Mark:
    told = dict.fromkeys((mark, *(["moved"] * has_moved)))
    signs, words = zip(*(MARKS[each] for each in told), strict=True)
    return Mark(name, "".join(signs), " · ".join(map(str, words)))


@login_required
@require_safe
def difference(request: HttpRequest, workflow_id: UUID, before: str, after: str) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    one = selectors.version_or_draft(principal, workflow, before)
    other = selectors.version_or_draft(principal, workflow, after)
    found = compare(workflow, one, other)
    context = {
        "workflow": workflow,
        "before": before,
        "after": after,
        "older": one,
        "newer": other,
        "drawing": _drawing(found),
        "nodes": _nodes(found),
        "edges": _edges(found),
        "variables": _named(found.drawn.variables),
        "features": _named(found.drawn.features),
        "marks": [(mark, sign, word) for mark, (sign, word) in MARKS.items()],
        "versions": list(selectors.versions_of(principal, workflow)),
        "can_edit": permissions.may_edit(principal, workflow),
        "is_same": not found.ops,
        "restorable": _restorable(one, other),
    }
    return render(request, "editor/history/difference.html", context)


def _restorable(one: Version | None, other: Version | None) -> Version | None:
    """Compared with the draft: the version the draft could become again."""
    return one if other is None else other if one is None else None


def _united(found: Comparison) -> Document:
    """The later one, and of the earlier one what is gone."""
    nodes = {node.id: node for node in (*found.before.nodes, *found.after.nodes)}
    edges = {edge.id: edge for edge in (*found.before.edges, *found.after.edges)}
    notes = {note.id: note for note in (*found.before.notes, *found.after.notes)}
    return replace(
        found.after,
        nodes=tuple(nodes.values()),
        edges=tuple(edges.values()),
        notes=tuple(notes.values()),
    )


def _drawing(found: Comparison) -> Drawing:
    """As the canvas draws it, and what differs marked."""
    differ = {**found.drawn.nodes, **found.drawn.edges}
    moved = _moved(found)
    marks = {id_: _marked(name, name, id_ in moved) for id_, name in differ.items()}
    return draw(_united(found), marks=marks)


def _moved(found: Comparison) -> dict[str, tuple[str, str]]:
    """Where a node or note of both was, and where it is; what changed besides is no reason to hide that."""
    before, after = (
        {part.id: part for part in _parts(each)} for each in (found.before, found.after)
    )
    return {
        id_: (_place(before[id_]), _place(after[id_]))
        for id_ in before.keys() & after.keys()
        if _place(before[id_]) != _place(after[id_])
    }


def _parts(document: Document) -> Iterator[NodeSpec | Note]:
    yield from document.nodes
    yield from document.notes


def _place(part: NodeSpec | Note) -> str:
    return f"{format_number(part.position.x)}, {format_number(part.position.y)}"


def _titles(found: Comparison) -> dict[str, str]:
    kinds = installed_kinds()

    def titled(node: NodeSpec) -> str:
        kind = kinds.get(node.kind)
        return node.title or (gettext(kind.title) if kind else node.kind)

    return {node.id: titled(node) for each in (found.before, found.after) for node in each.nodes}


def _nodes(found: Comparison) -> list[Entry]:
    documents = (found.before, found.after)
    titles = _titles(found)
    notes = {note.id for each in documents for note in each.notes}
    moved = _moved(found)
    kinds = {node.id: node.kind for each in documents for node in each.nodes}
    return [
        Entry(
            id_,
            titles.get(id_) or (str(_("Note")) if id_ in notes else id_),
            mark,
            (
                *(_labelled(one, kinds.get(id_, "")) for one in found.drawn.fields.get(id_, ())),
                *([Shown(gettext("Position"), *moved[id_])] if id_ in moved else ()),
            ),
            has_moved=id_ in moved,
        )
        for id_, mark in found.drawn.nodes.items()
    ]


def _edges(found: Comparison) -> list[Entry]:
    documents = (found.before, found.after)
    titles = _titles(found)
    edges = {edge.id: edge for each in documents for edge in each.edges}

    def named(id_: str) -> str:
        edge = edges[id_]
        ends = (titles.get(end, end) for end in (edge.source, edge.target))
        return " → ".join(ends)

    return [Entry(id_, named(id_), mark) for id_, mark in found.drawn.edges.items()]


def _named(changes: Iterable[FieldChange]) -> list[Entry]:
    return [Entry(c.path, c.path, _mark(c), (_shown(c),)) for c in changes]


def _mark(change: FieldChange) -> str:
    if change.before is None:
        return "added"
    return "removed" if change.after is None else "changed"


def _labelled(change: FieldChange, kind: str) -> Shown:
    """By the words of the form; a setting no form shows keeps its name."""
    known = installed_kinds().get(kind)
    steps = [int(step) if step.isdecimal() else step for step in change.path.split(".")]
    words = label(label_of(steps, known.fields)) if known else change.path
    return replace(_shown(change), path=words)


def _shown(change: FieldChange) -> Shown:
    before, after = _text(change.before), _text(change.after)
    if "\n" in before + after and before and after:
        return Shown(change.path, "", "", tuple(_lines(before, after)))
    return Shown(change.path, before, after)


def _lines(before: str, after: str) -> Iterator[Line]:
    """With two lines around; the headers of the format say nothing to people."""
    compared = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    for line in list(compared)[2:]:
        yield Line("…", "") if line.startswith("@@") else Line(line[:1], line[1:])


def _text(value: Json) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"
