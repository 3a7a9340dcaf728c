"""What leaves the editor as a file or as text: the selection for the clipboard, and the whole as a picture."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from workflows.engine.language import dsl
from workflows.engine.language.document import Dialect, Document, Json, VariableSpec
from workflows.engine.language.dsl.emit import to_yaml
from workflows.engine.language.graph import Graph
from workflows.services.kinds import installed_kinds
from workflows.views.canvas.notes import THEMES, get_note_text
from workflows.views.canvas.picture import build_picture
from workflows.views.catalog.workflow_page import document_for
from workflows.views.request_context import typed, workflow_for


@login_required
@require_safe
def copy(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """The nodes asked for, what is inside them, and the edges between: text that ``paste`` reads anywhere."""
    principal, workflow = workflow_for(request, workflow_id)
    ids = [id_.replace("\x00", "") for id_ in request.GET.getlist("id")]
    tree = fragment_of(document_for(principal, workflow), ids)
    if request.GET.get("format") == "json":
        text, kind = json.dumps(tree, ensure_ascii=False, indent=2), "application/json"
    else:
        text, kind = to_yaml(tree), "text/yaml"
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8")


@login_required
@require_safe
def note(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """A note as it was written: its card shows only what became of the Markdown."""
    principal, workflow = workflow_for(request, workflow_id)
    id_ = typed(request.GET, "id")
    for found in document_for(principal, workflow).notes:
        if found.id == id_:
            theme = found.data.get("theme")
            return JsonResponse(
                {"text": get_note_text(found), "theme": theme if theme in THEMES else "yellow"}
            )
    raise Http404


@login_required
@require_safe
def picture(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """The drawing as one file that needs nothing else: light, whatever the page looks like."""
    principal, workflow = workflow_for(request, workflow_id, archived=True)
    drawn = build_picture(document_for(principal, workflow), installed_kinds())
    text = render_to_string("editor/canvas/picture.svg", {"picture": drawn, "name": workflow.name})
    response = HttpResponse(text, content_type="image/svg+xml; charset=utf-8")
    # opened by itself it may do nothing but look like something
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    name = slugify(workflow.name) or "workflow"
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


def fragment_of(document: Document, ids: Iterable[str]) -> dict[str, Json]:
    """In the document's own dialect; no more around it than its nodes need."""
    part = part_of(document, ids)
    tree = dsl.document_tree(part)
    if part.dialect is Dialect.XWORKFLOW:
        wanted = ("version", "nodes", "edges", "environment_variables", "conversation_variables")
        return {name: tree[name] for name in wanted if tree.get(name)}
    if part.environment or part.conversation:
        return tree
    graph: Mapping[str, Json] = tree["workflow"]["graph"]
    return {"nodes": graph["nodes"], "edges": graph["edges"]}


def part_of(document: Document, ids: Iterable[str]) -> Document:
    graph = Graph.of(document)
    kept = {id_ for id_ in ids if id_ in graph.nodes}
    for id_ in [*kept]:
        kept |= graph.inside(id_)
    chosen = set(ids)
    part = replace(
        document,
        nodes=tuple(node for node in document.nodes if node.id in kept),
        edges=tuple(e for e in document.edges if e.source in kept and e.target in kept),
        notes=tuple(note for note in document.notes if note.id in chosen or note.id in kept),
        name="",
        description="",
        features={},
        extra={},
    )
    said = json.dumps([dict(node.data) for node in part.nodes], ensure_ascii=False, default=str)
    return replace(
        part,
        environment=_named(document.environment, "env", said),
        conversation=_named(document.conversation, "conversation", said),
    )


def _named(variables: Iterable[VariableSpec], area: str, said: str) -> tuple[VariableSpec, ...]:
    """Those the nodes speak of, in a template or as a selector."""
    return tuple(
        variable
        for variable in variables
        if f"{area}.{variable.name}" in said
        or f"{json.dumps(area)}, {json.dumps(variable.name, ensure_ascii=False)}" in said
    )
