"""What the events of a node say about its place in the graph: its containers, and the node before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.language.containers import list_containers
from workflows.engine.language.document import Document


# Kinds of containers → the field that names them in the events of the nodes inside.
CONTAINER_FIELDS: Final[Mapping[str, str]] = {"iteration": "iteration_id", "loop": "loop_id"}
# Older names of node types in Dify's documents → what its API calls them. Every other kind keeps its name, so that an
# imported document is reported with its own types, and ours of memory with the names that they have everywhere.
NODE_TYPES: Final[Mapping[str, str]] = {
    "variable-assigner": "variable-aggregator",
}


def get_node_type(kind: str) -> str:
    return NODE_TYPES.get(kind, kind)


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of the document that runs: their kinds, their parents, and from where edges lead to them."""

    kinds: Mapping[str, str]
    titles: Mapping[str, str]
    parents: Mapping[str, str | None]
    sources: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_document(cls, document: Document) -> "Graph":
        sources: dict[str, list[str]] = {}
        for edge in document.edges:
            sources.setdefault(edge.target, []).append(edge.source)
        return cls(
            {node.id: node.kind for node in document.nodes},
            {node.id: node.title for node in document.nodes},
            {node.id: node.parent for node in document.nodes},
            {target: tuple(before) for target, before in sources.items()},
        )

    def find_containers(self, node: str) -> dict[str, str | None]:
        """Return the innermost iteration and the innermost loop around a node."""
        containers: dict[str, str | None] = dict.fromkeys(CONTAINER_FIELDS.values())
        for container in list_containers(node, self.parents):
            field = CONTAINER_FIELDS.get(self.kinds.get(container, ""))
            if field is not None and containers[field] is None:
                containers[field] = container
        return containers

    def find_predecessor(self, node: str, finished: Mapping[str, int]) -> str | None:
        """Return the node before this one that ended last. ``finished`` has the order of the nodes that ended."""
        before = [source for source in self.sources.get(node, ()) if source in finished]
        return max(before, key=lambda source: finished[source], default=None)
