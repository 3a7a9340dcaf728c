"""Exports from the editor: the selection for the clipboard, and the drawing as a picture."""

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
from workflows.execution.kinds import load_kinds
from workflows.views.canvas.notes import get_note_text, get_theme
from workflows.views.canvas.picture import build_picture
from workflows.views.catalog.workflow_page import get_document
from workflows.views.request_context import find_workflow, read_text


@login_required
@require_safe
def copy(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Return the requested nodes, their contents and the edges between them as text that ``paste`` reads."""
    principal, workflow = find_workflow(request, workflow_id)
    ids = [id_.replace("\x00", "") for id_ in request.GET.getlist("id")]
    tree = build_fragment(get_document(principal, workflow), ids)
    if request.GET.get("format") == "json":
        text, media_type = json.dumps(tree, ensure_ascii=False, indent=2), "application/json"
    else:
        text, media_type = to_yaml(tree), "text/yaml"
    return HttpResponse(text, content_type=f"{media_type}; charset=utf-8")


@login_required
@require_safe
def note_source(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Return the Markdown of a note, of which its card shows only the rendered form."""
    principal, workflow = find_workflow(request, workflow_id)
    note_id = read_text(request.GET, "id")
    notes = get_document(principal, workflow).notes
    note = next((note for note in notes if note.id == note_id), None)
    if note is None:
        raise Http404
    return JsonResponse({"text": get_note_text(note), "theme": get_theme(note)})


@login_required
@require_safe
def picture(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Return the drawing as one self-contained file, always in the light theme."""
    principal, workflow = find_workflow(request, workflow_id, archived=True)
    drawing = build_picture(get_document(principal, workflow), load_kinds())
    text = render_to_string(
        "editor/canvas/picture.svg", {"picture": drawing, "name": workflow.name}
    )
    response = HttpResponse(text, content_type="image/svg+xml; charset=utf-8")
    # if the file is opened directly, it may only be displayed
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    name = slugify(workflow.name) or "workflow"
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


def build_fragment(document: Document, ids: Iterable[str]) -> dict[str, Json]:
    """Return the nodes and notes with these ids as a tree in the document's dialect, with only the keys they need."""
    fragment = extract_fragment(document, ids)
    tree = dsl.build_tree(fragment)
    if fragment.dialect is Dialect.XWORKFLOW:
        keys = ("version", "nodes", "edges", "environment_variables", "conversation_variables")
        return {name: tree[name] for name in keys if tree.get(name)}
    if fragment.environment or fragment.conversation:
        return tree
    graph: Mapping[str, Json] = tree["workflow"]["graph"]
    return {"nodes": graph["nodes"], "edges": graph["edges"]}


def extract_fragment(document: Document, ids: Iterable[str]) -> Document:
    """Return a document with only these nodes and notes, the nodes' contents, and the variables that they use."""
    graph, requested_ids = Graph.from_document(document), set(ids)
    node_ids = requested_ids & graph.nodes.keys()
    node_ids = node_ids.union(*(graph.list_inside(id_) for id_ in node_ids))
    fragment = replace(
        document,
        nodes=tuple(node for node in document.nodes if node.id in node_ids),
        edges=tuple(e for e in document.edges if e.source in node_ids and e.target in node_ids),
        notes=tuple(
            note for note in document.notes if note.id in requested_ids or note.id in node_ids
        ),
        name="",
        description="",
        features={},
        extra={},
    )
    node_data = json.dumps(
        [dict(node.data) for node in fragment.nodes], ensure_ascii=False, default=str
    )
    return replace(
        fragment,
        environment=_list_used_variables(document.environment, "env", node_data),
        conversation=_list_used_variables(document.conversation, "conversation", node_data),
    )


def _list_used_variables(
    variables: Iterable[VariableSpec], area: str, node_data: str
) -> tuple[VariableSpec, ...]:
    """Return the variables that the nodes use in a template or as a selector."""
    return tuple(
        variable
        for variable in variables
        if f"{area}.{variable.name}" in node_data
        or f"{json.dumps(area)}, {json.dumps(variable.name, ensure_ascii=False)}" in node_data
    )
