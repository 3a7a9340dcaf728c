"""Nodes that are switched off: for a run, and for checking, they aren't there, and the way leads past them.

``data.disabled`` is true in the document, which keeps the node, its edges and its unfinished settings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec
from workflows.engine.language.problems import Problem, warning


def is_disabled(node: NodeSpec) -> bool:
    return node.data.get("disabled") is True


def without_disabled(document: Document, kinds: Mapping[str, AnyKind]) -> Document:
    """Edges into a disabled node go on to where its first way out leads; a container takes its inside along."""
    off = {node.id for node in document.nodes if is_disabled(node) and not _is_root(node, kinds)}
    if not off:
        return document
    gone = _with_insides(document, off)
    edges = list(document.edges)
    for node in document.nodes:
        if node.id in off:
            edges = _past(node, edges, kinds)
    kept = tuple(node for node in document.nodes if node.id not in gone)
    inside = gone - off
    left = tuple(e for e in edges if e.source not in inside and e.target not in inside)
    return replace(document, nodes=kept, edges=left)


def bypass_problems(document: Document, kinds: Mapping[str, AnyKind]) -> Iterator[Problem]:
    for node in document.nodes:
        if is_disabled(node) and _is_root(node, kinds):
            message = "A Start node can't be disabled; it still runs"
            yield warning("node.disabled_start", message, node=node.id, field="disabled")


def disabled_ids(document: Document, kinds: Mapping[str, AnyKind]) -> frozenset[str]:
    """Every node that a run does without, the insides of containers included."""
    kept = {node.id for node in without_disabled(document, kinds).nodes}
    return frozenset(node.id for node in document.nodes) - kept


def _past(node: NodeSpec, edges: list[EdgeSpec], kinds: Mapping[str, AnyKind]) -> list[EdgeSpec]:
    arriving = [edge for edge in edges if edge.target == node.id and edge.source != node.id]
    leaving = [edge for edge in edges if edge.source == node.id and edge.target != node.id]
    way_out = _first_handle(node, leaving, kinds)
    rest = [edge for edge in edges if node.id not in (edge.source, edge.target)]
    known = {_ends(edge) for edge in rest}
    for first in arriving:
        for then in leaving:
            if then.handle != way_out:
                continue
            joined = EdgeSpec(
                id=f"{first.id}+{then.id}",
                source=first.source,
                target=then.target,
                handle=first.handle,
                target_handle=then.target_handle,
            )
            if _ends(joined) not in known:
                known.add(_ends(joined))
                rest.append(joined)
    return rest


def _first_handle(
    node: NodeSpec, leaving: list[EdgeSpec], kinds: Mapping[str, AnyKind]
) -> str | None:
    used = {edge.handle for edge in leaving}
    for handle in _handles(node, kinds):
        if handle in used:
            return handle
        break
    return leaving[0].handle if leaving and "source" not in used else "source"


def _handles(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> tuple[str, ...]:
    kind = kinds.get(node.kind)
    if kind is None:
        return ("source",)
    try:
        return kind.handles(node)
    except Exception:  # its settings may be half done, that is why it is off
        return ()


def _ends(edge: EdgeSpec) -> tuple[str, str, str, str]:
    return edge.source, edge.handle, edge.target, edge.target_handle


def _is_root(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> bool:
    kind = kinds.get(node.kind)
    return kind is not None and kind.execution is Execution.ROOT


def _with_insides(document: Document, nodes: set[str]) -> set[str]:
    found, grew = set(nodes), True
    while grew:
        more = {node.id for node in document.nodes if node.parent in found} - found
        found |= more
        grew = bool(more)
    return found
