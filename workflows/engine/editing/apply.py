"""Applies plain operations to a store, and returns the operation that reverts each.

The inverse is computed before the change, from the current state. Applied in reverse order, the inverses restore the
very same document.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.ops import (
    Add,
    Connect,
    Delete,
    Disconnect,
    Feature,
    Header,
    Move,
    Op,
    Rename,
    Reparent,
    Replace,
    Resize,
    Set,
    Variable,
)
from workflows.engine.editing.paths import change_value, invert_change
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store


# The applied operation and its inverse, both plain: an addition is returned with its rank.
AppliedOp = tuple[Op, Op]


def apply(store: Store, op: Op) -> AppliedOp:
    """Apply one plain operation. Raises EditRefused when its subject doesn't exist."""
    return _APPLY[type(op)](store, op)


def apply_all(store: Store, ops: Iterable[Op]) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    """Apply operations in order; return them, and the operations that revert all of them, in their order."""
    applied = [apply(store, op) for op in ops]
    return tuple(op for op, _ in applied), tuple(inverse for _, inverse in reversed(applied))


def require_item(store: Store, id_: str) -> Item:
    item = store.get_item(id_)
    if item is None:
        raise build_refusal("unknown", f"Node {id_} doesn't exist", node=id_)
    return item


def _add(store: Store, op: Add) -> AppliedOp:
    if store.get_item(op.item.id) is not None:
        raise build_refusal("taken", f"Node {op.item.id} already exists", node=op.item.id)
    if op.item.parent is not None:
        _check_container(store, op.item.parent, op.item.id)
    return Add(store.put_item(op.item)), Delete(op.item.id)


def _delete(store: Store, op: Delete) -> AppliedOp:
    item = require_item(store, op.id)
    if store.list_node_edges(op.id) or store.list_children(op.id):
        raise build_refusal(
            "in_use", f"Node {op.id} still has connections or nodes inside", node=op.id
        )
    store.drop_item(op.id)
    return Delete(op.id), Add(item)


def _move(store: Store, op: Move) -> AppliedOp:
    item = require_item(store, op.id)
    store.put_item(replace(item, x=op.x, y=op.y))
    return op, Move(op.id, item.x, item.y)


def _set(store: Store, op: Set) -> AppliedOp:
    item = require_item(store, op.id)
    rule, previous = invert_change(item.data, op.path, op.rule)
    data = change_value(item.data, op.path, op.value, op.rule, node=op.id)
    store.put_item(replace(item, data=data))
    return op, Set(op.id, op.path, previous, rule)


def _rename(store: Store, op: Rename) -> AppliedOp:
    item = require_item(store, op.id)
    store.put_item(replace(item, title=op.title))
    return op, Rename(op.id, item.title)


def _connect(store: Store, op: Connect) -> AppliedOp:
    edge = op.edge
    if store.get_edge(edge.id) is not None:
        raise build_refusal("edge_taken", f"Edge {edge.id} already exists", edge=edge.id)
    for end in (edge.source, edge.target):
        require_item(store, end)
    return Connect(store.put_edge(edge)), Disconnect(edge.id)


def _disconnect(store: Store, op: Disconnect) -> AppliedOp:
    edge = store.get_edge(op.id)
    if edge is None:
        raise build_refusal("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    store.drop_edge(op.id)
    return op, Connect(edge)


def _reparent(store: Store, op: Reparent) -> AppliedOp:
    item = require_item(store, op.id)
    if op.parent is not None:
        _check_container(store, op.parent, op.id)
    store.put_item(replace(item, parent=op.parent, x=op.x, y=op.y))
    return op, Reparent(op.id, item.parent, item.x, item.y)


def _resize(store: Store, op: Resize) -> AppliedOp:
    item = require_item(store, op.id)
    store.put_item(replace(item, width=op.width, height=op.height))
    return op, Resize(op.id, item.width, item.height)


def _change_variable(store: Store, op: Variable) -> AppliedOp:
    previous = store.get_variable(op.area, op.name)
    if op.spec is None:
        if previous is None:
            raise build_refusal(
                "variable_unknown", f"Variable {op.name} doesn't exist", field=op.name
            )
        store.drop_variable(op.area, op.name)
        return Variable(op.area, op.name, None), Variable(op.area, op.name, previous)
    rank = previous.rank if previous is not None and op.spec.rank < 0 else op.spec.rank
    variable = store.put_variable(replace(op.spec, rank=rank))
    return Variable(op.area, op.name, variable), Variable(op.area, op.name, previous)


def _change_feature(store: Store, op: Feature) -> AppliedOp:
    features = store.get_features()
    rule, previous = invert_change(features, op.path, op.rule)
    store.put_features(change_value(features, op.path, op.value, op.rule))
    return op, Feature(op.path, previous, rule)


def _change_header(store: Store, op: Header) -> AppliedOp:
    previous = store.get_header(op.field)
    store.put_header(op.field, op.value)
    return op, Header(op.field, previous)


def _replace(store: Store, op: Replace) -> AppliedOp:
    previous = store.take_snapshot()
    store.replace(op.snapshot)
    return op, Replace(previous)


def _check_container(store: Store, parent: str, child: str) -> None:
    """Check that the container exists, and is neither the child itself nor inside it."""
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
    Add: _add,
    Delete: _delete,
    Move: _move,
    Set: _set,
    Rename: _rename,
    Connect: _connect,
    Disconnect: _disconnect,
    Reparent: _reparent,
    Resize: _resize,
    Variable: _change_variable,
    Feature: _change_feature,
    Header: _change_header,
    Replace: _replace,
}
