"""Bypasses disabled nodes: runs and validation use the document without them.

A disabled node stays in the document with its edges and settings, and has ``disabled`` in its data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec
from workflows.engine.language.graph import include_inner_nodes
from workflows.engine.language.problems import Problem, build_warning


def is_disabled(node: NodeSpec) -> bool:
    return node.data.get("disabled") is True


def remove_disabled(
    document: Document, kinds: Mapping[str, AnyKind]
) -> tuple[Document, frozenset[str]]:
    """Return the document without disabled nodes and the nodes inside them, and the ids of the removed nodes.

    Edges into a disabled node continue to where its first handle leads.
    """
    disabled = {
        node.id for node in document.nodes if is_disabled(node) and not _is_root(node, kinds)
    }
    if not disabled:
        return document, frozenset()
    removed = include_inner_nodes(document, disabled)
    edges = list(document.edges)
    for node in document.nodes:
        if node.id in disabled:
            edges = _bypass(node, edges, kinds)
    nodes = tuple(node for node in document.nodes if node.id not in removed)
    nested = removed - disabled
    remaining_edges = tuple(e for e in edges if e.source not in nested and e.target not in nested)
    return replace(document, nodes=nodes, edges=remaining_edges), frozenset(removed)


def find_disabled_problems(document: Document, kinds: Mapping[str, AnyKind]) -> Iterator[Problem]:
    for node in document.nodes:
        if is_disabled(node) and _is_root(node, kinds):
            message = "A Start node can't be disabled; it still runs"
            yield build_warning("node.disabled_start", message, node=node.id, field="disabled")


def _bypass(node: NodeSpec, edges: list[EdgeSpec], kinds: Mapping[str, AnyKind]) -> list[EdgeSpec]:
    """Return the edges without those of the node, whose predecessors are joined to its successors instead."""
    incoming_edges = [edge for edge in edges if edge.target == node.id and edge.source != node.id]
    outgoing_edges = [edge for edge in edges if edge.source == node.id and edge.target != node.id]
    first_handle = _get_first_handle(node, outgoing_edges, kinds)
    kept_edges = [edge for edge in edges if node.id not in (edge.source, edge.target)]
    existing = {_get_ends(edge) for edge in kept_edges}
    for incoming in incoming_edges:
        for outgoing in outgoing_edges:
            if outgoing.handle != first_handle:
                continue
            joined = EdgeSpec(
                id=f"{incoming.id}+{outgoing.id}",
                source=incoming.source,
                target=outgoing.target,
                handle=incoming.handle,
                target_handle=outgoing.target_handle,
            )
            if _get_ends(joined) not in existing:
                existing.add(_get_ends(joined))
                kept_edges.append(joined)
    return kept_edges


def _get_first_handle(
    node: NodeSpec, outgoing_edges: list[EdgeSpec], kinds: Mapping[str, AnyKind]
) -> str | None:
    used = {edge.handle for edge in outgoing_edges}
    handles = _list_handles(node, kinds)
    if handles and handles[0] in used:
        return handles[0]
    return outgoing_edges[0].handle if outgoing_edges and "source" not in used else "source"


def _list_handles(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> tuple[str, ...]:
    kind = kinds.get(node.kind)
    if kind is None:
        return ("source",)
    try:
        return kind.list_handles(node)
    except Exception:  # its settings may be incomplete
        return ()


def _get_ends(edge: EdgeSpec) -> tuple[str, str, str, str]:
    return edge.source, edge.handle, edge.target, edge.target_handle


def _is_root(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> bool:
    kind = kinds.get(node.kind)
    return kind is not None and kind.execution is Execution.ROOT
