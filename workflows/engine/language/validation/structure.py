"""Checks that the graph is a workflow: ids, edges, one start, no cycles, nothing unreachable."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, Mode
from workflows.engine.language.dsl.limits import iter_size_errors
from workflows.engine.language.failure_policy import FAIL_HANDLE, has_fail_branch
from workflows.engine.language.graph import Graph
from workflows.engine.language.nesting import find_container_problems
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.variables import RESERVED_SOURCE_IDS


def find_size_problems(document: Document) -> list[Problem]:
    errors = iter_size_errors(len(document.nodes), len(document.edges))
    return [Problem(f"document.{part}", message) for part, message in errors]


def find_structure_problems(
    document: Document, graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    """Yield the problems of the graph. The handles of ``invalid_nodes`` are not checked, because they are unknown."""
    yield from _check_ids(document)
    yield from _check_parents(graph, kinds)
    yield from find_container_problems(graph, kinds)
    yield from _find_dangling_edges(document, graph)
    yield from _check_edges(graph, kinds, invalid_nodes)
    yield from _check_cycle(graph)
    roots = [node for node in graph.list_children(None) if _is_root(graph.nodes[node].kind, kinds)]
    yield from _check_starts(graph, roots)
    yield from _find_unreachable(graph, roots)
    yield from _check_mode(document)


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


def _find_dangling_edges(document: Document, graph: Graph) -> Iterator[Problem]:
    for edge in document.edges:
        for end in (edge.source, edge.target):
            if end not in graph.nodes:
                message = f"The edge connects to a node that doesn't exist: {end}"
                yield Problem("edge.dangling", message, edge=edge.id)


def _check_edges(
    graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    seen_edges: set[tuple[str, str, str]] = set()
    for edge in graph.edges:
        if graph.nodes[edge.source].parent != graph.nodes[edge.target].parent:
            message = "An edge can't cross the border of a container"
            yield Problem("edge.crosses", message, edge=edge.id)
        edge_key = (edge.source, edge.handle, edge.target)
        if edge_key in seen_edges:
            yield build_warning("edge.duplicate", "Duplicate edge", edge=edge.id)
        seen_edges.add(edge_key)
        yield from _check_handle(edge, graph, kinds, invalid_nodes)


def _check_handle(
    edge: EdgeSpec, graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    source = graph.nodes[edge.source]
    if source.kind not in kinds or source.id in invalid_nodes:
        return
    fail_handles = [FAIL_HANDLE] if has_fail_branch(source.data) else []
    handles = [*kinds[source.kind].list_handles(source), *fail_handles]
    if edge.handle not in handles and edge.handle != "success-branch":
        message = f"The node has no branch {edge.handle}; it has {', '.join(handles)}"
        yield build_warning("edge.handle", message, node=source.id, edge=edge.id)


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
