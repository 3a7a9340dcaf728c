"""Checks that every container can start and does something, and that every node is in a container where it may be."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, build_warning


MAX_RUN_NESTING: Final = 10
# An iteration or a loop with nothing but its start repeats nothing, and looks finished on the canvas.
_EMPTY: Final = "Nothing is inside, so every round does nothing; add a node with the + of the start inside, or drag one into it"


def find_container_problems(graph: Graph, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    """Return the problems that keep a container's body from running, empty containers, and misplaced nodes."""
    problems: list[Problem] = []
    for spec in graph.nodes.values():
        kind = kinds.get(spec.kind)
        if kind is None:
            continue
        if kind.execution is Execution.CONTAINER:
            problems += _find_entry_problems(spec, graph)
        problems += _find_position_problems(spec, kind, graph)
    return problems


def _find_entry_problems(spec: NodeSpec, graph: Graph) -> list[Problem]:
    start, children = spec.data.get("start_node_id"), graph.list_children(spec.id)
    if start and start not in children:
        message = f"The container can't start at {start}: it is not a node inside"
        return [Problem("container.start_unknown", message, node=spec.id, field="start_node_id")]
    if graph.find_entry(spec.id) is None:
        message = "The container has no start node" if children else "The container is empty"
        return [Problem("container.start_missing", message, node=spec.id, field="start_node_id")]
    if all(graph.nodes[child].kind in ENTRY_KINDS for child in children):
        return [build_warning("container.empty", _EMPTY, node=spec.id)]
    return []


def _find_position_problems(spec: NodeSpec, kind: AnyKind, graph: Graph) -> list[Problem]:
    containers = graph.list_containers(spec.id)
    if len(containers) > MAX_RUN_NESTING:
        message = f"Containers can be nested at most {MAX_RUN_NESTING} levels deep"
        return [Problem("node.too_deep", message, node=spec.id)]
    if kind.allowed_containers and (
        not containers or graph.nodes[containers[0]].kind not in kind.allowed_containers
    ):
        message = f"A node of type {kind.name} must be placed directly inside: {', '.join(sorted(kind.allowed_containers))}"
        return [Problem("node.misplaced", message, node=spec.id)]
    if kind.execution is Execution.ROOT and containers:
        message = "A run can't start inside a container"
        return [Problem("node.misplaced", message, node=spec.id)]
    return []
