"""A document's nodes and edges as a graph, with the questions one asks of it.

Edges that end nowhere and repeated ids are left out here (validation names them). Every walk is
iterative and visits a node once: a chain of 100,000 nodes or forty diamonds in a row are no trouble.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec


@dataclass(frozen=True)
class Graph:
    nodes: Mapping[str, NodeSpec]
    edges: tuple[EdgeSpec, ...]

    @staticmethod
    def of(document: Document) -> "Graph":
        nodes: dict[str, NodeSpec] = {}
        for node in document.nodes:
            nodes.setdefault(node.id, node)
        edges = tuple(
            edge for edge in document.edges if edge.source in nodes and edge.target in nodes
        )
        return Graph(nodes, edges)

    def outgoing(self, node: str) -> tuple[EdgeSpec, ...]:
        return self._outgoing.get(node, ())

    def incoming(self, node: str) -> tuple[EdgeSpec, ...]:
        return self._incoming.get(node, ())

    def successors(self, node: str, handle: str | None = None) -> tuple[str, ...]:
        """The nodes behind a node, or behind one of its handles; each once, in edge order."""
        targets = (
            edge.target for edge in self.outgoing(node) if handle is None or edge.handle == handle
        )
        return tuple(dict.fromkeys(targets))

    def predecessors(self, node: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.source for edge in self.incoming(node)))

    def roots(self, container: str | None = None) -> tuple[str, ...]:
        """Nodes of one level no edge leads to."""
        return tuple(node for node in self.children(container) if not self.incoming(node))

    def children(self, container: str | None) -> tuple[str, ...]:
        """The nodes directly inside a container; of None, those at the top."""
        return self._children.get(container, ())

    def entry(self, container: str) -> str | None:
        """Where a container's body begins: where it says so, at its start marker, or at its only root."""
        children = self.children(container)
        start = self.nodes[container].data.get("start_node_id")
        if start in children:
            return str(start)
        marked = [name for name in children if self.nodes[name].kind in ENTRY_KINDS]
        found = marked or self.roots(container)
        return found[0] if len(found) == 1 else None

    def containers_around(self, node: str) -> tuple[str, ...]:
        """From the innermost outwards. A parent that isn't there, or goes round, ends the list."""
        around: list[str] = []
        parent = self.nodes[node].parent
        while parent is not None and parent in self.nodes and parent not in around:
            around.append(parent)
            parent = self.nodes[parent].parent
        return tuple(around)

    def inside(self, container: str) -> frozenset[str]:
        """Everything in a container, however deep."""
        found: set[str] = set()
        queue = deque([container])
        while queue:
            for child in self.children(queue.popleft()):
                if child not in found:
                    found.add(child)
                    queue.append(child)
        return frozenset(found)

    def reachable(self, starts: Iterable[str]) -> frozenset[str]:
        """The starts and everything behind them; a reached container brings its body along."""
        found = {start for start in starts if start in self.nodes}
        queue = deque(found)
        while queue:
            node = queue.popleft()
            for target in (*self.successors(node), *self._entries(node)):
                if target not in found:
                    found.add(target)
                    queue.append(target)
        return frozenset(found)

    def upstream(self, node: str) -> frozenset[str]:
        """Every node from which an edge path leads here."""
        found: set[str] = set()
        queue = deque([node])
        while queue:
            for source in self.predecessors(queue.popleft()):
                if source not in found:
                    found.add(source)
                    queue.append(source)
        return frozenset(found)

    def visible_from(self, node: str) -> frozenset[str]:
        """Nodes whose outputs may exist when this one runs.

        Those upstream, the containers around it with what is upstream of *them*, and for a
        container what is inside it: its result is picked from there.
        """
        around = self.containers_around(node)
        seen = set(self.upstream(node)) | self.inside(node)
        for container in around:
            seen.add(container)
            seen |= self.upstream(container)
        return frozenset(seen)

    def is_visible(self, other: str, node: str) -> bool:
        """Whether ``other`` is among ``visible_from(node)``; quick for many pairs of one graph."""
        if node not in self.nodes or other not in self.nodes:
            return False
        around = self.containers_around(node)
        if other in around or node in self.containers_around(other):
            return True
        return any(self._leads_to(other, place) for place in (node, *around))

    def order(self) -> tuple[str, ...] | None:
        """Nodes so that every edge points forward, ties by id; None when edges go round."""
        return self._sorted if len(self._sorted) == len(self.nodes) else None

    def cycle(self) -> tuple[str, ...]:
        """One circle of nodes, or nothing."""
        left = self.nodes.keys() - set(self._sorted)
        if not left:
            return ()
        # Every node left over is on or behind a circle, so walking backwards must come round.
        path: dict[str, int] = {}
        node = min(left)
        while node not in path:
            path[node] = len(path)
            node = next(source for source in self.predecessors(node) if source in left)
        circle = list(path)[path[node] :]
        return tuple(reversed(circle))

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        """Topological order, as far as there is one."""
        waiting = {node: len(self.incoming(node)) for node in self.nodes}
        ready = deque(sorted(node for node, count in waiting.items() if count == 0))
        ordered: list[str] = []
        while ready:
            node = ready.popleft()
            ordered.append(node)
            freed = []
            for edge in self.outgoing(node):
                waiting[edge.target] -= 1
                if waiting[edge.target] == 0:
                    freed.append(edge.target)
            ready.extend(sorted(freed))
        return tuple(ordered)

    def _leads_to(self, source: str, target: str) -> bool:
        mask = self._ancestors.get(target)
        if mask is None:  # on a circle, or behind one
            return source in self.upstream(target)
        return bool(mask >> self._numbers[source] & 1)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {node: number for number, node in enumerate(self.nodes)}

    @cached_property
    def _ancestors(self) -> Mapping[str, int]:
        """Everything upstream of a node as the bits of one number: thousands of nodes take milliseconds."""
        masks: dict[str, int] = {}
        for node in self._sorted:
            mask = 0
            for edge in self.incoming(node):
                mask |= masks[edge.source] | 1 << self._numbers[edge.source]
            masks[node] = mask
        return masks

    def _entries(self, container: str) -> tuple[str, ...]:
        entry = self.entry(container)
        return (entry,) if entry is not None else self.roots(container)

    @cached_property
    def _outgoing(self) -> Mapping[str, tuple[EdgeSpec, ...]]:
        return _grouped((edge.source, edge) for edge in self.edges)

    @cached_property
    def _incoming(self) -> Mapping[str, tuple[EdgeSpec, ...]]:
        return _grouped((edge.target, edge) for edge in self.edges)

    @cached_property
    def _children(self) -> Mapping[str | None, tuple[str, ...]]:
        children: dict[str | None, list[str]] = defaultdict(list)
        for node in self.nodes.values():
            children[node.parent].append(node.id)
        return {parent: tuple(ids) for parent, ids in children.items()}


def _grouped(pairs: Iterable[tuple[str, EdgeSpec]]) -> Mapping[str, tuple[EdgeSpec, ...]]:
    groups: dict[str, list[EdgeSpec]] = defaultdict(list)
    for key, edge in pairs:
        groups[key].append(edge)
    return {key: tuple(edges) for key, edges in groups.items()}
