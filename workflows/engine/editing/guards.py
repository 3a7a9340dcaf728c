"""Checks the rules of the language for an operation or a finished gesture. Each check raises EditRefused."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Final

from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import Context
from workflows.engine.editing.errors import EditRefused, build_refusal
from workflows.engine.editing.records import EdgeRecord, Item
from workflows.engine.editing.store import Store, is_root
from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.dsl.limits import iter_size_errors
from workflows.engine.language.variables import RESERVED_SOURCE_IDS


ID_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
# For more new edges, reading the whole graph is cheaper than following their paths.
MAX_PATH_SEARCHES: Final = 4


def check_new_id(store: Store, id_: str) -> None:
    """Check that a new node may have the id: valid, not reserved and not in use."""
    if not ID_PATTERN.fullmatch(id_):
        message = "An ID has up to 64 letters, digits, - and _"
        raise build_refusal("id", message, node=id_, field="id")
    if id_ in RESERVED_SOURCE_IDS:
        message = f"{id_} is reserved for built-in variables; use another node ID"
        raise build_refusal("id_reserved", message, node=id_, field="id")
    if store.get_item(id_) is not None:
        raise build_refusal("taken", f"Node {id_} already exists", node=id_)


def get_container(store: Store, child: str, parent: str | None, context: Context) -> Item | None:
    """Return the container of that id. Raises EditRefused if it cannot hold nodes."""
    if parent is None:
        return None
    container = store.get_item(parent)
    if container is None:
        raise build_refusal("parent_unknown", f"Container {parent} doesn't exist", node=child)
    if not context.is_container(container):
        message = f"{container.title or parent} is not a container"
        raise build_refusal("parent_kind", message, node=child)
    return container


def check_root(store: Store, item: Item) -> None:
    """Check that the item, if a run could start at it, is at the top level, and alone or among triggers only."""
    if not is_root(item):
        return
    if item.parent is not None:
        raise build_refusal(
            "root_inside", "A workflow can't start inside a container", node=item.id
        )
    other_roots = [
        root for root in store.list_roots() if root.id != item.id and root.parent is None
    ]
    starts = [root for root in other_roots if root.kind == "start"]
    if item.kind == "start" and starts:
        raise build_refusal(
            "root_several", f"There is already a Start node: {starts[0].id}", node=item.id
        )
    if other_roots and (item.kind == "start" or starts):
        message = "A workflow starts with a Start node or with triggers, not both"
        raise build_refusal("root_mixed", message, node=item.id)


def check_not_entry(store: Store, item: Item, participle: str) -> None:
    """Check that the node is not the start node of a container, which stays inside the container."""
    if item.parent is None or item.kind not in ENTRY_KINDS:
        return
    parent = store.get_item(item.parent)
    if parent is not None and parent.data.get("start_node_id") == item.id:
        message = f"The start node of a container can't be {participle} on its own"
        raise build_refusal("container_start", message, node=item.id)


def check_edge(store: Store, edge: EdgeRecord) -> None:
    """Check the rules about the two ends of an edge. ``check_gesture`` searches for cycles."""
    source, target = require_item(store, edge.source), require_item(store, edge.target)
    for end in (source, target):
        if end.is_note:
            raise build_refusal("edge_note", "A note can't be connected", node=end.id)
    if source.id == target.id:
        raise build_refusal("edge_self", "A node can't be connected to itself", node=source.id)
    if is_root(target) or target.kind in ENTRY_KINDS:
        raise build_refusal("edge_into_start", "The start node has no input", node=target.id)
    if has_edge(store, edge):
        raise build_refusal("edge_twice", "These nodes are already connected", node=source.id)


def has_edge(store: Store, edge: EdgeRecord) -> bool:
    """Return whether the store has an edge with the same ends."""
    return any(other.ends == edge.ends for other in store.list_node_edges(edge.source))


def check_gesture(
    store: Store,
    edges: Mapping[str, EdgeRecord],
    moved_ids: Iterable[str],
    bridges: Container[str] = (),
) -> None:
    """Check that no edge crosses the border of a container, and that none but the ``bridges`` closes a cycle."""
    affected = dict(edges)
    for id_ in moved_ids:
        affected |= {edge.id: edge for edge in store.list_node_edges(id_)}
    for edge in affected.values():
        _check_border(store, edge)
    _check_cycles(store, [edge for id_, edge in edges.items() if id_ not in bridges])


def check_size(store: Store) -> None:
    """Check that the document does not exceed the maximum numbers of nodes and edges."""
    for part, message in iter_size_errors(*store.count_parts()):
        raise build_refusal(f"too_many_{part}", message)


def _check_border(store: Store, edge: EdgeRecord) -> None:
    source, target = store.get_item(edge.source), store.get_item(edge.target)
    if source is not None and target is not None and source.parent != target.parent:
        message = "An edge can't cross the border of a container"
        raise build_refusal("edge_crosses", message, node=edge.source, edge=edge.id)


def _check_cycles(store: Store, edges: list[EdgeRecord]) -> None:
    if len(edges) <= MAX_PATH_SEARCHES:
        for edge in edges:
            if store.has_path(edge.target, edge.source):
                raise _build_cycle_error(edge)
        return
    cyclic_nodes = _find_cyclic_nodes(store.list_edge_ends())
    for edge in edges:
        if {edge.source, edge.target} <= cyclic_nodes and store.has_path(edge.target, edge.source):
            raise _build_cycle_error(edge)


def _find_cyclic_nodes(pairs: list[tuple[str, str]]) -> set[str]:
    """Return the nodes on or behind a cycle, which remain when nodes without predecessors are removed repeatedly."""
    targets: dict[str, list[str]] = defaultdict(list)
    indegrees: dict[str, int] = defaultdict(int)
    for source, target in pairs:
        targets[source].append(target)
        indegrees[target] += 1
        indegrees.setdefault(source, 0)
    ready = [node for node, count in indegrees.items() if count == 0]
    while ready:
        node = ready.pop()
        del indegrees[node]
        for target in targets[node]:
            indegrees[target] -= 1
            if indegrees[target] == 0:
                ready.append(target)
    return set(indegrees)


def _build_cycle_error(edge: EdgeRecord) -> EditRefused:
    message = "The edges would form a cycle. Use a Loop node to repeat steps"
    return build_refusal("cycle", message, node=edge.source, edge=edge.id)
