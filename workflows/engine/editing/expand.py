"""From what is asked for to plain operations, one by one, on a store that moves along.

Each function yields plain operations; whoever asks for the next one has applied those before.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing import guards
from workflows.engine.editing.apply import item_at
from workflows.engine.editing.context import (
    CONTAINER,
    Context,
    marks_of,
)
from workflows.engine.editing.errors import refuse
from workflows.engine.editing.layout.auto_layout import tidy
from workflows.engine.editing.ops import (
    Add,
    Connect,
    Delete,
    Disconnect,
    Feature,
    Header,
    How,
    Move,
    Op,
    Paste,
    Rename,
    Reparent,
    Replace,
    Resize,
    Set,
    Tidy,
    Variable,
)
from workflows.engine.editing.paste import paste
from workflows.engine.editing.paths import NOTHING, look, settled
from workflows.engine.editing.records import Item, Wire
from workflows.engine.editing.store import Store
from workflows.engine.editing.variables import variable
from workflows.engine.editing.wiring import dressed
from workflows.engine.language.containers import CONTAINERS, INSIDE_MARKS, get_entry_kind
from workflows.engine.language.document import Json


Plain = Iterator[Op]
Companions = frozenset[str]  # of the same gesture: nodes that change their container together


def expand(store: Store, op: Op, context: Context, together: Companions = frozenset()) -> Plain:
    """Plain operations that do what is asked. Raises EditRefused when the rules don't allow it."""
    if isinstance(op, Reparent):
        return _reparent(store, op, context, together)
    return _EXPAND[type(op)](store, op, context)


def _add(store: Store, op: Add, context: Context) -> Plain:
    item = op.item
    guards.check_new_id(store, item.id)
    parent = guards.container_for(store, item.id, item.parent, context)
    if item.is_note:
        yield op
        return
    guards.check_root(store, item)
    title = item.title or context.title_of(item.kind)
    data = {**context.defaults_of(item.kind), **item.data, **marks_of(parent)}
    data |= {"type": item.kind, "title": title}
    begins = item.kind in CONTAINERS and not data.get("start_node_id")
    if begins:
        data["start_node_id"] = f"{item.id}start"
        item = replace(
            item,
            width=item.width or CONTAINER.width,
            height=item.height or CONTAINER.height,
        )
    item = replace(item, title=title, data=data)
    yield Add(item)
    if begins:
        yield Add(_start_of(item))


def _start_of(container: Item) -> Item:
    kind = get_entry_kind(container.kind)
    return Item(
        id=f"{container.id}start",
        kind=kind,
        parent=container.id,
        x=24.0,
        y=68.0,
        width=44.0,
        height=48.0,
        data={"type": kind, "title": "", "desc": "", **marks_of(container)},
        extra={"draggable": False, "selectable": False},
    )


def _delete(store: Store, op: Delete, context: Context) -> Plain:
    item = item_at(store, op.id)
    guards.check_not_start_of(store, item, "deleted")
    yield from _emptied(store, item, heal=op.heal)


def _emptied(store: Store, item: Item, *, heal: bool = False) -> Plain:
    """The node's edges, whatever is in it, then the node itself. Nesting is shallow: the language's depth."""
    for child in store.children(item.id):
        yield from _emptied(store, child)
    wires = store.wires_at(item.id)
    for wire in wires:
        yield Disconnect(wire.id)
    if heal:
        yield from _healed(store, item.id, wires)
    yield Delete(item.id)


def _healed(store: Store, id_: str, wires: list[Wire]) -> Plain:
    """What came in goes on to where the node led, unless it had several ways out: then nobody knows."""
    into = [wire for wire in wires if wire.target == id_]
    out = [wire for wire in wires if wire.source == id_]
    if len({wire.handle for wire in out}) != 1:
        return
    for before in into:
        for after in out:
            bridge = Wire(
                "", before.source, after.target, before.handle, after.target_handle, before.extra
            )
            if before.source != after.target and not guards.is_drawn(store, bridge):
                yield Connect(dressed(store, bridge))


def _move(store: Store, op: Move, context: Context) -> Plain:
    item = item_at(store, op.id)
    if (item.x, item.y) != (op.x, op.y):
        yield op


def _set(store: Store, op: Set, context: Context) -> Plain:
    item = item_at(store, op.id)
    if not item.is_note and op.path == ("title",):
        yield from _retitled(item, op.value)
        return
    if not item.is_note and op.path[0] == "type":
        raise refuse("kind", "The type of a node can't be changed", node=op.id, field="type")
    found = settled(item.data, op.path, op.value, op.rule)
    if found is not None:
        path, value, how = found
        yield Set(op.id, path, value, how)


def _retitled(item: Item, title: Json) -> Plain:
    if not isinstance(title, str):
        raise refuse("title", "A title must be text", node=item.id, field="title")
    if item.title != title:
        yield Rename(item.id, title)
    if look(item.data, ("title",)) not in (NOTHING, title):
        yield Set(item.id, ("title",), title)


def _rename(store: Store, op: Rename, context: Context) -> Plain:
    return _retitled(item_at(store, op.id), op.title)


def _connect(store: Store, op: Connect, context: Context) -> Plain:
    wire = op.wire
    guards.check_wire(store, wire)
    if wire.id and store.wire(wire.id) is not None:
        raise refuse("edge_taken", f"Edge {wire.id} already exists", edge=wire.id)
    yield Connect(dressed(store, wire))


def _disconnect(store: Store, op: Disconnect, context: Context) -> Plain:
    if store.wire(op.id) is None:
        raise refuse("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    yield op


def _reparent(store: Store, op: Reparent, context: Context, together: Companions) -> Plain:
    item = item_at(store, op.id)
    guards.check_not_start_of(store, item, "moved elsewhere")
    parent = guards.container_for(store, item.id, op.parent, context)
    if op.parent == item.parent:
        yield from _move(store, Move(op.id, op.x, op.y), context)
        return
    if parent is not None:
        guards.check_root(store, replace(item, parent=parent.id))
    for wire in store.wires_at(op.id):
        if not {wire.source, wire.target} <= together | {op.id}:
            yield Disconnect(wire.id)
    yield op
    if not item.is_note:
        yield from _marked(item, marks_of(parent))


def _marked(item: Item, marks: Mapping[str, Json]) -> Plain:
    for name in INSIDE_MARKS:
        if name in marks:
            found = settled(item.data, (name,), marks[name], How.PUT)
        else:
            found = settled(item.data, (name,), None, How.REMOVE)
        if found is not None:
            yield Set(item.id, *found)


def _resize(store: Store, op: Resize, context: Context) -> Plain:
    item = item_at(store, op.id)
    if (item.width, item.height) != (op.width, op.height):
        yield op


def _feature(store: Store, op: Feature, context: Context) -> Plain:
    found = settled(store.features(), op.path, op.value, op.rule)
    if found is not None:
        yield Feature(*found)


def _header(store: Store, op: Header, context: Context) -> Plain:
    if store.header(op.field) != op.value:
        yield op


def _as_it_is(store: Store, op: Replace, context: Context) -> Plain:
    yield op


# Any: each takes the operation it stands beside.
_EXPAND: Final[Mapping[type, Callable[[Store, Any, Context], Plain]]] = {
    Add: _add,
    Delete: _delete,
    Move: _move,
    Set: _set,
    Rename: _rename,
    Connect: _connect,
    Disconnect: _disconnect,
    Resize: _resize,
    Paste: paste,
    Tidy: tidy,
    Variable: variable,
    Feature: _feature,
    Header: _header,
    Replace: _as_it_is,
}
