"""What the language forbids, asked before an operation is done."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Final

from workflows.engine.editing.apply import item_at
from workflows.engine.editing.context import Context
from workflows.engine.editing.errors import EditRefused, refuse
from workflows.engine.editing.records import Item, Wire
from workflows.engine.editing.store import Store, is_root
from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.dsl.strict import MAX_EDGES, MAX_NODES
from workflows.engine.language.variables import RESERVED_HEADS


ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
FEW: Final = 4  # new edges, up to which looking along their paths is cheaper than reading the graph


def check_new_id(store: Store, id_: str) -> None:
    if not ID.fullmatch(id_):
        message = "An ID has up to 64 letters, digits, - and _"
        raise refuse("id", message, node=id_, field="id")
    if id_ in RESERVED_HEADS:
        message = f"{id_} is reserved for built-in variables; use another node ID"
        raise refuse("id_reserved", message, node=id_, field="id")
    if store.item(id_) is not None:
        raise refuse("taken", f"Node {id_} already exists", node=id_)


def container_for(store: Store, child: str, parent: str | None, context: Context) -> Item | None:
    """The container by that id, if it may hold nodes."""
    if parent is None:
        return None
    found = store.item(parent)
    if found is None:
        raise refuse("parent_unknown", f"Container {parent} doesn't exist", node=child)
    if not context.is_container(found):
        message = f"{found.title or parent} is not a container"
        raise refuse("parent_kind", message, node=child)
    return found


def check_root(store: Store, item: Item) -> None:
    """One start, or triggers, and at the top."""
    if not is_root(item):
        return
    if item.parent is not None:
        raise refuse("root_inside", "A workflow can't start inside a container", node=item.id)
    others = [root for root in store.roots() if root.id != item.id and root.parent is None]
    starts = [root for root in others if root.kind == "start"]
    if item.kind == "start" and starts:
        raise refuse("root_several", f"There is already a Start node: {starts[0].id}", node=item.id)
    if others and (item.kind == "start" or starts):
        message = "A workflow starts with a Start node or with triggers, not both"
        raise refuse("root_mixed", message, node=item.id)


def check_not_start_of(store: Store, item: Item, verb: str) -> None:
    """Where a container begins stays with it."""
    if item.parent is None or item.kind not in ENTRY_KINDS:
        return
    parent = store.item(item.parent)
    if parent is not None and parent.data.get("start_node_id") == item.id:
        message = f"The start node of a container can't be {verb} on its own"
        raise refuse("container_start", message, node=item.id)


def check_wire(store: Store, wire: Wire) -> None:
    """What can be seen at its two ends; circles are looked for when the gesture is whole."""
    source, target = item_at(store, wire.source), item_at(store, wire.target)
    for end in (source, target):
        if end.is_note:
            raise refuse("edge_note", "A note can't be connected", node=end.id)
    if source.id == target.id:
        raise refuse("edge_self", "A node can't be connected to itself", node=source.id)
    if is_root(target) or target.kind in ENTRY_KINDS:
        raise refuse("edge_into_start", "The start node has no input", node=target.id)
    if is_drawn(store, wire):
        raise refuse("edge_twice", "These nodes are already connected", node=source.id)


def is_drawn(store: Store, wire: Wire) -> bool:
    return any(other.ends == wire.ends for other in store.wires_at(wire.source))


def check_whole(
    store: Store, wires: Mapping[str, Wire], moved: Iterable[str], bridges: Container[str] = ()
) -> None:
    """What only the finished gesture can be asked: borders, and circles but for the ``bridges``."""
    touched = dict(wires)
    for id_ in moved:
        touched |= {wire.id: wire for wire in store.wires_at(id_)}
    for wire in touched.values():
        _check_border(store, wire)
    _check_circles(store, [wire for id_, wire in wires.items() if id_ not in bridges])


def check_size(store: Store) -> None:
    nodes, edges = store.counts()
    if nodes > MAX_NODES:
        raise refuse(
            "too_many_nodes", f"A workflow can have at most {MAX_NODES} nodes, this one has {nodes}"
        )
    if edges > MAX_EDGES:
        raise refuse(
            "too_many_edges", f"A workflow can have at most {MAX_EDGES} edges, this one has {edges}"
        )


def _check_border(store: Store, wire: Wire) -> None:
    source, target = store.item(wire.source), store.item(wire.target)
    if source is not None and target is not None and source.parent != target.parent:
        message = "An edge can't cross the border of a container"
        raise refuse("edge_crosses", message, node=wire.source, edge=wire.id)


def _check_circles(store: Store, wires: list[Wire]) -> None:
    if len(wires) <= FEW:
        for wire in wires:
            if store.leads_to(wire.target, wire.source):
                raise _circle(wire)
        return
    around = _going_round(store.whole_graph())
    for wire in wires:
        if {wire.source, wire.target} <= around and store.leads_to(wire.target, wire.source):
            raise _circle(wire)


def _going_round(pairs: list[tuple[str, str]]) -> set[str]:
    """Nodes on a circle, or between two: what is left when ends are taken off one after the other."""
    ahead: dict[str, list[str]] = defaultdict(list)
    waiting: dict[str, int] = defaultdict(int)
    for source, target in pairs:
        ahead[source].append(target)
        waiting[target] += 1
        waiting.setdefault(source, 0)
    ready = [node for node, count in waiting.items() if count == 0]
    while ready:
        node = ready.pop()
        del waiting[node]
        for target in ahead[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return set(waiting)


def _circle(wire: Wire) -> EditRefused:
    message = "The edges would form a cycle. Use a Loop node to repeat steps"
    return refuse("cycle", message, node=wire.source, edge=wire.id)
