"""Expands a client's operations to plain ones, one by one, while the store changes.

Each function yields plain operations; the caller applies each before it asks for the next.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.editing import guards, ops
from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import CONTAINER_SIZE, Context, build_markers
from workflows.engine.editing.edge_completion import complete_edge
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.layout.auto_layout import expand_tidy
from workflows.engine.editing.new_nodes.round_output import set_round_output
from workflows.engine.editing.ops import ChangeRule, Op
from workflows.engine.editing.paste import expand_paste
from workflows.engine.editing.paths import ABSENT, get_value, normalize_change
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item
from workflows.engine.editing.store import Store
from workflows.engine.editing.variables import expand_variable
from workflows.engine.language.containers import CONTAINERS, CONTENT_MARKERS, get_entry_kind
from workflows.engine.language.document import Json


PlainOps = Iterator[Op]
NodeIds = frozenset[str]  # of the nodes whose container changes in the same gesture


def expand(store: Store, op: Op, context: Context, moved_ids: NodeIds = frozenset()) -> PlainOps:
    """Yield the plain operations that an operation consists of. Raises EditRefused when the rules forbid it."""
    if isinstance(op, ops.Reparent):
        return _reparent(store, op, context, moved_ids)
    return _EXPAND[type(op)](store, op, context)


def _add(store: Store, op: ops.Add, context: Context) -> PlainOps:
    item = op.item
    guards.check_new_id(store, item.id)
    parent = guards.get_container(store, item.id, item.parent, context)
    if item.is_note:
        yield op
        return
    guards.check_root(store, item)
    title = item.title or context.get_title(item.kind)
    data = {**item.data, **build_markers(parent)}
    data |= {"type": item.kind, "title": title}
    has_entry = item.kind in CONTAINERS and not data.get("start_node_id")
    if has_entry:
        data["start_node_id"] = f"{item.id}start"
        width, height = item.width or CONTAINER_SIZE.width, item.height or CONTAINER_SIZE.height
        item = replace(item, width=width, height=height)
    item = replace(item, title=title, data=data)
    yield ops.Add(item)
    if has_entry:
        yield ops.Add(_build_entry(item))
    # Data with a type is that of a whole node, which comes back as it was.
    if parent is not None and "type" not in op.item.data:
        yield from set_round_output(store, parent, item, context)


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


def _delete(store: Store, op: ops.Delete, context: Context) -> PlainOps:
    item = require_item(store, op.id)
    guards.check_not_entry(store, item, "deleted")
    yield from _delete_with_content(store, item, heal=op.heal)


def _delete_with_content(store: Store, item: Item, *, heal: bool = False) -> PlainOps:
    """Delete the node's edges, its content, then the node. The recursion is limited by the language's nesting depth."""
    for child in store.list_children(item.id):
        yield from _delete_with_content(store, child)
    edges = store.list_node_edges(item.id)
    for edge in edges:
        yield ops.Disconnect(edge.id)
    if heal:
        yield from _heal(store, item.id, edges)
    yield ops.Delete(item.id)


def _heal(store: Store, id_: str, edges: list[EdgeRecord]) -> PlainOps:
    """Connect the nodes before a deleted node with the nodes behind it, unless its edges left from several handles."""
    outgoing = [edge for edge in edges if edge.source == id_ and edge.target]
    if len({edge.handle for edge in outgoing}) != 1:
        return
    for incoming in [edge for edge in edges if edge.target == id_ and edge.source]:
        for edge in outgoing:
            target, handle = edge.target, edge.target_handle
            bridge = replace(incoming, id="", target=target, target_handle=handle, rank=UNRANKED)
            if bridge.source != bridge.target and not guards.has_edge(store, bridge):
                yield ops.Connect(complete_edge(store, bridge))


def _move(store: Store, op: ops.Move, context: Context) -> PlainOps:
    item = require_item(store, op.id)
    if (item.x, item.y) != (op.x, op.y):
        yield op


def _set(store: Store, op: ops.Set, context: Context) -> PlainOps:
    item = require_item(store, op.id)
    if not item.is_note and op.path == ("title",):
        yield from _change_title(item, op.value)
        return
    if not item.is_note and op.path[0] == "type":
        raise build_refusal("kind", "The type of a node can't be changed", node=op.id, field="type")
    change = normalize_change(item.data, op.path, op.value, op.rule)
    if change is not None:
        path, value, rule = change
        yield ops.Set(op.id, path, value, rule)


def _change_title(item: Item, title: Json) -> PlainOps:
    if not isinstance(title, str):
        raise build_refusal("title", "A title must be text", node=item.id, field="title")
    if item.title != title:
        yield ops.Rename(item.id, title)
    if get_value(item.data, ("title",)) not in (ABSENT, title):
        yield ops.Set(item.id, ("title",), title)


def _rename(store: Store, op: ops.Rename, context: Context) -> PlainOps:
    return _change_title(require_item(store, op.id), op.title)


def _connect(store: Store, op: ops.Connect, context: Context) -> PlainOps:
    edge = op.edge
    guards.check_edge(store, edge)
    if edge.id and store.get_edge(edge.id) is not None:
        raise build_refusal("edge_taken", f"Edge {edge.id} already exists", edge=edge.id)
    yield ops.Connect(complete_edge(store, edge))


def _disconnect(store: Store, op: ops.Disconnect, context: Context) -> PlainOps:
    if store.get_edge(op.id) is None:
        raise build_refusal("edge_unknown", f"Edge {op.id} doesn't exist", edge=op.id)
    yield op


def _reparent(store: Store, op: ops.Reparent, context: Context, moved_ids: NodeIds) -> PlainOps:
    item = require_item(store, op.id)
    guards.check_not_entry(store, item, "moved elsewhere")
    parent = guards.get_container(store, item.id, op.parent, context)
    if op.parent == item.parent:
        yield from _move(store, ops.Move(op.id, op.x, op.y), context)
        return
    if parent is not None:
        guards.check_root(store, replace(item, parent=parent.id))
    for edge in store.list_node_edges(op.id):
        if not {edge.source, edge.target} <= moved_ids | {op.id}:
            yield ops.Disconnect(edge.id)
    yield op
    if not item.is_note:
        yield from _change_markers(item, build_markers(parent))


def _change_markers(item: Item, markers: Mapping[str, Json]) -> PlainOps:
    for name in CONTENT_MARKERS:
        rule = ChangeRule.PUT if name in markers else ChangeRule.REMOVE
        change = normalize_change(item.data, (name,), markers.get(name), rule)
        if change is not None:
            yield ops.Set(item.id, *change)


def _resize(store: Store, op: ops.Resize, context: Context) -> PlainOps:
    item = require_item(store, op.id)
    if (item.width, item.height) != (op.width, op.height):
        yield op


def _change_feature(store: Store, op: ops.Feature, context: Context) -> PlainOps:
    change = normalize_change(store.get_features(), op.path, op.value, op.rule)
    if change is not None:
        yield ops.Feature(*change)


def _change_header(store: Store, op: ops.Header, context: Context) -> PlainOps:
    if store.get_header(op.field) != op.value:
        yield op


def _pass_through(store: Store, op: ops.Replace, context: Context) -> PlainOps:
    yield op


# Any: each function takes the operation of its own key.
_EXPAND: Final[Mapping[type, Callable[[Store, Any, Context], PlainOps]]] = {
    ops.Add: _add,
    ops.Delete: _delete,
    ops.Move: _move,
    ops.Set: _set,
    ops.Rename: _rename,
    ops.Connect: _connect,
    ops.Disconnect: _disconnect,
    ops.Resize: _resize,
    ops.Paste: expand_paste,
    ops.Tidy: expand_tidy,
    ops.Variable: expand_variable,
    ops.Feature: _change_feature,
    ops.Header: _change_header,
    ops.Replace: _pass_through,
}
