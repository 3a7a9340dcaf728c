"""Is the drawing a workflow: ids, edges, one start, no circles, nothing left hanging."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, Mode
from workflows.engine.language.dsl.strict import MAX_EDGES, MAX_NODES
from workflows.engine.language.graph import Graph
from workflows.engine.language.nesting import container_problems
from workflows.engine.language.problems import Problem, warning
from workflows.engine.language.variables import RESERVED_HEADS


FAIL_BRANCH: Final = "fail-branch"


def size_problems(document: Document) -> list[Problem]:
    sizes = (
        ("nodes", len(document.nodes), MAX_NODES),
        ("edges", len(document.edges), MAX_EDGES),
    )
    return [
        Problem(
            f"document.{what}", f"A workflow can have at most {most} {what}, this one has {count}"
        )
        for what, count, most in sizes
        if count > most
    ]


def structure_problems(
    document: Document, graph: Graph, kinds: Mapping[str, AnyKind], broken: Container[str]
) -> Iterator[Problem]:
    """``broken`` nodes have a configuration that can't be read: their handles aren't known."""
    yield from _ids(document)
    yield from _parents(graph, kinds)
    yield from container_problems(graph, kinds)
    yield from _dangling(document, graph)
    yield from _edges(graph, kinds, broken)
    yield from _circle(graph)
    roots = [node for node in graph.children(None) if _is_root(graph.nodes[node].kind, kinds)]
    yield from _starts(graph, roots)
    yield from _unreachable(graph, roots)
    yield from _voices(document)


def is_guarded(data: Mapping[str, object]) -> bool:
    """Whether a failure of the node goes a way of its own."""
    strategy = data.get("error_strategy")
    return (strategy.get("type") if isinstance(strategy, Mapping) else strategy) == FAIL_BRANCH


def _ids(document: Document) -> Iterator[Problem]:
    ids = [*(node.id for node in document.nodes), *(note.id for note in document.notes)]
    for node_id in _repeated(ids):
        yield Problem("node.duplicate_id", f"Duplicate node ID {node_id}", node=node_id)
    for edge_id in _repeated(edge.id for edge in document.edges):
        yield Problem("edge.duplicate_id", f"Duplicate edge ID {edge_id}", edge=edge_id)
    for node in document.nodes:
        if not node.id:
            yield Problem("node.id_missing", f"A node of type {node.kind} has no ID")
        if node.id in RESERVED_HEADS:
            message = f"{node.id} is reserved for built-in variables; use another node ID"
            yield Problem("node.id_reserved", message, node=node.id)


def _parents(graph: Graph, kinds: Mapping[str, AnyKind]) -> Iterator[Problem]:
    for node in graph.nodes.values():
        if node.parent is None:
            continue
        parent = graph.nodes.get(node.parent)
        if parent is None:
            message = f"The parent container {node.parent} doesn't exist"
            yield Problem("node.parent_unknown", message, node=node.id)
        elif node.id in graph.containers_around(node.id):
            yield Problem("node.parent_circle", "The node is nested in itself", node=node.id)
        elif parent.kind in kinds and kinds[parent.kind].execution is not Execution.CONTAINER:
            message = f"{parent.title or parent.id} is not a container"
            yield Problem("node.parent_kind", message, node=node.id)


def _dangling(document: Document, graph: Graph) -> Iterator[Problem]:
    for edge in document.edges:
        for end in (edge.source, edge.target):
            if end not in graph.nodes:
                message = f"The edge connects to a node that doesn't exist: {end}"
                yield Problem("edge.dangling", message, edge=edge.id)


def _edges(graph: Graph, kinds: Mapping[str, AnyKind], broken: Container[str]) -> Iterator[Problem]:
    seen: set[tuple[str, str, str]] = set()
    for edge in graph.edges:
        if graph.nodes[edge.source].parent != graph.nodes[edge.target].parent:
            message = "An edge can't cross the border of a container"
            yield Problem("edge.crosses", message, edge=edge.id)
        way = (edge.source, edge.handle, edge.target)
        if way in seen:
            yield warning("edge.duplicate", "Duplicate edge", edge=edge.id)
        seen.add(way)
        yield from _handle(edge, graph, kinds, broken)


def _handle(
    edge: EdgeSpec, graph: Graph, kinds: Mapping[str, AnyKind], broken: Container[str]
) -> Iterator[Problem]:
    source = graph.nodes[edge.source]
    if source.kind not in kinds or source.id in broken:
        return
    known = [*kinds[source.kind].handles(source), *([FAIL_BRANCH] * is_guarded(source.data))]
    if edge.handle not in known and edge.handle != "success-branch":
        message = f"The node has no branch {edge.handle}; it has {', '.join(known)}"
        yield warning("edge.handle", message, node=source.id, edge=edge.id)


def _circle(graph: Graph) -> Iterator[Problem]:
    circle = graph.cycle()
    if circle:
        way = " → ".join((*circle, circle[0]))
        message = f"The edges form a cycle: {way}. Use a Loop node to repeat steps"
        yield Problem("graph.cycle", message, node=circle[0])


def _starts(graph: Graph, roots: list[str]) -> Iterator[Problem]:
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


def _unreachable(graph: Graph, roots: list[str]) -> Iterator[Problem]:
    if not roots:
        return
    reached = graph.reachable(roots)
    for node in graph.nodes:
        if node not in reached:
            message = "The node is not reachable from the Start node and never runs"
            yield warning("node.unreachable", message, node=node)


def _voices(document: Document) -> Iterator[Problem]:
    """A chat answers, a workflow ends."""
    kinds = {node.kind for node in document.nodes}
    wanted, other = ("answer", "end") if document.mode is Mode.CHAT else ("end", "answer")
    if wanted not in kinds:
        yield warning(
            f"mode.no_{wanted}", f"There is no {wanted} node, so the workflow has no output"
        )
    for node in document.nodes:
        if node.kind == other:
            message = f"A {document.mode} app returns its output through {wanted} nodes; this node may be ignored"
            yield warning(f"mode.{other}", message, node=node.id)


def _is_root(kind: str, kinds: Mapping[str, AnyKind]) -> bool:
    if kind in kinds:
        return kinds[kind].execution is Execution.ROOT
    return kind == "start" or kind.startswith("trigger-")


def _repeated(ids: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(ids).items() if count > 1]
