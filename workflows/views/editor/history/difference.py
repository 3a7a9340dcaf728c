"""The comparison page: two versions, or a version and the draft, as one graph with marked differences."""

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
from workflows.engine.language.document import Document, Json, NodeSpec, Note
from workflows.execution.kinds import load_kinds
from workflows.models import Version
from workflows.services.editing.compare import Comparison, compare
from workflows.templatetags.problem_sentences import translate_field_path
from workflows.templatetags.problems import list_titles
from workflows.views.canvas.cards import Mark
from workflows.views.canvas.drawing import Drawing, draw
from workflows.views.request_context import find_workflow


MAX_TEXT_LENGTH = 4_000  # characters of a value that are shown

# mark → sign, word: color alone must not convey it
MARKS: Mapping[str, tuple[str, Promise]] = {
    "added": ("+", _("Added")),
    "removed": ("−", _("Removed")),
    "changed": ("≠", _("Modified")),
    "moved": ("↔", _("Moved")),
}


@dataclass(frozen=True, slots=True)
class DiffLine:
    sign: str  # " ", "+" or "-"
    text: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field with its two short values, or with the differing lines of a long one."""

    path: str
    before: str
    after: str
    lines: tuple[DiffLine, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A node, edge, variable or feature in the list beside the drawing."""

    id: str
    title: str
    mark: str
    fields: tuple[FieldDifference, ...] = ()
    has_moved: bool = False  # besides other changes

    @property
    def sign(self) -> str:
        return _build_mark(self.mark, self.mark, self.has_moved).sign

    @property
    def word(self) -> str:
        return _build_mark(self.mark, self.mark, self.has_moved).word


def _build_mark(name: str, mark: str, has_moved: bool) -> Mark:
    """Return the sign and word of this mark, together with those of a move."""
    mark_names = dict.fromkeys((mark, *(["moved"] * has_moved)))
    signs, words = zip(*(MARKS[mark_name] for mark_name in mark_names), strict=True)
    return Mark(name, "".join(signs), " · ".join(map(str, words)))


@login_required
@require_safe
def difference(request: HttpRequest, workflow_id: UUID, before: str, after: str) -> HttpResponse:
    """Compare two versions by number, or a version with ``draft``."""
    principal, workflow = find_workflow(request, workflow_id)
    older = selectors.find_version_or_draft(principal, workflow, before)
    newer = selectors.find_version_or_draft(principal, workflow, after)
    comparison = compare(workflow, older, newer)
    context = {
        "workflow": workflow,
        "before": before,
        "after": after,
        "older": older,
        "newer": newer,
        "drawing": _draw_comparison(comparison),
        "nodes": _build_node_rows(comparison),
        "edges": _build_edge_rows(comparison),
        "variables": _build_named_rows(comparison.marks.variables),
        "features": _build_named_rows(comparison.marks.features),
        "marks": [(mark, sign, word) for mark, (sign, word) in MARKS.items()],
        "versions": list(selectors.list_versions(principal, workflow)),
        "can_edit": permissions.may_edit(principal, workflow),
        "is_same": not comparison.ops,
        "restorable": _get_restorable_version(older, newer),
    }
    return render(request, "editor/history/difference.html", context)


def _get_restorable_version(older: Version | None, newer: Version | None) -> Version | None:
    """Return the version that was compared with the draft and to which the draft can be restored."""
    return older if newer is None else newer if older is None else None


def _merge_documents(comparison: Comparison) -> Document:
    """Return the later document together with the parts of the earlier one that were removed."""
    nodes = {node.id: node for node in (*comparison.before.nodes, *comparison.after.nodes)}
    edges = {edge.id: edge for edge in (*comparison.before.edges, *comparison.after.edges)}
    notes = {note.id: note for note in (*comparison.before.notes, *comparison.after.notes)}
    return replace(
        comparison.after,
        nodes=tuple(nodes.values()),
        edges=tuple(edges.values()),
        notes=tuple(notes.values()),
    )


def _draw_comparison(comparison: Comparison) -> Drawing:
    """Draw the merged document as the canvas does, with the differences marked."""
    mark_names = {**comparison.marks.nodes, **comparison.marks.edges}
    moves = _find_moves(comparison)
    marks = {id_: _build_mark(name, name, id_ in moves) for id_, name in mark_names.items()}
    return draw(_merge_documents(comparison), marks=marks)


def _find_moves(comparison: Comparison) -> dict[str, tuple[str, str]]:
    """Return the old and new position of each moved node or note by its id."""
    before, after = (
        {part.id: part for part in _list_parts(document)}
        for document in (comparison.before, comparison.after)
    )
    return {
        id_: (_format_position(before[id_]), _format_position(after[id_]))
        for id_ in before.keys() & after.keys()
        if _format_position(before[id_]) != _format_position(after[id_])
    }


def _list_parts(document: Document) -> Iterator[NodeSpec | Note]:
    yield from document.nodes
    yield from document.notes


def _format_position(part: NodeSpec | Note) -> str:
    return f"{format_number(part.position.x)}, {format_number(part.position.y)}"


def _build_titles(comparison: Comparison) -> dict[str, str]:
    kinds = load_kinds()
    return {**list_titles(comparison.before, kinds), **list_titles(comparison.after, kinds)}


def _build_node_rows(comparison: Comparison) -> list[ComparisonRow]:
    documents = (comparison.before, comparison.after)
    titles = _build_titles(comparison)
    note_ids = {note.id for document in documents for note in document.notes}
    moves = _find_moves(comparison)
    kinds = load_kinds()
    node_kinds = {node.id: node.kind for document in documents for node in document.nodes}
    return [
        ComparisonRow(
            id_,
            titles.get(id_) or (str(_("Note")) if id_ in note_ids else id_),
            mark,
            (
                *(
                    _build_difference(
                        change,
                        translate_field_path(change.path, kinds.get(node_kinds.get(id_, ""))),
                    )
                    for change in comparison.marks.fields.get(id_, ())
                ),
                *([FieldDifference(gettext("Position"), *moves[id_])] if id_ in moves else ()),
            ),
            has_moved=id_ in moves,
        )
        for id_, mark in comparison.marks.nodes.items()
    ]


def _build_edge_rows(comparison: Comparison) -> list[ComparisonRow]:
    documents = (comparison.before, comparison.after)
    titles = _build_titles(comparison)
    names = {
        edge.id: " → ".join(titles.get(end, end) or "?" for end in (edge.source, edge.target))
        for document in documents
        for edge in document.edges
    }
    return [ComparisonRow(id_, names[id_], mark) for id_, mark in comparison.marks.edges.items()]


def _build_named_rows(changes: Iterable[FieldChange]) -> list[ComparisonRow]:
    return [
        ComparisonRow(
            change.path,
            change.path,
            _classify_change(change),
            (_build_difference(change, change.path),),
        )
        for change in changes
    ]


def _classify_change(change: FieldChange) -> str:
    if change.before is None:
        return "added"
    return "removed" if change.after is None else "changed"


def _build_difference(change: FieldChange, label: str) -> FieldDifference:
    before, after = _format_text(change.before), _format_text(change.after)
    if "\n" in before + after and before and after:
        return FieldDifference(label, "", "", tuple(_diff_lines(before, after)))
    return FieldDifference(label, before, after)


def _diff_lines(before: str, after: str) -> Iterator[DiffLine]:
    """Yield the differing lines with two lines of context, without the headers of the format."""
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    for line in list(diff)[2:]:
        yield DiffLine("…", "") if line.startswith("@@") else DiffLine(line[:1], line[1:])


def _format_text(value: Json) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + " …"
