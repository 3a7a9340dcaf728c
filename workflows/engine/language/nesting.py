"""What may lie in what: bodies of containers, and the nodes that belong into them."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem


MAX_NESTING: Final = 10


def container_problems(graph: Graph, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    """What keeps a container's body from running, and nodes that lie where they can't."""
    problems: list[Problem] = []
    for spec in graph.nodes.values():
        kind = kinds.get(spec.kind)
        if kind is None:
            continue
        if kind.execution is Execution.CONTAINER:
            problems += _entry_problems(spec, graph)
        problems += _place_problems(spec, kind, graph)
    return problems


def _entry_problems(spec: NodeSpec, graph: Graph) -> list[Problem]:
    start, children = spec.data.get("start_node_id"), graph.children(spec.id)
    if start and start not in children:
        message = f"The container can't start at {start}: it is not a node inside"
        return [Problem("container.start_unknown", message, node=spec.id, field="start_node_id")]
    if graph.entry(spec.id) is None:
        message = "The container has no start node" if children else "The container is empty"
        return [Problem("container.start_missing", message, node=spec.id, field="start_node_id")]
    return []


def _place_problems(spec: NodeSpec, kind: AnyKind, graph: Graph) -> list[Problem]:
    around = graph.containers_around(spec.id)
    if len(around) > MAX_NESTING:
        message = f"Containers can be nested at most {MAX_NESTING} levels deep"
        return [Problem("node.too_deep", message, node=spec.id)]
    if kind.allowed_containers and (
        not around or graph.nodes[around[0]].kind not in kind.allowed_containers
    ):
        message = f"A node of type {kind.name} must be placed directly inside: {', '.join(sorted(kind.allowed_containers))}"
        return [Problem("node.misplaced", message, node=spec.id)]
    if kind.execution is Execution.ROOT and around:
        message = "A run can't start inside a container"
        return [Problem("node.misplaced", message, node=spec.id)]
    return []
