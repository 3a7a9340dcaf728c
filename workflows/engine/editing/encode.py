"""Encodes plain operations as JSON for the log and the clients, and reads them back from the log.

``decode`` reads the same JSON from clients. The log is trusted, so operations from it are not checked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from workflows.engine.editing import ops
from workflows.engine.editing.ops import ChangeRule, Op, Path
from workflows.engine.editing.records import EdgeRecord, Item, VariableRecord
from workflows.engine.language.document import Json


Tree = dict[str, Json]

# The operations whose JSON has exactly their fields. Any: classes have no common base.
_FLAT: Final[Mapping[str, type[Any]]] = {
    "disconnect": ops.Disconnect,
    "header": ops.Header,
    "move": ops.Move,
    "rename": ops.Rename,
    "reparent": ops.Reparent,
    "replace": ops.Replace,
    "resize": ops.Resize,
}


def write_ops(operations: Iterable[Op]) -> list[Tree]:
    return [_WRITE[type(op)](op) for op in operations]


def read_log(trees: Iterable[Mapping[str, Json]]) -> tuple[Op, ...]:
    """Return the operations that ``write_ops`` wrote."""
    return tuple(_READ[tree["op"]](tree) for tree in trees)


def _build_flat_writer(name: str, kind: type[Any]) -> Callable[[Any], Tree]:
    return lambda op: {"op": name, **{field: getattr(op, field) for field in kind.__slots__}}


def _build_flat_reader(kind: type[Any]) -> Callable[[Mapping[str, Json]], Op]:
    return lambda tree: kind(*[tree[field] for field in kind.__slots__])


def _write_add(op: ops.Add) -> Tree:
    item = op.item
    names = ("id", "kind", "title", "x", "y", "data", "rank")
    tree: Tree = {name: getattr(item, name) for name in names}
    optional = {
        "parent": item.parent,
        "width": item.width,
        "height": item.height,
        "extra": item.extra or None,
    }
    tree |= {name: value for name, value in optional.items() if value is not None}
    return {"op": "note", "note": tree} if item.is_note else {"op": "add", "node": tree}


def _write_connect(op: ops.Connect) -> Tree:
    edge = op.edge
    names = ("id", "source", "target", "handle", "target_handle", "rank")
    tree: Tree = {name: getattr(edge, name) for name in names}
    return {"op": "connect", "edge": {**tree, "extra": edge.extra} if edge.extra else tree}


def _write_change(op: ops.Set | ops.Feature) -> Tree:
    tree: Tree = {"path": list(op.path)}
    if op.rule is ChangeRule.REMOVE:
        return {**tree, "remove": True}
    return {**tree, "value": op.value, **({"insert": True} if op.rule is ChangeRule.INSERT else {})}


def _write_variable(op: ops.Variable) -> Tree:
    spec = None if op.spec is None else _write_spec(op.spec)
    return {"op": "variable", "area": op.area, "name": op.name, "spec": spec}


def _write_spec(record: VariableRecord) -> Tree:
    tree: Tree = {
        "value_type": record.value_type,
        "value": None if record.is_secret else record.value,
        "rank": record.rank,
    }
    optional = {"id": record.id, "description": record.description, "extra": record.extra}
    return tree | {name: value for name, value in optional.items() if value}


def _read_change(tree: Mapping[str, Json]) -> tuple[Path, Json, ChangeRule]:
    rule = ChangeRule.from_flags(remove=tree.get("remove"), insert=tree.get("insert"))
    return tuple(tree["path"]), tree.get("value"), rule


def _read_variable(tree: Mapping[str, Json]) -> ops.Variable:
    area, name, spec = tree["area"], tree["name"], tree["spec"]
    record = None if spec is None else VariableRecord(area=area, name=name, **spec)
    return ops.Variable(area, name, record)


# Any: each function takes the operation of its own key.
_WRITE: Final[Mapping[type, Callable[[Any], Tree]]] = {
    **{kind: _build_flat_writer(name, kind) for name, kind in _FLAT.items()},
    ops.Add: _write_add,
    ops.Delete: lambda op: {"op": "delete", "id": op.id},
    ops.Set: lambda op: {"op": "set", "id": op.id, **_write_change(op)},
    ops.Connect: _write_connect,
    ops.Variable: _write_variable,
    ops.Feature: lambda op: {"op": "feature", **_write_change(op)},
}
_READ: Final[Mapping[str, Callable[[Mapping[str, Json]], Op]]] = {
    **{name: _build_flat_reader(kind) for name, kind in _FLAT.items()},
    "add": lambda tree: ops.Add(Item(**tree["node"])),
    "note": lambda tree: ops.Add(Item(**tree["note"], is_note=True)),
    "delete": lambda tree: ops.Delete(tree["id"]),
    "set": lambda tree: ops.Set(tree["id"], *_read_change(tree)),
    "connect": lambda tree: ops.Connect(EdgeRecord(**tree["edge"])),
    "variable": _read_variable,
    "feature": lambda tree: ops.Feature(*_read_change(tree)),
}
