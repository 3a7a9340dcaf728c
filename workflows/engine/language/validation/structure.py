"""Checks that the graph is a workflow: ids, edges, one start, no cycles, nothing unreachable."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec
from workflows.engine.language.dsl.limits import (
    TOO_DEEP,
    is_nested_too_deeply,
    iter_size_errors,
)
from workflows.engine.language.failure_policy import FAIL_HANDLE, has_fail_branch
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.validation.nesting import find_container_problems
from workflows.engine.language.variables import RESERVED_SOURCE_IDS


MAX_NAMED_HANDLES: Final = 20


def find_size_problems(document: Document) -> list[Problem]:
    errors = [*iter_size_errors(len(document.nodes), len(document.edges))]
    if not errors and is_nested_too_deeply(document.nodes):
        errors.append(("nesting", TOO_DEEP))
    return [Problem(f"document.{part}", message) for part, message in errors]


def find_structure_problems(
    document: Document, graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    """Yield the problems of the graph. The handles of ``invalid_nodes`` are not checked, because they are unknown."""
    yield from _check_ids(document)
    yield from _check_parents(graph, kinds)
    yield from find_container_problems(graph, kinds)
    yield from _find_loose_edges(document)
    yield from _find_dangling_edges(document, graph)
    yield from _check_edges(graph, kinds, invalid_nodes)
    yield from _check_cycle(graph)
    roots = _list_roots(graph, kinds)
    yield from _check_starts(graph, roots)
    yield from _find_unreachable(graph, roots)
    yield from _check_mode(document)


def is_reachable(graph: Graph, kinds: Mapping[str, AnyKind], node_id: str) -> bool:
    """Return whether a path from a start leads to the node; without a start it can't be told, and counts as yes."""
    roots = _list_roots(graph, kinds)
    return not roots or node_id in graph.find_reachable(roots)


def _list_roots(graph: Graph, kinds: Mapping[str, AnyKind]) -> list[str]:
    return [node for node in graph.list_children(None) if _is_root(graph.nodes[node].kind, kinds)]


def _check_ids(document: Document) -> Iterator[Problem]:
    ids = [*(node.id for node in document.nodes), *(note.id for note in document.notes)]
    for node_id in _find_repeated(ids):
        yield Problem("node.duplicate_id", f"Duplicate node ID {node_id}", node=node_id)
    for edge_id in _find_repeated(edge.id for edge in document.edges):
        yield Problem("edge.duplicate_id", f"Duplicate edge ID {edge_id}", edge=edge_id)
    for node in document.nodes:
        if not node.id:
            yield Problem("node.id_missing", f"A node of type {node.kind} has no ID")
        if node.id in RESERVED_SOURCE_IDS:
            message = f"{node.id} is reserved for built-in variables; use another node ID"
            yield Problem("node.id_reserved", message, node=node.id)


def _check_parents(graph: Graph, kinds: Mapping[str, AnyKind]) -> Iterator[Problem]:
    for node in graph.nodes.values():
        if node.parent is None:
            continue
        parent = graph.nodes.get(node.parent)
        if parent is None:
            message = f"The parent container {node.parent} doesn't exist"
            yield Problem("node.parent_unknown", message, node=node.id)
        elif node.id in graph.list_containers(node.id):
            yield Problem("node.parent_circle", "The node is nested in itself", node=node.id)
        elif parent.kind in kinds and kinds[parent.kind].execution is not Execution.CONTAINER:
            message = f"{parent.title or parent.id} is not a container"
            yield Problem("node.parent_kind", message, node=node.id)


def _find_loose_edges(document: Document) -> Iterator[Problem]:
    for edge in document.edges:
        if not edge.is_complete:
            yield Problem("edge.ends", _describe_loose_edge(edge), edge=edge.id)


def _describe_loose_edge(edge: EdgeSpec) -> str:
    if edge.source:
        return f"The edge from “{edge.source}” has no target; delete it, or connect the nodes anew"
    if edge.target:
        return f"The edge to “{edge.target}” has no source; delete it, or connect the nodes anew"
    return "An edge has neither a source nor a target; delete it"


def _find_dangling_edges(document: Document, graph: Graph) -> Iterator[Problem]:
    for edge in document.edges:
        for end in (edge.source, edge.target):
            if end and end not in graph.nodes:
                message = f"The edge connects to a node that doesn't exist: {end}"
                yield Problem("edge.dangling", message, edge=edge.id)


def _check_edges(
    graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    seen_edges: set[tuple[str, str, str]] = set()
    handles: dict[str, dict[str, None]] = {}
    for edge in graph.edges:
        if graph.nodes[edge.source].parent != graph.nodes[edge.target].parent:
            message = "An edge can't cross the border of a container"
            yield Problem("edge.crosses", message, edge=edge.id)
        edge_key = (edge.source, edge.handle, edge.target)
        if edge_key in seen_edges:
            yield build_warning("edge.duplicate", "Duplicate edge", edge=edge.id)
        seen_edges.add(edge_key)
        source = graph.nodes[edge.source]
        if source.kind in kinds and source.id not in invalid_nodes:
            if source.id not in handles:
                handles[source.id] = _list_handles(source, kinds[source.kind])
            yield from _check_handle(edge, handles[source.id])


def _list_handles(node: NodeSpec, kind: AnyKind) -> dict[str, None]:
    """Return the handles of a node as keys, because there may be thousands to look up."""
    fail_handles = (FAIL_HANDLE,) if has_fail_branch(node.data) else ()
    return dict.fromkeys((*kind.list_handles(node), *fail_handles))


def _check_handle(edge: EdgeSpec, handles: Mapping[str, None]) -> Iterator[Problem]:
    if edge.handle not in handles and edge.handle != "success-branch":
        more = ", …" if len(handles) > MAX_NAMED_HANDLES else ""
        names = ", ".join(islice(handles, MAX_NAMED_HANDLES)) + more
        message = f"The node has no branch {edge.handle}; it has {names}"
        yield build_warning("edge.handle", message, node=edge.source, edge=edge.id)


def _check_cycle(graph: Graph) -> Iterator[Problem]:
    cycle = graph.find_cycle()
    if cycle:
        path = " → ".join((*cycle, cycle[0]))
        message = f"The edges form a cycle: {path}. Use a Loop node to repeat steps"
        yield Problem("graph.cycle", message, node=cycle[0])


def _check_starts(graph: Graph, roots: list[str]) -> Iterator[Problem]:
    if not roots:
        yield Problem("root.missing", "The workflow has no Start node")
    starts = [node for node in roots if graph.nodes[node].kind == "start"]
    for node in starts[1:]:
        yield Problem("root.several", f"There is already a Start node: {starts[0]}", node=node)
    if starts and len(starts) < len(roots):
        for node in roots:
            if graph.nodes[node].kind != "start":
                message = "A workflow starts with a Start node or with triggers, not both"
                yield Problem("root.mixed", message, node=node)


def _find_unreachable(graph: Graph, roots: list[str]) -> Iterator[Problem]:
    if not roots:
        return
    reached = graph.find_reachable(roots)
    for node in graph.nodes:
        if node not in reached:
            message = "The node is not reachable from the Start node and never runs"
            yield build_warning("node.unreachable", message, node=node)


def _check_mode(document: Document) -> Iterator[Problem]:
    """Warn when a chat has no Answer node, or a workflow no End node."""
    kinds = {node.kind for node in document.nodes}
    expected, unexpected = ("answer", "end") if document.mode is Mode.CHAT else ("end", "answer")
    if expected not in kinds:
        message = f"There is no {expected} node, so the workflow has no output"
        yield build_warning(f"mode.no_{expected}", message)
    for node in document.nodes:
        if node.kind == unexpected:
            message = f"A {document.mode} app returns its output through {expected} nodes; this node may be ignored"
            yield build_warning(f"mode.{unexpected}", message, node=node.id)


def _is_root(kind_name: str, kinds: Mapping[str, AnyKind]) -> bool:
    if kind_name in kinds:
        return kinds[kind_name].execution is Execution.ROOT
    return kind_name == "start" or kind_name.startswith("trigger-")


def _find_repeated(ids: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(ids).items() if count > 1]
