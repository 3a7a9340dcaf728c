"""The outline as a page whose forms edit the draft without JavaScript, without a mouse, or on a small screen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.principals import Principal
from workflows import permissions
from workflows.engine.editing.decode import read_ops
from workflows.engine.editing.errors import EditRefused
from workflows.engine.geometry import GRID, Shape, compute_shape
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.graph import Graph
from workflows.errors import EditConflict, NothingToUndo
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.editing import gestures, undo
from workflows.services.editing.operation_context import generate_id
from workflows.services.editor.drafts import list_problems
from workflows.templatetags.problems import describe_problem, list_titles
from workflows.views.canvas.summaries import LabelledHandle
from workflows.views.catalog.workflow_page import get_document
from workflows.views.editor.outline import build_rows, format_handle, get_title, list_handles
from workflows.views.editor.palette import PaletteGroup, PaletteItem, list_palette_groups
from workflows.views.request_context import find_workflow, read_text


GAP = 96.0
FIRST_POSITION = 64.0  # the position of the first node in an empty scope

FormValues = Mapping[str, str]
Ops = list[dict[str, Json]]
PlannedEdit = tuple[Ops, str, str]  # operations, label, id of the node to show next


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def outline(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the outline with the forms of the selected node, or apply the submitted form."""
    verb = "edit" if request.method == "POST" else "view"
    principal, workflow = find_workflow(request, workflow_id, verb)
    if request.method == "POST":
        selected_id = _apply_action(request, principal, workflow)
        address = reverse("workflows:outline", args=[workflow.pk])
        query = f"?{urlencode({'node': selected_id})}#selected" if selected_id else ""
        return redirect(address + query)
    document = get_document(principal, workflow)
    problems = list_problems(workflow, document)
    context = {
        "rows": build_rows(document, problems),
        "base": reverse("workflows:outline", args=[workflow.pk]),
        "workflow": workflow,
    }
    if "fragment" in request.GET:
        return render(request, "editor/outline/_tree.html", context)
    context |= _build_page_context(request, principal, workflow, document) | {
        "node_problems": [
            p for p in problems if p.node and p.node == read_text(request.GET, "node")
        ],
        "edge_problems": list({p.edge: p for p in problems if p.edge and not p.node}.values()),
        "titles": list_titles(document, load_kinds()),
    }
    return render(request, "editor/outline/outline.html", context)


def _build_page_context(
    request: HttpRequest, principal: Principal, workflow: Workflow, document: Document
) -> dict[str, Any]:
    nodes = {node.id: node for node in document.nodes}
    node = nodes.get(read_text(request.GET, "node"))
    groups = list_palette_groups(workflow.mode)
    context: dict[str, Any] = {
        "can_edit": permissions.may_edit(principal, workflow),
        "base": reverse("workflows:outline", args=[workflow.pk]),
        "palette": _list_addable_groups(groups, document, after=node),
        "selected_id": node.id if node else "",
        "node": node,
    }
    if node is None:
        return context
    palette_items = {item.kind: item for group in groups for item in group.items}
    return context | _build_node_context(node, document, nodes, palette_items)


def _list_addable_groups(
    groups: Sequence[PaletteGroup], document: Document, *, after: NodeSpec | None
) -> list[PaletteGroup]:
    """Return the kinds that can be added: one Start node or several triggers, and these only before all other nodes."""
    kinds = {node.kind for node in document.nodes}
    roots = {item.kind for group in groups for item in group.items if not item.has_input}
    refused: set[str] = {"start"} if kinds & roots else set()
    if after is not None or "start" in kinds:
        refused = roots
    addable = (
        replace(group, items=tuple(item for item in group.items if item.kind not in refused))
        for group in groups
    )
    return [group for group in addable if group.items]


def _build_node_context(
    node: NodeSpec,
    document: Document,
    nodes: Mapping[str, NodeSpec],
    palette_items: Mapping[str, PaletteItem],
) -> dict[str, Any]:
    graph = Graph.from_document(document)
    kinds = load_kinds()
    shapes = {id_: compute_shape(item, kinds) for id_, item in nodes.items()}
    inside = graph.list_inside(node.id) | {node.id}
    return {
        "title": get_title(node),
        "disabled": node.data.get("disabled") is True,
        "handles": [(handle.handle, _get_handle_label(handle)) for handle in list_handles(node)],
        "incoming": [
            (edge.id, get_title(nodes[edge.source])) for edge in graph.list_incoming(node.id)
        ],
        "outgoing": [
            (edge.id, edge.handle, get_title(nodes[edge.target]))
            for edge in graph.list_outgoing(node.id)
        ],
        "targets": [
            (other.id, get_title(other))
            for other in document.nodes
            if other.parent == node.parent
            and other.id != node.id
            and shapes[other.id].has_target_handle
        ],
        "containers": [
            (other.id, get_title(other))
            for other in document.nodes
            if shapes[other.id].is_box and other.id not in inside and other.id != node.parent
        ],
        "is_movable": shapes[node.id].has_target_handle,
        "is_container": node.kind in palette_items and palette_items[node.kind].is_container,
    }


def _get_handle_label(handle: LabelledHandle) -> str:
    return format_handle(handle) or handle.handle


def _apply_action(request: HttpRequest, principal: Principal, workflow: Workflow) -> str:
    """Apply the requested operation, add a message about it, and return the id of the node to show next."""
    action, node_id = read_text(request.POST, "do"), read_text(request.POST, "node")
    if action in {"undo", "redo"}:
        _undo_or_redo(request, principal, workflow, action)
        return node_id
    document = get_document(principal, workflow)
    nodes = {node.id: node for node in document.nodes}
    if action not in _ACTIONS or (node_id and node_id not in nodes):
        messages.error(request, _("This node no longer exists."))
        return ""
    values = {name: read_text(request.POST, name) for name in request.POST}
    ops, label, selected_id = _ACTIONS[action](document, nodes.get(node_id), values)
    try:
        gestures.edit(
            principal, workflow=workflow, ops=read_ops(ops), label=label, client="outline"
        )
    except EditRefused as error:
        for problem in error.problems:
            messages.error(request, describe_problem(problem))
        return node_id
    messages.success(request, label)
    return selected_id


def _undo_or_redo(
    request: HttpRequest, principal: Principal, workflow: Workflow, direction: str
) -> None:
    operation = undo.undo if direction == "undo" else undo.redo
    try:
        operation(principal, workflow=workflow, client="outline")
    except (EditConflict, NothingToUndo) as error:
        messages.error(request, str(error))


def _plan_add(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    kind = load_kinds().get(values.get("kind", ""))
    name = _(kind.title) if kind else values.get("kind", "")
    parent = values.get("parent") or (node.parent if node else None)
    new_id = generate_id(values.get("kind", ""))
    x, y = _find_free_position(document, node if not values.get("parent") else None, parent)
    ops: Ops = [
        {
            "op": "add",
            "node": {
                "id": new_id,
                "kind": values.get("kind", ""),
                "title": _choose_free_title(document, name),
                "x": x,
                "y": y,
                "parent": parent or None,
            },
        }
    ]
    if node is not None and not values.get("parent") and values.get("handle"):
        edge = {"source": node.id, "handle": values["handle"], "target": new_id}
        ops.append({"op": "connect", "edge": edge})
    return ops, _("Added %(name)s") % {"name": name}, new_id


def _choose_free_title(document: Document, name: str) -> str:
    titles = {get_title(node) for node in document.nodes}
    number, title = 2, name
    while title in titles:
        title, number = f"{name} {number}", number + 1
    return title


def _find_free_position(
    document: Document, previous_node: NodeSpec | None, parent: str | None
) -> tuple[float, float]:
    """Return a position to the right of the previous node, or of all nodes, where the new node overlaps no other."""
    kinds = load_kinds()
    siblings = [node for node in document.nodes if node.parent == parent]
    shapes = {node.id: compute_shape(node, kinds) for node in siblings}
    if previous_node is not None:
        x = previous_node.position.x + shapes[previous_node.id].width + GAP
        y = previous_node.position.y
    elif siblings:
        x = max(node.position.x + shapes[node.id].width for node in siblings) + GAP
        y = min(node.position.y for node in siblings)
    else:
        x, y = FIRST_POSITION, FIRST_POSITION
    while other := _find_overlapping_node(siblings, shapes, x, y):
        y = other.position.y + shapes[other.id].height + 4 * GRID
    return x, y


def _find_overlapping_node(
    siblings: list[NodeSpec], shapes: Mapping[str, Shape], x: float, y: float
) -> NodeSpec | None:
    width, height = 240.0, 96.0
    for node in siblings:
        shape, position = shapes[node.id], node.position
        if (
            position.x < x + width
            and position.x + shape.width > x
            and position.y < y + height
            and position.y + shape.height > y
        ):
            return node
    return None


def _plan_connect(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    source = node.id if node else ""
    titles = {other.id: get_title(other) for other in document.nodes}
    target = values.get("target", "")
    edge = {"source": source, "handle": values.get("handle") or "source", "target": target}
    labels = {"source": titles.get(source, source), "target": titles.get(target, target)}
    label = _("Connected %(source)s to %(target)s") % labels
    return [{"op": "connect", "edge": edge}], label, source


def _plan_disconnect(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    ops: Ops = [{"op": "disconnect", "id": values.get("edge", "")}]
    return ops, _("Removed connection"), node.id if node else ""


def _plan_rename(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    id_, title = (node.id if node else ""), values.get("title", "")
    label = _("Renamed to %(name)s") % {"name": title}
    return [{"op": "rename", "id": id_, "title": title}], label, id_


def _plan_move(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    id_, parent = (node.id if node else ""), values.get("parent") or None
    x, y = _find_free_position(document, None, parent)
    op = {"op": "reparent", "id": id_, "parent": parent, "x": x, "y": y}
    return [op], _("Moved to container"), id_


def _plan_delete(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    id_ = node.id if node else ""
    graph = Graph.from_document(document)
    predecessors = graph.list_predecessors(id_) if id_ in graph.nodes else ()
    label = _("Deleted %(name)s") % {"name": get_title(node) if node else id_}
    op = {"op": "delete", "id": id_, "heal": values.get("heal") == "on"}
    return [op], label, next(iter(predecessors), "")


def _plan_switch(document: Document, node: NodeSpec | None, values: FormValues) -> PlannedEdit:
    id_ = node.id if node else ""
    op: dict[str, Json] = {"op": "set", "id": id_, "path": ["disabled"]}
    if node is not None and node.data.get("disabled") is True:
        return [op | {"remove": True}], _("Enabled %(name)s") % {"name": get_title(node)}, id_
    label = _("Disabled %(name)s") % {"name": get_title(node) if node else id_}
    return [op | {"value": True}], label, id_


_ACTIONS: Final[Mapping[str, Callable[[Document, NodeSpec | None, FormValues], PlannedEdit]]] = {
    "add": _plan_add,
    "connect": _plan_connect,
    "disconnect": _plan_disconnect,
    "rename": _plan_rename,
    "move": _plan_move,
    "delete": _plan_delete,
    "switch": _plan_switch,
}
