"""Rebases operations that were made on an older draft onto the concurrent operations of other members.

Operations name ids and fields, so most apply unchanged. Changes that are already in the draft are left out. Where
both changed one field to different values, or one changed what the other deleted, there is a conflict: it is reported
with both values, and neither is forced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

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
    Path,
    Rename,
    Reparent,
    Replace,
    Resize,
    Set,
    Variable,
)
from workflows.engine.editing.paths import format_path, is_same
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item, VariableRecord
from workflows.engine.language.document import Json


GONE: Final = "gone"  # the value that a conflict reports for a side that deleted the field


@dataclass(frozen=True, slots=True)
class Author:
    """The author of an operation. Members may have the same name, so the id counts."""

    name: str = ""
    id: UUID | None = None


UNKNOWN_AUTHOR: Final = Author()


@dataclass(frozen=True, slots=True)
class ConcurrentOp:
    """An operation that was applied since, and its author."""

    op: Op
    by: Author = UNKNOWN_AUTHOR


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict between two edits. ``op`` is the index among the local operations."""

    field: str
    yours: Json
    theirs: Json
    by: Author
    node: str | None = None
    edge: str | None = None
    shifts: bool = False  # its index in a list means another item now
    op: int = 0

    def build_tree(self) -> dict[str, Json]:
        return {
            "op": self.op,
            "node": self.node,
            "edge": self.edge,
            "field": self.field,
            "yours": self.yours,
            "theirs": self.theirs,
            "by": self.by.name,
        }


@dataclass(frozen=True, slots=True)
class Rebased:
    """The result of a rebase. ``origins`` has, for each operation, the index of the local one it comes from."""

    ops: tuple[Op, ...]
    conflicts: tuple[Conflict, ...]
    origins: tuple[int, ...]


def rebase(local_ops: Sequence[Op], concurrent_ops: Iterable[ConcurrentOp]) -> Rebased:
    """Return the local operations, to be applied after the concurrent ones, without those that conflict."""
    concurrent = _ConcurrentChanges.of(concurrent_ops)
    local = _LocalChanges.of(local_ops)
    ops: list[Op] = []
    origins: list[int] = []
    conflicts: list[Conflict] = []
    for index, op in enumerate(local_ops):
        outcome = _RULES[type(op)](op, concurrent, local)
        if isinstance(outcome, Conflict):
            conflicts.append(replace(outcome, op=index))
            continue
        ops += outcome
        origins += [index] * len(outcome)
    return Rebased(tuple(ops), tuple(conflicts), tuple(origins))


# The part that was written: a field of a node or of the features, a variable, or the header.
Subject = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Write:
    path: Path
    value: Json
    rule: ChangeRule
    by: Author

    def is_interfering(self, other: "_Write") -> bool:
        """Return whether one of the two changes affects the subject of the other."""
        return self._is_covering(other) or other._is_covering(self)

    def is_equal(self, other: "_Write") -> bool:
        is_same_field = self.path == other.path and self.rule is other.rule and not self.shifts
        return is_same_field and is_same(self.value, other.value)

    @property
    def shifts(self) -> bool:
        """Return whether it moves the later items of a list."""
        return self.rule is ChangeRule.INSERT or (
            self.rule is ChangeRule.REMOVE and isinstance(self.path[-1], int)
        )

    def _is_covering(self, other: "_Write") -> bool:
        if not self.shifts:
            return other.path[: len(self.path)] == self.path
        parent_path, index = self.path[:-1], self.path[-1]
        if other.path[: len(parent_path)] != parent_path or len(other.path) == len(parent_path):
            return False
        if other.shifts and len(other.path) == len(self.path):
            return True
        step = other.path[len(parent_path)]
        return isinstance(step, int) and isinstance(index, int) and step >= index


@dataclass
class _ConcurrentChanges:
    """The net effect of the concurrent operations: deletions, additions, and the last value of each field."""

    deleted_by: dict[str, Author] = field(default_factory=dict)  # node → author
    added_by: dict[str, tuple[Item, Author]] = field(default_factory=dict)
    disconnected: dict[str, Author] = field(default_factory=dict)  # edge → author
    connected: dict[str, tuple[EdgeRecord, Author]] = field(default_factory=dict)
    writes: dict[Subject, list[_Write]] = field(default_factory=dict)
    containers: dict[str, tuple[str | None, Author]] = field(
        default_factory=dict
    )  # node → its container

    @staticmethod
    def of(concurrent_ops: Iterable[ConcurrentOp]) -> "_ConcurrentChanges":
        changes = _ConcurrentChanges()
        for each in concurrent_ops:
            changes._add(each.op, each.by)
        return changes

    def _add(self, op: Op, by: Author) -> None:
        if isinstance(op, Add | Delete):
            self._add_node(op, by)
        elif isinstance(op, Connect | Disconnect):
            self._add_edge(op, by)
        else:
            if isinstance(op, Reparent):
                self.containers[op.id] = op.parent, by
            for subject, write in _iter_writes(op, by):
                writes = self.writes.setdefault(subject, [])
                writes[:] = [w for w in writes if not _is_replaced(w, write)]
                writes.append(write)

    def _add_node(self, op: Add | Delete, by: Author) -> None:
        if isinstance(op, Add):
            # An undo restored it, which cancels the deletion.
            if self.deleted_by.pop(op.item.id, None) is None:
                self.added_by[op.item.id] = op.item, by
            self.containers[op.item.id] = op.item.parent, by
            return
        if self.added_by.pop(op.id, None) is None:
            self.deleted_by[op.id] = by
        self.containers.pop(op.id, None)
        for subject in [s for s in self.writes if s[:2] == ("node", op.id)]:
            del self.writes[subject]

    def _add_edge(self, op: Connect | Disconnect, by: Author) -> None:
        if isinstance(op, Connect):
            if self.disconnected.pop(op.edge.id, None) is None:
                self.connected[op.edge.id] = op.edge, by
        elif self.connected.pop(op.id, None) is None:
            self.disconnected[op.id] = by

    def has_connected(self, edge: EdgeRecord) -> bool:
        return any(connected.ends == edge.ends for connected, _by in self.connected.values())

    def find_conflict(self, subject: Subject, write: _Write) -> _Write | None:
        """Return the last concurrent write that conflicts with this write."""
        writes = [w for w in self.writes.get(subject, ()) if w.is_interfering(write)]
        return next((w for w in reversed(writes) if not w.is_equal(write)), None)

    def has_equal_write(self, subject: Subject, local: _Write) -> bool:
        return any(write.is_equal(local) for write in self.writes.get(subject, ()))


@dataclass
class _LocalChanges:
    """The local operations that matter for other local ones."""

    deleted: frozenset[str] = frozenset()
    disconnected: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    connected: Mapping[str, EdgeRecord] = field(
        default_factory=dict
    )  # edges that weren't there before

    @staticmethod
    def of(local_ops: Sequence[Op]) -> "_LocalChanges":
        disconnected: set[str] = set()
        connected: dict[str, EdgeRecord] = {}
        for op in local_ops:
            if isinstance(op, Connect) and op.edge.id not in disconnected:
                connected.setdefault(op.edge.id, op.edge)
            elif isinstance(op, Disconnect) and op.id not in connected:
                disconnected.add(op.id)
        return _LocalChanges(
            frozenset(op.id for op in local_ops if isinstance(op, Delete)),
            frozenset(disconnected),
            frozenset(op.item.id for op in local_ops if isinstance(op, Add)),
            connected,
        )


_Outcome = tuple[Op, ...] | Conflict


def _is_replaced(earlier: _Write, later: _Write) -> bool:
    """Return whether a later write sets the same field, or one that contains it."""
    return not later.shifts and earlier.path[: len(later.path)] == later.path


def _iter_writes(op: Op, by: Author) -> Iterable[tuple[Subject, _Write]]:
    for subject, path, value, rule in _FIELDS[type(op)](op) if type(op) in _FIELDS else ():
        yield subject, _Write(path, value, rule, by)


FieldWrite = tuple[Subject, Path, Json, ChangeRule]


def _build_write(kind: str, id_: str, name: str, value: Json) -> FieldWrite:
    return (kind, id_, name), (name,), value, ChangeRule.PUT


# Operation type → the fields that it writes. Any: each function takes the operation of its own key.
_FIELDS: Final[Mapping[type, Callable[[Any], tuple[FieldWrite, ...]]]] = {
    Move: lambda op: (_build_write("node", op.id, "place", [op.x, op.y]),),
    Reparent: lambda op: (_build_write("node", op.id, "place", [op.parent, op.x, op.y]),),
    Resize: lambda op: (_build_write("node", op.id, "size", [op.width, op.height]),),
    Rename: lambda op: (_build_write("node", op.id, "title", op.title),),
    Set: lambda op: ((("node", op.id, "data"), op.path, op.value, op.rule),),
    Variable: lambda op: (
        _build_write("variable", op.area, op.name, _get_variable_value(op.spec)),
    ),
    Feature: lambda op: ((("feature", "", "features"), op.path, op.value, op.rule),),
    Header: lambda op: (_build_write("header", "", op.field, op.value),),
}


def _get_variable_value(spec: VariableRecord | None) -> Json:
    if spec is None:
        return None
    return {"type": spec.value_type, "value": spec.value, "description": spec.description}


def _rebase_fields(op: Op, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    """Rebase an operation that writes fields and nothing else."""
    id_ = getattr(op, "id", None)
    if id_ is not None and id_ in concurrent.deleted_by:
        return Conflict("node", _get_local_value(op), GONE, concurrent.deleted_by[id_], node=id_)
    if isinstance(op, Reparent) and op.parent in concurrent.deleted_by:
        return Conflict("parent", op.parent, GONE, concurrent.deleted_by[op.parent], node=op.id)
    is_repeated = True
    for subject, write in _iter_writes(op, UNKNOWN_AUTHOR):
        if (conflict := concurrent.find_conflict(subject, write)) is not None:
            value = GONE if conflict.rule is ChangeRule.REMOVE else conflict.value
            name = format_path(write.path) if subject[0] != "header" else subject[2]
            shifts = write.shifts or conflict.shifts
            return Conflict(name, _get_local_value(op), value, conflict.by, node=id_, shifts=shifts)
        is_repeated = is_repeated and concurrent.has_equal_write(subject, write)
    return () if is_repeated else (op,)


def _get_local_value(op: Op) -> Json:
    values = [write.value for _, write in _iter_writes(op, UNKNOWN_AUTHOR)]
    if isinstance(op, Set | Feature) and op.rule is ChangeRule.REMOVE:
        return GONE
    return values[0] if values else None


def _rebase_add(op: Add, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    item = op.item
    if item.id in concurrent.added_by:
        added, by = concurrent.added_by[item.id]
        if _remove_rank(added) == _remove_rank(item):
            return ()
        return Conflict("id", item.id, added.id, by, node=item.id)
    if item.parent is not None and item.parent in concurrent.deleted_by:
        return Conflict(
            "parent", item.parent, GONE, concurrent.deleted_by[item.parent], node=item.id
        )
    return (op,)


def _remove_rank(item: Item) -> Item:
    return replace(item, rank=UNRANKED)


def _rebase_delete(op: Delete, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    """Rebase a deletion. Others' text in the node and nodes they added are not deleted unasked; a move may be."""
    if op.id in concurrent.deleted_by:
        return ()
    for name in ("title", "data"):
        if writes := concurrent.writes.get(("node", op.id, name)):
            last = writes[-1]
            value = GONE if last.rule is ChangeRule.REMOVE else last.value
            return Conflict(format_path(last.path), GONE, value, last.by, node=op.id)
    for child, (parent, by) in concurrent.containers.items():
        if parent == op.id and child not in local.deleted:
            return Conflict("parent", GONE, child, by, node=op.id)
    return (
        *(
            Disconnect(edge.id)
            for edge, _by in concurrent.connected.values()
            if op.id in (edge.source, edge.target)
            and edge.id not in local.disconnected
            # if both ends are deleted, the first deletion removes the edge
            and not _is_cut_earlier(edge, op.id, local)
        ),
        op,
    )


def _is_cut_earlier(edge: EdgeRecord, id_: str, local: _LocalChanges) -> bool:
    both = edge.source in local.deleted and edge.target in local.deleted
    return both and edge.source != edge.target and id_ == edge.target


def _rebase_connect(op: Connect, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    edge = op.edge
    for end in (edge.source, edge.target):
        if end in concurrent.deleted_by:
            return Conflict(
                "edge", list(edge.ends), GONE, concurrent.deleted_by[end], node=end, edge=edge.id
            )
    if concurrent.has_connected(edge):
        return ()
    if edge.id in local.disconnected and edge.id in concurrent.disconnected:
        return ()  # the edge was removed and restored locally, so the concurrent removal stays
    for connected, by in concurrent.connected.values():
        if connected.id == edge.id:
            return Conflict("edge", list(edge.ends), list(connected.ends), by, edge=edge.id)
    return (op,)


def _rebase_disconnect(
    op: Disconnect, concurrent: _ConcurrentChanges, local: _LocalChanges
) -> _Outcome:
    connected = local.connected.get(op.id)
    if connected is not None and concurrent.has_connected(connected):
        return ()  # the edge was added and removed locally, so the concurrent edge stays
    return () if op.id in concurrent.disconnected else (op,)


def _rebase_replace(op: Replace, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    return (op,)  # the caller expands it first if there are concurrent operations


_RULES: Final[Mapping[type, Callable[[Any, _ConcurrentChanges, _LocalChanges], _Outcome]]] = {
    **dict.fromkeys(
        (Move, Reparent, Resize, Rename, Set, Variable, Feature, Header), _rebase_fields
    ),
    Add: _rebase_add,
    Delete: _rebase_delete,
    Connect: _rebase_connect,
    Disconnect: _rebase_disconnect,
    Replace: _rebase_replace,
}
