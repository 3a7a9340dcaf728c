"""Plain operations on a store: what each does, and what takes it back.

The inverse is worked out before the change, from what is there. Done backwards it gives back the
very same document.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing.errors import refuse
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
from workflows.engine.editing.paths import changed, undone_by
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store


# Done and undone, both plain: an addition comes back with the place it was given.
Done = tuple[Op, Op]


def apply(store: Store, op: Op) -> Done:
    """Do one plain operation. Raises EditRefused when what it is about isn't there."""
    return _APPLY[type(op)](store, op)


def apply_all(store: Store, ops: Iterable[Op]) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    """Do them in order: what was done, and what takes all of it back, in its own order."""
    done = [apply(store, op) for op in ops]
    return tuple(op for op, _ in done), tuple(inverse for _, inverse in reversed(done))


def item_at(store: Store, id_: str) -> Item:
    item = store.item(id_)
    if item is None:
        raise refuse("unknown", f"Node {id_} doesn't exist", node=id_)
    return item


def _add(store: Store, op: Add) -> Done:
    if store.item(op.item.id) is not None:
        raise refuse("taken", f"Node {op.item.id} already exists", node=op.item.id)
    if op.item.parent is not None:
        _container(store, op.item.parent, op.item.id)
    return Add(store.put_item(op.item)), Delete(op.item.id)


def _delete(store: Store, op: Delete) -> Done:
    item = item_at(store, op.id)
    if store.wires_at(op.id) or store.children(op.id):
        raise refuse("in_use", f"Node {op.id} still has connections or nodes inside", node=op.id)
    store.drop_item(op.id)
    return Delete(op.id), Add(item)


def _move(store: Store, op: Move) -> Done:
    item = item_at(store, op.id)
    store.put_item(replace(item, x=op.x, y=op.y))
    return op, Move(op.id, item.x, item.y)


def _set(store: Store, op: Set) -> Done:
    item = item_at(store, op.id)
    how, former = undone_by(item.data, op.path, op.rule)
    data = changed(item.data, op.path, op.value, op.rule, node=op.id)
    store.put_item(replace(item, data=data))
    return op, Set(op.id, op.path, former, how)


def _rename(store: Store, op: Rename) -> Done:
    item = item_at(store, op.id)
    store.put_item(replace(item, title=op.title))
    return op, Rename(op.id, item.title)


def _connect(store: Store, op: Connect) -> Done:
    wire = op.wire
    if store.wire(wire.id) is not None:
        raise refuse("edge_taken", f"Edge {wire.id} already exists", edge=wire.id)
    for end in (wire.source, wire.target):
        item_at(store, end)
    return Connect(store.put_wire(wire)), Disconnect(wire.id)


def _disconnect(store: Store, op: Disconnect) -> Done:
    wire = store.wire(op.id)
    if wire is None:
        raise refuse("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    store.drop_wire(op.id)
    return op, Connect(wire)


def _reparent(store: Store, op: Reparent) -> Done:
    item = item_at(store, op.id)
    if op.parent is not None:
        _container(store, op.parent, op.id)
    store.put_item(replace(item, parent=op.parent, x=op.x, y=op.y))
    return op, Reparent(op.id, item.parent, item.x, item.y)


def _resize(store: Store, op: Resize) -> Done:
    item = item_at(store, op.id)
    store.put_item(replace(item, width=op.width, height=op.height))
    return op, Resize(op.id, item.width, item.height)


def _variable(store: Store, op: Variable) -> Done:
    former = store.named(op.area, op.name)
    if op.spec is None:
        if former is None:
            raise refuse("variable_unknown", f"Variable {op.name} doesn't exist", field=op.name)
        store.drop_named(op.area, op.name)
        return Variable(op.area, op.name, None), Variable(op.area, op.name, former)
    rank = former.rank if former is not None and op.spec.rank < 0 else op.spec.rank
    placed = store.put_named(replace(op.spec, rank=rank))
    return Variable(op.area, op.name, placed), Variable(op.area, op.name, former)


def _feature(store: Store, op: Feature) -> Done:
    features = store.features()
    how, former = undone_by(features, op.path, op.rule)
    store.put_features(changed(features, op.path, op.value, op.rule))
    return op, Feature(op.path, former, how)


def _header(store: Store, op: Header) -> Done:
    former = store.header(op.field)
    store.put_header(op.field, op.value)
    return op, Header(op.field, former)


def _replace(store: Store, op: Replace) -> Done:
    former = store.snapshot()
    store.replace(op.snapshot)
    return op, Replace(former)


def _container(store: Store, parent: str, child: str) -> None:
    """Whether it may hold this one: it is there, and not the child itself or inside of it."""
    seen: set[str] = set()
    around: str | None = parent
    while around is not None and around not in seen:
        if around == child:
            raise refuse("inside_itself", "A container can't be moved into itself", node=child)
        seen.add(around)
        found = store.item(around)
        if found is None and around == parent:
            raise refuse("parent_unknown", f"Container {parent} doesn't exist", node=child)
        around = found.parent if found else None


# Any: each takes the operation it stands beside.
_APPLY: Final[Mapping[type, Callable[[Store, Any], Done]]] = {
    Add: _add,
    Delete: _delete,
    Move: _move,
    Set: _set,
    Rename: _rename,
    Connect: _connect,
    Disconnect: _disconnect,
    Reparent: _reparent,
    Resize: _resize,
    Variable: _variable,
    Feature: _feature,
    Header: _header,
    Replace: _replace,
}
