"""The nodes and edges of a document as a graph, with its queries.

Dangling edges and repeated ids are left out (validation reports them). Every traversal is iterative and visits a node
once, so that 100,000 nodes in a row or forty diamonds are fast.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from workflows.engine.language.containers import ENTRY_KINDS, MAX_NESTING
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec


@dataclass(frozen=True)
class Graph:
    """Nodes by id, and the edges between them."""

    nodes: Mapping[str, NodeSpec]
    edges: tuple[EdgeSpec, ...]

    @staticmethod
    def from_document(document: Document) -> "Graph":
        nodes: dict[str, NodeSpec] = {}
        for node in document.nodes:
            nodes.setdefault(node.id, node)
        edges = tuple(
            edge for edge in document.edges if edge.source in nodes and edge.target in nodes
        )
        return Graph(nodes, edges)

    def list_outgoing(self, node: str) -> tuple[EdgeSpec, ...]:
        return self._outgoing.get(node, ())

    def list_incoming(self, node: str) -> tuple[EdgeSpec, ...]:
        return self._incoming.get(node, ())

    def list_successors(self, node: str) -> tuple[str, ...]:
        """Return the nodes to which edges lead from a node, each once, in the order of the edges."""
        return tuple(dict.fromkeys(edge.target for edge in self.list_outgoing(node)))

    def list_predecessors(self, node: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.source for edge in self.list_incoming(node)))

    def list_roots(self, container: str | None = None) -> tuple[str, ...]:
        """Return the nodes of one level that no edge leads to."""
        return tuple(node for node in self.list_children(container) if not self.list_incoming(node))

    def list_children(self, container: str | None) -> tuple[str, ...]:
        """Return the nodes directly inside a container, or the nodes at the top level for None."""
        return self._children.get(container, ())

    def find_entry(self, container: str) -> str | None:
        """Return the node at which a body begins: its declared start, its start marker, or its only root."""
        children = self.list_children(container)
        start = self.nodes[container].data.get("start_node_id")
        if start in children:
            return str(start)
        marked_entries = [child for child in children if self.nodes[child].kind in ENTRY_KINDS]
        candidates = marked_entries or self.list_roots(container)
        return candidates[0] if len(candidates) == 1 else None

    def list_containers(self, node: str) -> tuple[str, ...]:
        """Return the containers around a node, innermost first. A missing or cyclic parent ends the list, and too many do."""
        containers: list[str] = []
        parent = self.nodes[node].parent
        while parent is not None and parent in self.nodes and parent not in containers:
            if len(containers) > MAX_NESTING:
                break
            containers.append(parent)
            parent = self.nodes[parent].parent
        return tuple(containers)

    def list_inside(self, container: str) -> frozenset[str]:
        """Return everything inside a container, at every depth."""
        return traverse([container], self.list_children)

    def find_reachable(self, starts: Iterable[str]) -> frozenset[str]:
        """Return the starts and all nodes to which they lead, with the bodies of reached containers."""
        nodes = frozenset(start for start in starts if start in self.nodes)
        return nodes | traverse(
            nodes, lambda node: (*self.list_successors(node), *self._list_entries(node))
        )

    def find_reachable_siblings(self, start: str) -> frozenset[str]:
        """Return a node and everything behind it on the paths that stay inside its container."""
        siblings = frozenset(self.list_children(self.nodes[start].parent))
        inner = traverse([start], lambda node: siblings.intersection(self.list_successors(node)))
        return inner | {start}

    def find_decided(self, branch: str, handles: Iterable[str]) -> frozenset[str]:
        """Return the nodes that run or not as a branch decides, with everything inside those that are containers.

        They are behind at least one of its handles, but not behind every one. A node behind all of them that a nested
        branch may skip is decided by that one.
        """
        outgoing = self.list_outgoing(branch)
        names = dict.fromkeys((*handles, *(edge.handle for edge in outgoing)))
        bits = {handle: 1 << number for number, handle in enumerate(names)}
        masks: dict[str, int] = defaultdict(int)  # of each node: the handles that it is behind
        for edge in outgoing:
            masks[edge.target] |= bits[edge.handle]
        behind = traverse([branch], self.list_successors)
        for node in self._topological_order:
            if node in behind:
                for target in self.list_successors(node):
                    masks[target] |= masks[node]
        every_handle = (1 << len(bits)) - 1
        decided = {node for node in behind if masks[node] != every_handle}
        return frozenset(decided) | traverse(decided, self.list_children)

    def find_upstream(self, node: str) -> frozenset[str]:
        """Return every node from which a path leads to the given node."""
        return traverse([node], self.list_predecessors)

    def find_visible(self, node: str) -> frozenset[str]:
        """Return the nodes whose outputs may exist when the node runs.

        These are the nodes upstream, the containers around it with the nodes upstream of *them*, and for a container
        its content, which provides its result.
        """
        containers = self.list_containers(node)
        visible = set(self.find_upstream(node)) | self.list_inside(node)
        for container in containers:
            visible.add(container)
            visible |= self.find_upstream(container)
        return frozenset(visible)

    def is_visible(self, other: str, node: str) -> bool:
        """Return whether ``other`` is in ``find_visible(node)``. This is quick for many pairs of one graph."""
        if node not in self.nodes or other not in self.nodes:
            return False
        containers = self.list_containers(node)
        if other in containers or node in self.list_containers(other):
            return True
        return any(self._has_path(other, target) for target in (node, *containers))

    def sort_nodes(self) -> tuple[str, ...] | None:
        """Return the nodes in topological order, or None if there is a cycle. Nodes that get ready together are sorted by id."""
        return self._topological_order if len(self._topological_order) == len(self.nodes) else None

    def find_cycle(self) -> tuple[str, ...]:
        """Return the nodes of one cycle, or none."""
        remaining = self.nodes.keys() - set(self._topological_order)
        if not remaining:
            return ()
        # Every remaining node is on or behind a cycle, so following edges backwards finds the cycle.
        path: dict[str, int] = {}
        node = min(remaining)
        while node not in path:
            path[node] = len(path)
            node = next(source for source in self.list_predecessors(node) if source in remaining)
        cycle = list(path)[path[node] :]
        return tuple(reversed(cycle))

    @cached_property
    def _topological_order(self) -> tuple[str, ...]:
        """Return the topological order of the nodes that are not on or behind a cycle."""
        indegrees = {node: len(self.list_incoming(node)) for node in self.nodes}
        ready = deque(sorted(node for node, count in indegrees.items() if count == 0))
        ordered: list[str] = []
        while ready:
            node = ready.popleft()
            ordered.append(node)
            unblocked = []
            for edge in self.list_outgoing(node):
                indegrees[edge.target] -= 1
                if indegrees[edge.target] == 0:
                    unblocked.append(edge.target)
            ready.extend(sorted(unblocked))
        return tuple(ordered)

    def _has_path(self, source: str, target: str) -> bool:
        return bool(self._ancestor_masks[target] >> self._bit_positions[source] & 1)

    @cached_property
    def _bit_positions(self) -> Mapping[str, int]:
        return {node: number for number, node in enumerate(self.nodes)}

    @cached_property
    def _ancestor_masks(self) -> Mapping[str, int]:
        """Map each node to the nodes upstream of it, as the bits of one number, so that large graphs take milliseconds."""
        masks: dict[str, int] = {}
        components = _list_components(self.nodes, self.list_successors, self.list_predecessors)
        for component in components:
            # Inside a component every node is upstream of every other, and of itself if it is on a circle.
            mask = 0
            for node in component:
                for source in self.list_predecessors(node):
                    mask |= masks.get(source, 0) | 1 << self._bit_positions[source]
            masks |= dict.fromkeys(component, mask)
        return masks

    def _list_entries(self, container: str) -> tuple[str, ...]:
        entry = self.find_entry(container)
        return (entry,) if entry is not None else self.list_roots(container)

    @cached_property
    def _outgoing(self) -> Mapping[str, tuple[EdgeSpec, ...]]:
        return _group_edges((edge.source, edge) for edge in self.edges)

    @cached_property
    def _incoming(self) -> Mapping[str, tuple[EdgeSpec, ...]]:
        return _group_edges((edge.target, edge) for edge in self.edges)

    @cached_property
    def _children(self) -> Mapping[str | None, tuple[str, ...]]:
        children: dict[str | None, list[str]] = defaultdict(list)
        for node in self.nodes.values():
            children[node.parent].append(node.id)
        return {parent: tuple(ids) for parent, ids in children.items()}


def include_inner_nodes(document: Document, node_ids: Collection[str]) -> set[str]:
    """Return the nodes, and everything inside those that are containers."""
    children: dict[str, list[str]] = defaultdict(list)
    for node in document.nodes:
        if node.parent is not None:
            children[node.parent].append(node.id)
    return {*node_ids, *traverse(node_ids, lambda node: children.get(node, ()))}


def traverse(starts: Iterable[str], list_next: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Return every node that repeated calls of ``list_next`` reach from the starts."""
    nodes: set[str] = set()
    queue = deque(starts)
    while queue:
        for node in list_next(queue.popleft()):
            if node not in nodes:
                nodes.add(node)
                queue.append(node)
    return frozenset(nodes)


def _group_edges(pairs: Iterable[tuple[str, EdgeSpec]]) -> Mapping[str, tuple[EdgeSpec, ...]]:
    groups: dict[str, list[EdgeSpec]] = defaultdict(list)
    for key, edge in pairs:
        groups[key].append(edge)
    return {key: tuple(edges) for key, edges in groups.items()}


def _list_components(
    nodes: Iterable[str],
    list_successors: Callable[[str], Iterable[str]],
    list_predecessors: Callable[[str], Iterable[str]],
) -> list[list[str]]:
    """Return the circles, and the nodes on none, in topological order: edges lead from earlier ones to later ones.

    They are the strongly connected components, found by Kosaraju's method.
    """
    components: list[list[str]] = []
    assigned: set[str] = set()
    for root in reversed(_sort_by_end(nodes, list_successors)):
        if root in assigned:
            continue
        assigned.add(root)
        component = [root]
        for node in component:  # grows while it is read
            for source in list_predecessors(node):
                if source not in assigned:
                    assigned.add(source)
                    component.append(source)
        components.append(component)
    return components


def _sort_by_end(
    nodes: Iterable[str], list_successors: Callable[[str], Iterable[str]]
) -> list[str]:
    """Return the nodes in the order in which a depth-first search leaves them."""
    ended: list[str] = []
    visited: set[str] = set()
    for root in nodes:
        if root in visited:
            continue
        visited.add(root)
        stack = [(root, iter(list_successors(root)))]
        while stack:
            node, remaining = stack[-1]
            target = next((target for target in remaining if target not in visited), None)
            if target is None:
                ended.append(node)
                stack.pop()
            else:
                visited.add(target)
                stack.append((target, iter(list_successors(target))))
    return ended
