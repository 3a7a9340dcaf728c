"""The outline as a page of its own: every operation a form, for who has no JavaScript, no mouse, or no room."""

from collections.abc import Callable, Mapping
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
from workflows.engine.language.validation import validate
from workflows.errors import EditClash, NothingToUndo
from workflows.models import Workflow
from workflows.services.editing import gestures, undo
from workflows.services.editing.operation_context import generate_id
from workflows.services.kinds import installed_kinds
from workflows.templatetags.problems import in_words
from workflows.views.canvas.summaries import Way
from workflows.views.catalog.workflow_page import document_for
from workflows.views.editor.outline import rows_of, title_of, way_name, ways_of
from workflows.views.editor.palette import Offer, list_offers
from workflows.views.request_context import typed, workflow_for


GAP = 96.0
FIRST = 64.0  # where the first node of an empty scope goes


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def outline(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    verb = "edit" if request.method == "POST" else "view"
    principal, workflow = workflow_for(request, workflow_id, verb)
    if request.method == "POST":
        chosen = _do(request, principal, workflow)
        address = reverse("workflows:outline", args=[workflow.pk])
        query = f"?{urlencode({'node': chosen})}#chosen" if chosen else ""
        return redirect(address + query)
    document = document_for(principal, workflow)
    problems = list(validate(document, installed_kinds()))
    context = {
        "rows": rows_of(document, problems),
        "base": reverse("workflows:outline", args=[workflow.pk]),
        "workflow": workflow,
    }
    if "fragment" in request.GET:
        return render(request, "editor/outline/_tree.html", context)
    context |= _page(request, principal, workflow, document) | {
        "wrong": [p for p in problems if p.node and p.node == typed(request.GET, "node")]
    }
    return render(request, "editor/outline/outline.html", context)


def _page(
    request: HttpRequest, principal: Principal, workflow: Workflow, document: Document
) -> dict[str, Any]:
    nodes = {node.id: node for node in document.nodes}
    node = nodes.get(typed(request.GET, "node"))
    groups = list_offers(workflow.mode)
    context: dict[str, Any] = {
        "can_edit": permissions.may_edit(principal, workflow),
        "base": reverse("workflows:outline", args=[workflow.pk]),
        "palette": groups,
        "chosen": node.id if node else "",
        "node": node,
    }
    if node is None:
        return context
    offers = {offer.kind: offer for group in groups for offer in group.offers}
    return context | _of_node(node, document, nodes, offers)


def _of_node(
    node: NodeSpec, document: Document, nodes: Mapping[str, NodeSpec], offers: Mapping[str, Offer]
) -> dict[str, Any]:
    graph = Graph.of(document)
    kinds = installed_kinds()
    forms = {id_: compute_shape(each, kinds) for id_, each in nodes.items()}
    inside = graph.inside(node.id) | {node.id}
    return {
        "title": title_of(node),
        "disabled": node.data.get("disabled") is True,
        "ways": [(way.handle, _said(way)) for way in ways_of(node)],
        "into": [(edge.id, title_of(nodes[edge.source])) for edge in graph.incoming(node.id)],
        "out": [
            (edge.id, edge.handle, title_of(nodes[edge.target])) for edge in graph.outgoing(node.id)
        ],
        "targets": [
            (other.id, title_of(other))
            for other in document.nodes
            if other.parent == node.parent
            and other.id != node.id
            and forms[other.id].has_target_handle
        ],
        "containers": [
            (other.id, title_of(other))
            for other in document.nodes
            if forms[other.id].is_box and other.id not in inside and other.id != node.parent
        ],
        "is_movable": forms[node.id].has_target_handle,
        "holds": node.kind in offers and offers[node.kind].holds,
    }


def _said(way: Way) -> str:
    return way_name(way) or way.handle


def _do(request: HttpRequest, principal: Principal, workflow: Workflow) -> str:
    """What was asked for, said afterwards; gives the node to show next."""
    asked, node = typed(request.POST, "do"), typed(request.POST, "node")
    if asked in {"undo", "redo"}:
        _go_back(request, principal, workflow, asked)
        return node
    document = document_for(principal, workflow)
    known = {each.id: each for each in document.nodes}
    if asked not in _ACTS or (node and node not in known):
        messages.error(request, _("This node no longer exists."))
        return ""
    given = {name: typed(request.POST, name) for name in request.POST}
    ops, label, chosen = _ACTS[asked](document, known.get(node), given)
    try:
        gestures.edit(
            principal, workflow=workflow, ops=read_ops(ops), label=label, client="outline"
        )
    except EditRefused as refused:
        for problem in refused.problems:
            messages.error(request, in_words(problem))
        return node
    messages.success(request, label)
    return chosen


def _go_back(request: HttpRequest, principal: Principal, workflow: Workflow, way: str) -> None:
    act = undo.undo if way == "undo" else undo.redo
    try:
        act(principal, workflow=workflow, client="outline")
    except (EditClash, NothingToUndo) as refused:
        messages.error(request, str(refused))


Given = Mapping[str, str]
Ops = list[dict[str, Json]]
Done = tuple[Ops, str, str]  # operations, what they are called, the node to show next


def _add(document: Document, node: NodeSpec | None, given: Given) -> Done:
    kind = installed_kinds().get(given.get("kind", ""))
    name = _(kind.title) if kind else given.get("kind", "")
    parent = given.get("parent") or (node.parent if node else None)
    new = generate_id(given.get("kind", ""))
    x, y = _place(document, node if not given.get("parent") else None, parent)
    ops: Ops = [
        {
            "op": "add",
            "node": {
                "id": new,
                "kind": given.get("kind", ""),
                "title": _free_title(document, name),
                "x": x,
                "y": y,
                "parent": parent or None,
            },
        }
    ]
    if node is not None and not given.get("parent") and given.get("handle"):
        edge = {"source": node.id, "handle": given["handle"], "target": new}
        ops.append({"op": "connect", "edge": edge})
    return ops, _("Added %(name)s") % {"name": name}, new


def _free_title(document: Document, name: str) -> str:
    taken = {title_of(node) for node in document.nodes}
    number, title = 2, name
    while title in taken:
        title, number = f"{name} {number}", number + 1
    return title


def _place(document: Document, after: NodeSpec | None, parent: str | None) -> tuple[float, float]:
    """To the right of the node, or of everything; lower, until nothing is in the way."""
    kinds = installed_kinds()
    level = [node for node in document.nodes if node.parent == parent]
    forms = {node.id: compute_shape(node, kinds) for node in level}
    if after is not None:
        x, y = after.position.x + forms[after.id].width + GAP, after.position.y
    elif level:
        x = max(node.position.x + forms[node.id].width for node in level) + GAP
        y = min(node.position.y for node in level)
    else:
        x, y = FIRST, FIRST
    while other := _in_the_way(level, forms, x, y):
        y = other.position.y + forms[other.id].height + 4 * GRID
    return x, y


def _in_the_way(
    level: list[NodeSpec], forms: Mapping[str, Shape], x: float, y: float
) -> NodeSpec | None:
    width, height = 240.0, 96.0
    for node in level:
        form, at = forms[node.id], node.position
        if (
            at.x < x + width
            and at.x + form.width > x
            and at.y < y + height
            and at.y + form.height > y
        ):
            return node
    return None


def _connect(document: Document, node: NodeSpec | None, given: Given) -> Done:
    source = node.id if node else ""
    names = {each.id: title_of(each) for each in document.nodes}
    target = given.get("target", "")
    edge = {"source": source, "handle": given.get("handle") or "source", "target": target}
    said = {"source": names.get(source, source), "target": names.get(target, target)}
    label = _("Connected %(source)s to %(target)s") % said
    return [{"op": "connect", "edge": edge}], label, source


def _disconnect(document: Document, node: NodeSpec | None, given: Given) -> Done:
    ops: Ops = [{"op": "disconnect", "id": given.get("edge", "")}]
    return ops, _("Removed connection"), node.id if node else ""


def _rename(document: Document, node: NodeSpec | None, given: Given) -> Done:
    id_, title = (node.id if node else ""), given.get("title", "")
    label = _("Renamed to %(name)s") % {"name": title}
    return [{"op": "rename", "id": id_, "title": title}], label, id_


def _move(document: Document, node: NodeSpec | None, given: Given) -> Done:
    id_, parent = (node.id if node else ""), given.get("parent") or None
    x, y = _place(document, None, parent)
    op = {"op": "reparent", "id": id_, "parent": parent, "x": x, "y": y}
    return [op], _("Moved to container"), id_


def _delete(document: Document, node: NodeSpec | None, given: Given) -> Done:
    id_ = node.id if node else ""
    graph = Graph.of(document)
    before = graph.predecessors(id_) if id_ in graph.nodes else ()
    label = _("Deleted %(name)s") % {"name": title_of(node) if node else id_}
    op = {"op": "delete", "id": id_, "heal": given.get("heal") == "on"}
    return [op], label, next(iter(before), "")


def _switch(document: Document, node: NodeSpec | None, given: Given) -> Done:
    id_ = node.id if node else ""
    op: dict[str, Json] = {"op": "set", "id": id_, "path": ["disabled"]}
    if node is not None and node.data.get("disabled") is True:
        return [op | {"remove": True}], _("Enabled %(name)s") % {"name": title_of(node)}, id_
    label = _("Disabled %(name)s") % {"name": title_of(node) if node else id_}
    return [op | {"value": True}], label, id_


_ACTS: Final[Mapping[str, Callable[[Document, NodeSpec | None, Given], Done]]] = {
    "add": _add,
    "connect": _connect,
    "disconnect": _disconnect,
    "rename": _rename,
    "move": _move,
    "delete": _delete,
    "switch": _switch,
}
