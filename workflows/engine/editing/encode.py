"""Encodes plain operations as JSON for the log and the clients, and reads them back from the log.

``decode`` accepts the same shape. The log is trusted, so reading it back checks nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

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
from workflows.engine.editing.records import EdgeRecord, Item, VariableRecord
from workflows.engine.language.document import Json


Tree = dict[str, Json]


def write_ops(ops: Iterable[Op]) -> list[Tree]:
    return [write_op(op) for op in ops]


def read_log(trees: Iterable[Mapping[str, Json]]) -> tuple[Op, ...]:
    """Return the operations that ``write_ops`` wrote."""
    return tuple(_READ[tree["op"]](tree) for tree in trees)


def write_op(op: Op) -> Tree:
    return _WRITE[type(op)](op)


def encode_item(item: Item) -> Tree:
    tree: Tree = {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "x": item.x,
        "y": item.y,
        "data": item.data,
        "rank": item.rank,
    }
    optional = {
        "parent": item.parent,
        "width": item.width,
        "height": item.height,
        "extra": item.extra or None,
    }
    return tree | {name: value for name, value in optional.items() if value is not None}


def _encode_edge(edge: EdgeRecord) -> Tree:
    tree: Tree = {
        "id": edge.id,
        "source": edge.source,
        "target": edge.target,
        "handle": edge.handle,
        "target_handle": edge.target_handle,
        "rank": edge.rank,
    }
    return {**tree, "extra": edge.extra} if edge.extra else tree


def _encode_add(op: Add) -> Tree:
    if op.item.is_note:
        return {"op": "note", "note": encode_item(op.item)}
    return {"op": "add", "node": encode_item(op.item)}


def _encode_delete(op: Delete) -> Tree:
    return {"op": "delete", "id": op.id, **({"heal": True} if op.heal else {})}


def _encode_change(op: Set | Feature) -> Tree:
    tree: Tree = {"path": list(op.path)}
    if op.rule is ChangeRule.REMOVE:
        return {**tree, "remove": True}
    return {**tree, "value": op.value, **({"insert": True} if op.rule is ChangeRule.INSERT else {})}


def _encode_variable(op: Variable) -> Tree:
    tree: Tree = {"op": "variable", "area": op.area, "name": op.name, "spec": None}
    if op.spec is not None:
        tree["spec"] = _encode_spec(op.spec)
    return {**tree, "rename": op.rename} if op.rename is not None else tree


def _encode_spec(record: VariableRecord) -> Tree:
    tree: Tree = {
        "value_type": record.value_type,
        "value": None if record.is_secret else record.value,
        "rank": record.rank,
    }
    optional = {"id": record.id, "description": record.description, "extra": record.extra}
    return tree | {name: value for name, value in optional.items() if value}


# Any: each function takes the operation of its own key.
_WRITE: Final[Mapping[type, Callable[[Any], Tree]]] = {
    Add: _encode_add,
    Delete: _encode_delete,
    Move: lambda op: {"op": "move", "id": op.id, "x": op.x, "y": op.y},
    Set: lambda op: {"op": "set", "id": op.id, **_encode_change(op)},
    Rename: lambda op: {"op": "rename", "id": op.id, "title": op.title},
    Connect: lambda op: {"op": "connect", "edge": _encode_edge(op.edge)},
    Disconnect: lambda op: {"op": "disconnect", "id": op.id},
    Reparent: lambda op: {"op": "reparent", "id": op.id, "parent": op.parent, "x": op.x, "y": op.y},
    Resize: lambda op: {"op": "resize", "id": op.id, "width": op.width, "height": op.height},
    Paste: lambda op: {"op": "paste", "text": op.text, "x": op.x, "y": op.y, "parent": op.parent},
    Tidy: lambda op: {"op": "tidy", "ids": list(op.ids), "scope": op.scope},
    Variable: _encode_variable,
    Feature: lambda op: {"op": "feature", **_encode_change(op)},
    Header: lambda op: {"op": "header", "field": op.field, "value": op.value},
    Replace: lambda op: {"op": "replace", "snapshot": op.snapshot},
}


def _read_change(tree: Mapping[str, Json]) -> tuple[tuple[str | int, ...], Json, ChangeRule]:
    rule = (
        ChangeRule.REMOVE
        if tree.get("remove")
        else ChangeRule.INSERT
        if tree.get("insert")
        else ChangeRule.PUT
    )
    return tuple(tree["path"]), tree.get("value"), rule


def _read_variable(tree: Mapping[str, Json]) -> Variable:
    area, name, spec = tree["area"], tree["name"], tree["spec"]
    return Variable(
        area, name, None if spec is None else VariableRecord(area=area, name=name, **spec)
    )


_READ: Final[Mapping[str, Callable[[Mapping[str, Json]], Op]]] = {
    "add": lambda tree: Add(Item(**tree["node"])),
    "note": lambda tree: Add(Item(**tree["note"], is_note=True)),
    "delete": lambda tree: Delete(tree["id"]),
    "move": lambda tree: Move(tree["id"], tree["x"], tree["y"]),
    "set": lambda tree: Set(tree["id"], *_read_change(tree)),
    "rename": lambda tree: Rename(tree["id"], tree["title"]),
    "connect": lambda tree: Connect(EdgeRecord(**tree["edge"])),
    "disconnect": lambda tree: Disconnect(tree["id"]),
    "reparent": lambda tree: Reparent(tree["id"], tree["parent"], tree["x"], tree["y"]),
    "resize": lambda tree: Resize(tree["id"], tree["width"], tree["height"]),
    "variable": _read_variable,
    "feature": lambda tree: Feature(*_read_change(tree)),
    "header": lambda tree: Header(tree["field"], tree["value"]),
    "replace": lambda tree: Replace(tree["snapshot"]),
}
