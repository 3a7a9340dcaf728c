"""The search in a draft: names, types, values and problems, each hit with its node and field."""

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
from workflows.execution.kinds import load_kinds
from workflows.templatetags.kind_words import get_kind_title
from workflows.templatetags.problems import describe_problem
from workflows.views.canvas.notes import get_note_text
from workflows.views.catalog.workflow_page import get_document
from workflows.views.editor.outline import get_title
from workflows.views.request_context import find_workflow, read_text


MAX_HITS = 100
CONTEXT_LENGTH = 28  # characters shown before and after a match
MAX_QUERY_LENGTH = 200
# Fields that repeat the card or mean nothing to people.
SKIPPED_FIELDS = frozenset({"title", "type"})


@dataclass(frozen=True, slots=True)
class Hit:
    node: str
    field: str  # a dotted path inside the node's data; empty for the node itself
    title: str
    where: str  # the location for people, such as "type" or a path
    icon: str
    family: str
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A text of the draft that may match, with its field and the location for people."""

    text: str
    field: str = ""
    where: str = ""


@login_required
@require_safe
def find(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    query = read_text(request.GET, "q")[:MAX_QUERY_LENGTH]
    hits = search_document(get_document(principal, workflow), query) if query else []
    context = {"hits": hits, "total": len(hits), "query": query}
    return render(request, "editor/commands/_search_results.html", context)


def search_document(document: Document, query: str) -> list[Hit]:
    """Return the hits in reading order; a node's name comes first, then its type, values and problems."""
    return list(islice(_find_hits(document, query.casefold()), MAX_HITS))


def _find_hits(document: Document, query: str) -> Iterator[Hit]:
    kinds = load_kinds()
    problems: dict[str, list[_Candidate]] = {}
    for problem in validate(document, kinds):
        candidate = _Candidate(describe_problem(problem), problem.field or "", _("Problem"))
        problems.setdefault(problem.node or "", []).append(candidate)
    for node in document.nodes:
        appearance = find_appearance(node.kind, kinds)
        candidates = [
            _Candidate(get_title(node)),
            _Candidate(get_kind_title(node.kind, kinds), where=_("type")),
            _Candidate(node.kind, where=_("type")),
            _Candidate(node.id, where=_("ID")),
            *_list_values(node),
            *problems.get(node.id, ()),
        ]
        yield from _match_candidates(
            query, node.id, get_title(node), (appearance.icon, appearance.family), candidates
        )
    for note in document.notes:
        title = str(note.data.get("title") or _("Note"))
        yield from _match_candidates(
            query, note.id, title, ("edit", "data"), [_Candidate(get_note_text(note))]
        )


def _list_values(node: NodeSpec) -> Iterator[_Candidate]:
    for name, value in node.data.items():
        if name not in SKIPPED_FIELDS:
            yield from _list_texts(value, name)


def _list_texts(value: Json, path: str, depth: int = 0) -> Iterator[_Candidate]:
    """Yield every string and number inside a value; a selector is joined with dots, as in templates."""
    if depth > 12:  # deeper than any field of any kind
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _list_texts(inner, f"{path}.{name}", depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(part, str) for part in value):
            yield _Candidate(".".join(value), path, path)
            return
        for index, inner in enumerate(value):
            yield from _list_texts(inner, f"{path}.{index}", depth + 1)
    elif isinstance(value, str) and value:
        yield _Candidate(value, path, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _Candidate(f"{value:g}", path, path)


def _match_candidates(
    query: str, node: str, title: str, appearance: tuple[str, str], candidates: Sequence[_Candidate]
) -> Iterator[Hit]:
    matched_texts = set()
    for candidate in candidates:
        text = " ".join(candidate.text.split())
        start = text.casefold().find(query)
        if start < 0 or (candidate.where, text) in matched_texts:
            continue
        matched_texts.add((candidate.where, text))
        end = start + len(query)
        yield Hit(
            node=node,
            field=candidate.field,
            title=title,
            where=candidate.where,
            icon=appearance[0],
            family=appearance[1],
            before=("…" if start > CONTEXT_LENGTH else "")
            + text[max(0, start - CONTEXT_LENGTH) : start],
            match=text[start:end],
            after=text[end : end + CONTEXT_LENGTH]
            + ("…" if len(text) > end + CONTEXT_LENGTH else ""),
        )
