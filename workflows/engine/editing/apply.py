"""Applies plain operations to a store, and returns for each the operation that reverts it.

The inverse is computed before the change, from the current state. Applied in reverse order, the inverses restore the
very same document.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing import ops
from workflows.engine.editing.errors import build_refusal, build_unknown_variable
from workflows.engine.editing.ops import Op
from workflows.engine.editing.paths import change_value, invert_change
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store


# The applied operation and its inverse, both plain: an addition is returned with its rank.
AppliedOp = tuple[Op, Op]


def apply(store: Store, op: Op) -> AppliedOp:
    """Apply one plain operation. Raises EditRefused when a node, edge or path that it names doesn't exist."""
    return _APPLY[type(op)](store, op)


def apply_all(store: Store, operations: Iterable[Op]) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    """Apply operations in order. Return them, and the operations that revert them, in the order to apply these."""
    applied = [apply(store, op) for op in operations]
    return tuple(op for op, _ in applied), tuple(inverse for _, inverse in reversed(applied))


def require_item(store: Store, id_: str) -> Item:
    item = store.get_item(id_)
    if item is None:
        raise build_refusal("unknown", f"Node {id_} doesn't exist", node=id_)
    return item


def _add(store: Store, op: ops.Add) -> AppliedOp:
    if store.get_item(op.item.id) is not None:
        raise build_refusal("taken", f"Node {op.item.id} already exists", node=op.item.id)
    if op.item.parent is not None:
        _check_container(store, op.item.parent, op.item.id)
    return ops.Add(store.put_item(op.item)), ops.Delete(op.item.id)


def _delete(store: Store, op: ops.Delete) -> AppliedOp:
    item = require_item(store, op.id)
    if store.list_node_edges(op.id) or store.list_children(op.id):
        raise build_refusal(
            "in_use", f"Node {op.id} still has connections or nodes inside", node=op.id
        )
    store.drop_item(op.id)
    return ops.Delete(op.id), ops.Add(item)


def _change_item(store: Store, op: ops.Move | ops.Rename | ops.Resize | ops.Reparent) -> AppliedOp:
    """Set the fields of the item that have the same names as those of the operation."""
    item = require_item(store, op.id)
    names = op.__slots__[1:]
    store.put_item(replace(item, **{name: getattr(op, name) for name in names}))
    return op, type(op)(op.id, *[getattr(item, name) for name in names])


def _set(store: Store, op: ops.Set) -> AppliedOp:
    item = require_item(store, op.id)
    rule, previous = invert_change(item.data, op.path, op.rule)
    data = change_value(item.data, op.path, op.value, op.rule, node=op.id)
    store.put_item(replace(item, data=data))
    return op, ops.Set(op.id, op.path, previous, rule)


def _connect(store: Store, op: ops.Connect) -> AppliedOp:
    edge = op.edge
    if store.get_edge(edge.id) is not None:
        raise build_refusal("edge_taken", f"Edge {edge.id} already exists", edge=edge.id)
    # Undo restores an edge of the document that has lost an end. Clients can't add such an edge.
    for end in filter(None, (edge.source, edge.target)):
        require_item(store, end)
    return ops.Connect(store.put_edge(edge)), ops.Disconnect(edge.id)


def _disconnect(store: Store, op: ops.Disconnect) -> AppliedOp:
    edge = store.get_edge(op.id)
    if edge is None:
        raise build_refusal("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    store.drop_edge(op.id)
    return op, ops.Connect(edge)


def _reparent(store: Store, op: ops.Reparent) -> AppliedOp:
    require_item(store, op.id)
    if op.parent is not None:
        _check_container(store, op.parent, op.id)
    return _change_item(store, op)


def _change_variable(store: Store, op: ops.Variable) -> AppliedOp:
    previous = store.get_variable(op.area, op.name)
    if op.spec is None:
        if previous is None:
            raise build_unknown_variable(op.name)
        store.drop_variable(op.area, op.name)
        return ops.Variable(op.area, op.name, None), ops.Variable(op.area, op.name, previous)
    rank = previous.rank if previous is not None and op.spec.rank < 0 else op.spec.rank
    variable = store.put_variable(replace(op.spec, rank=rank))
    return ops.Variable(op.area, op.name, variable), ops.Variable(op.area, op.name, previous)


def _change_feature(store: Store, op: ops.Feature) -> AppliedOp:
    features = store.get_features()
    rule, previous = invert_change(features, op.path, op.rule)
    store.put_features(change_value(features, op.path, op.value, op.rule))
    return op, ops.Feature(op.path, previous, rule)


def _change_header(store: Store, op: ops.Header) -> AppliedOp:
    previous = store.get_header(op.field)
    store.put_header(op.field, op.value)
    return op, ops.Header(op.field, previous)


def _replace(store: Store, op: ops.Replace) -> AppliedOp:
    previous = store.take_snapshot()
    store.replace(op.snapshot)
    return op, ops.Replace(previous)


def _check_container(store: Store, parent: str, child: str) -> None:
    """Raise EditRefused unless the container exists, and is neither the child itself nor inside it."""
    visited: set[str] = set()
    container_id: str | None = parent
    while container_id is not None and container_id not in visited:
        if container_id == child:
            raise build_refusal(
                "inside_itself", "A container can't be moved into itself", node=child
            )
        visited.add(container_id)
        container = store.get_item(container_id)
        if container is None and container_id == parent:
            raise build_refusal("parent_unknown", f"Container {parent} doesn't exist", node=child)
        container_id = container.parent if container else None


# Any: each function takes the operation of its own key.
_APPLY: Final[Mapping[type, Callable[[Store, Any], AppliedOp]]] = {
    ops.Add: _add,
    ops.Delete: _delete,
    ops.Move: _change_item,
    ops.Set: _set,
    ops.Rename: _change_item,
    ops.Connect: _connect,
    ops.Disconnect: _disconnect,
    ops.Reparent: _reparent,
    ops.Resize: _change_item,
    ops.Variable: _change_variable,
    ops.Feature: _change_feature,
    ops.Header: _change_header,
    ops.Replace: _replace,
}
