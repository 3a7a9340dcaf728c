"""Expands a client's operations to plain ones, one by one, while the store changes.

Each function yields plain operations; the caller applies each before it asks for the next.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing import guards
from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import (
    CONTAINER,
    Context,
    build_markers,
)
from workflows.engine.editing.edge_completion import complete_edge
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.layout.auto_layout import expand_tidy
from workflows.engine.editing.ops import (
    Add,
    ChangeRule,
    Connect,
    Delete,
    Disconnect,
    Feature,
    Header,
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
from workflows.engine.editing.paste import expand_paste
from workflows.engine.editing.paths import ABSENT, get_value, normalize_change
from workflows.engine.editing.records import EdgeRecord, Item
from workflows.engine.editing.store import Store
from workflows.engine.editing.variables import expand_variable
from workflows.engine.language.containers import CONTAINERS, INSIDE_MARKS, get_entry_kind
from workflows.engine.language.document import Json


Plain = Iterator[Op]
Companions = frozenset[str]  # of the same gesture: nodes that change their container together


def expand(store: Store, op: Op, context: Context, together: Companions = frozenset()) -> Plain:
    """Yield the plain operations of an operation. Raises EditRefused when the rules forbid it."""
    if isinstance(op, Reparent):
        return _reparent(store, op, context, together)
    return _EXPAND[type(op)](store, op, context)


def _add(store: Store, op: Add, context: Context) -> Plain:
    item = op.item
    guards.check_new_id(store, item.id)
    parent = guards.get_container(store, item.id, item.parent, context)
    if item.is_note:
        yield op
        return
    guards.check_root(store, item)
    title = item.title or context.get_title(item.kind)
    data = {**context.get_defaults(item.kind), **item.data, **build_markers(parent)}
    data |= {"type": item.kind, "title": title}
    has_entry = item.kind in CONTAINERS and not data.get("start_node_id")
    if has_entry:
        data["start_node_id"] = f"{item.id}start"
        item = replace(
            item,
            width=item.width or CONTAINER.width,
            height=item.height or CONTAINER.height,
        )
    item = replace(item, title=title, data=data)
    yield Add(item)
    if has_entry:
        yield Add(_build_entry(item))


def _build_entry(container: Item) -> Item:
    kind = get_entry_kind(container.kind)
    return Item(
        id=f"{container.id}start",
        kind=kind,
        parent=container.id,
        x=24.0,
        y=68.0,
        width=44.0,
        height=48.0,
        data={"type": kind, "title": "", "desc": "", **build_markers(container)},
        extra={"draggable": False, "selectable": False},
    )


def _delete(store: Store, op: Delete, context: Context) -> Plain:
    item = require_item(store, op.id)
    guards.check_not_entry(store, item, "deleted")
    yield from _delete_with_content(store, item, heal=op.heal)


def _delete_with_content(store: Store, item: Item, *, heal: bool = False) -> Plain:
    """Delete the node's edges, its content, then the node. The recursion is limited by the language's nesting depth."""
    for child in store.list_children(item.id):
        yield from _delete_with_content(store, child)
    edges = store.list_node_edges(item.id)
    for edge in edges:
        yield Disconnect(edge.id)
    if heal:
        yield from _heal(store, item.id, edges)
    yield Delete(item.id)


def _heal(store: Store, id_: str, edges: list[EdgeRecord]) -> Plain:
    """Connect the nodes before the deleted node with those behind it, unless it had several used handles."""
    into = [edge for edge in edges if edge.target == id_]
    out = [edge for edge in edges if edge.source == id_]
    if len({edge.handle for edge in out}) != 1:
        return
    for incoming in into:
        for outgoing in out:
            bridge = EdgeRecord(
                "",
                incoming.source,
                outgoing.target,
                incoming.handle,
                outgoing.target_handle,
                incoming.extra,
            )
            if incoming.source != outgoing.target and not guards.has_edge(store, bridge):
                yield Connect(complete_edge(store, bridge))


def _move(store: Store, op: Move, context: Context) -> Plain:
    item = require_item(store, op.id)
    if (item.x, item.y) != (op.x, op.y):
        yield op


def _set(store: Store, op: Set, context: Context) -> Plain:
    item = require_item(store, op.id)
    if not item.is_note and op.path == ("title",):
        yield from _change_title(item, op.value)
        return
    if not item.is_note and op.path[0] == "type":
        raise build_refusal("kind", "The type of a node can't be changed", node=op.id, field="type")
    change = normalize_change(item.data, op.path, op.value, op.rule)
    if change is not None:
        path, value, rule = change
        yield Set(op.id, path, value, rule)


def _change_title(item: Item, title: Json) -> Plain:
    if not isinstance(title, str):
        raise build_refusal("title", "A title must be text", node=item.id, field="title")
    if item.title != title:
        yield Rename(item.id, title)
    if get_value(item.data, ("title",)) not in (ABSENT, title):
        yield Set(item.id, ("title",), title)


def _rename(store: Store, op: Rename, context: Context) -> Plain:
    return _change_title(require_item(store, op.id), op.title)


def _connect(store: Store, op: Connect, context: Context) -> Plain:
    edge = op.edge
    guards.check_edge(store, edge)
    if edge.id and store.get_edge(edge.id) is not None:
        raise build_refusal("edge_taken", f"Edge {edge.id} already exists", edge=edge.id)
    yield Connect(complete_edge(store, edge))


def _disconnect(store: Store, op: Disconnect, context: Context) -> Plain:
    if store.get_edge(op.id) is None:
        raise build_refusal("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    yield op


def _reparent(store: Store, op: Reparent, context: Context, together: Companions) -> Plain:
    item = require_item(store, op.id)
    guards.check_not_entry(store, item, "moved elsewhere")
    parent = guards.get_container(store, item.id, op.parent, context)
    if op.parent == item.parent:
        yield from _move(store, Move(op.id, op.x, op.y), context)
        return
    if parent is not None:
        guards.check_root(store, replace(item, parent=parent.id))
    for edge in store.list_node_edges(op.id):
        if not {edge.source, edge.target} <= together | {op.id}:
            yield Disconnect(edge.id)
    yield op
    if not item.is_note:
        yield from _change_marks(item, build_markers(parent))


def _change_marks(item: Item, marks: Mapping[str, Json]) -> Plain:
    for name in INSIDE_MARKS:
        if name in marks:
            change = normalize_change(item.data, (name,), marks[name], ChangeRule.PUT)
        else:
            change = normalize_change(item.data, (name,), None, ChangeRule.REMOVE)
        if change is not None:
            yield Set(item.id, *change)


def _resize(store: Store, op: Resize, context: Context) -> Plain:
    item = require_item(store, op.id)
    if (item.width, item.height) != (op.width, op.height):
        yield op


def _change_feature(store: Store, op: Feature, context: Context) -> Plain:
    change = normalize_change(store.get_features(), op.path, op.value, op.rule)
    if change is not None:
        yield Feature(*change)


def _change_header(store: Store, op: Header, context: Context) -> Plain:
    if store.get_header(op.field) != op.value:
        yield op


def _pass_through(store: Store, op: Replace, context: Context) -> Plain:
    yield op


# Any: each function takes the operation of its own key.
_EXPAND: Final[Mapping[type, Callable[[Store, Any, Context], Plain]]] = {
    Add: _add,
    Delete: _delete,
    Move: _move,
    Set: _set,
    Rename: _rename,
    Connect: _connect,
    Disconnect: _disconnect,
    Resize: _resize,
    Paste: expand_paste,
    Tidy: expand_tidy,
    Variable: expand_variable,
    Feature: _change_feature,
    Header: _change_header,
    Replace: _pass_through,
}
