"""Replace every node of a type that this installation lacks by nodes of another type, as one edit of the draft."""

from collections.abc import Iterator
from dataclasses import replace

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows import permissions
from workflows.engine.editing.ops import Add, Connect, Delete, Op, Set
from workflows.engine.editing.records import UNRANKED, build_edge_record, build_item
from workflows.engine.editing.references import Names, rename_references
from workflows.engine.foreign_kinds.replacement import Replacement, plan_replacement
from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.debugging.pins import load_pins
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import edit
from workflows.services.editor.drafts import load_draft


def replace_kind(
    principal: Principal, *, workflow: Workflow, missing_kind: str, kind: AnyKind
) -> Change:
    """Let nodes of the kind take the place of all nodes of a missing kind. Undo brings the old ones back.

    Each new node keeps the id, the title, the edges and the settings that fit it, as in the editor. A node that holds
    others stays, because they would be deleted with it.
    """
    permissions.check_edit(principal, workflow)
    document, pins = load_draft(workflow), load_pins(workflow)
    holders = {node.parent for node in document.nodes}
    ops: list[Op] = []
    for node in document.nodes:
        if node.kind == missing_kind and node.id not in holders:
            document, more = _replace_node(document, node.id, kind, may_rename=node.id not in pins)
            ops += more
    label = _("Replace %(old)s by %(new)s") % {"old": missing_kind[:100], "new": _(kind.title)}
    return edit(principal, workflow=workflow, ops=ops, label=label)


def _replace_node(
    document: Document, id_: str, kind: AnyKind, *, may_rename: bool
) -> tuple[Document, list[Op]]:
    """Return the document with the new node, by which the next one is planned, and the operations of its replacement."""
    old = next(node for node in document.nodes if node.id == id_)
    plan = plan_replacement(document, load_kinds(), old, kind, may_rename=may_rename)
    new = replace(old, kind=kind.name, data=plan.data, width=None, height=None, extra={})
    edges = {edge.id: edge for edge in _iter_edges(document, new, kind)}
    ops: list[Op] = [Delete(id_), Add(build_item(new, UNRANKED))]
    ops += (Connect(build_edge_record(edge, UNRANKED)) for edge in edges.values())
    ops += (Set(reader, path, value) for reader, path, value in plan.changes)
    next_document = replace(
        document,
        nodes=tuple(_iter_nodes(document, new, plan)),
        edges=tuple(edges.get(edge.id, edge) for edge in document.edges),
    )
    return next_document, ops


def _iter_edges(document: Document, new: NodeSpec, kind: AnyKind) -> Iterator[EdgeSpec]:
    """Yield the edges of the new node. The only branch of the old one continues at its first one."""
    handles = {edge.handle for edge in document.edges if edge.source == new.id}
    new_handles = list_source_handles(new, kind)
    for edge in document.edges:
        if edge.target == new.id:
            yield edge
        elif edge.source == new.id and new_handles:
            is_only = len(handles) == 1 and edge.handle != FAIL_HANDLE
            yield replace(edge, handle=new_handles[0]) if is_only else edge


def _iter_nodes(document: Document, new: NodeSpec, plan: Replacement) -> Iterator[NodeSpec]:
    """Yield the nodes with the new one, and its readers with the name of the output that they read from then on."""
    for node in document.nodes:
        if node.id == new.id:
            yield new
        elif plan.renames:
            names: Names = {(new.id, each.old): (new.id, each.new) for each in plan.renames}
            yield replace(node, data=rename_references(dict(node.data), names))
        else:
            yield node
