"""Rebases operations that were made on an older draft onto the concurrent operations of other members.

Operations name ids and fields, so most apply unchanged. Changes that are already in the draft are left out. Where
both changed one field to different values, or one changed what the other deleted, there is a conflict: it is reported
with both values, and neither is forced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from workflows.engine.editing import ops
from workflows.engine.editing.ops import ChangeRule, Op, Path
from workflows.engine.editing.paths import format_path, is_same
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item, describe_variable
from workflows.engine.language.document import Json


GONE: Final = "gone"  # the value that a conflict reports for the side that deleted the field


@dataclass(frozen=True, slots=True)
class Author:
    """The author of an operation. Members may have the same name, so the id counts."""

    name: str = ""
    id: UUID | None = None


UNKNOWN_AUTHOR: Final = Author()


@dataclass(frozen=True, slots=True)
class ConcurrentOp:
    """An operation that was applied in the meantime, and its author."""

    op: Op
    author: Author = UNKNOWN_AUTHOR


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict between two edits. ``op`` is the index among the local operations."""

    field: str
    yours: Json
    theirs: Json
    author: Author
    node: str | None = None
    edge: str | None = None
    shifts: bool = False  # an index in the field now refers to another item of a list
    op: int = 0

    def build_tree(self) -> dict[str, Json]:
        """Return the conflict as JSON for the clients."""
        return {
            "op": self.op,
            "node": self.node,
            "edge": self.edge,
            "field": self.field,
            "yours": self.yours,
            "theirs": self.theirs,
            "by": self.author.name,
        }


@dataclass(frozen=True, slots=True)
class Rebased:
    """The result of a rebase. ``origins`` has, for each operation, the index of the local one it comes from."""

    ops: tuple[Op, ...]
    conflicts: tuple[Conflict, ...]
    origins: tuple[int, ...]


def rebase(local_ops: Sequence[Op], concurrent_ops: Iterable[ConcurrentOp]) -> Rebased:
    """Return the local operations, to be applied after the concurrent ones, without those that conflict."""
    concurrent = _ConcurrentChanges.from_ops(concurrent_ops)
    local = _LocalChanges.from_ops(local_ops)
    rebased: list[Op] = []
    origins: list[int] = []
    conflicts: list[Conflict] = []
    for index, op in enumerate(local_ops):
        outcome = _RULES[type(op)](op, concurrent, local)
        if isinstance(outcome, Conflict):
            conflicts.append(replace(outcome, op=index))
            continue
        rebased += outcome
        origins += [index] * len(outcome)
    return Rebased(tuple(rebased), tuple(conflicts), tuple(origins))


# The part that was written: a field of a node or of the features, a variable, or the header.
Subject = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Write:
    """The change of one path in a subject: the new value, the rule by which it is set, and its author."""

    path: Path
    value: Json
    rule: ChangeRule
    author: Author

    @property
    def reported_value(self) -> Json:
        return GONE if self.rule is ChangeRule.REMOVE else self.value

    def is_interfering(self, other: "_Write") -> bool:
        """Return whether one of the two writes affects the value that the other one changes."""
        return self._is_affecting(other) or other._is_affecting(self)

    def is_equal(self, other: "_Write") -> bool:
        is_same_field = self.path == other.path and self.rule is other.rule and not self.shifts
        return is_same_field and is_same(self.value, other.value)

    @property
    def shifts(self) -> bool:
        """Return whether the write moves the later items of a list."""
        return self.rule is ChangeRule.INSERT or (
            self.rule is ChangeRule.REMOVE and isinstance(self.path[-1], int)
        )

    def _is_affecting(self, other: "_Write") -> bool:
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
    # node → its container
    containers: dict[str, tuple[str | None, Author]] = field(default_factory=dict)

    @staticmethod
    def from_ops(concurrent_ops: Iterable[ConcurrentOp]) -> "_ConcurrentChanges":
        changes = _ConcurrentChanges()
        for concurrent_op in concurrent_ops:
            changes._add(concurrent_op.op, concurrent_op.author)
        return changes

    def has_connected(self, edge: EdgeRecord) -> bool:
        return any(connected.ends == edge.ends for connected, _author in self.connected.values())

    def find_conflict(self, subject: Subject, write: _Write) -> _Write | None:
        """Return the last concurrent write that conflicts with this write."""
        writes = [w for w in self.writes.get(subject, ()) if w.is_interfering(write)]
        return next((w for w in reversed(writes) if not w.is_equal(write)), None)

    def has_equal_write(self, subject: Subject, local: _Write) -> bool:
        return any(write.is_equal(local) for write in self.writes.get(subject, ()))

    def _add(self, op: Op, author: Author) -> None:
        if isinstance(op, ops.Add | ops.Delete):
            self._add_node(op, author)
        elif isinstance(op, ops.Connect | ops.Disconnect):
            self._add_edge(op, author)
        elif type(op) in _FIELDS:
            if isinstance(op, ops.Reparent):
                self.containers[op.id] = op.parent, author
            subject, write = _read_write(op, author)
            writes = self.writes.setdefault(subject, [])
            writes[:] = [w for w in writes if not _is_replaced(w, write)]
            writes.append(write)

    def _add_node(self, op: ops.Add | ops.Delete, author: Author) -> None:
        if isinstance(op, ops.Add):
            # An undo restored it, which cancels the deletion.
            if self.deleted_by.pop(op.item.id, None) is None:
                self.added_by[op.item.id] = op.item, author
            self.containers[op.item.id] = op.item.parent, author
            return
        if self.added_by.pop(op.id, None) is None:
            self.deleted_by[op.id] = author
        self.containers.pop(op.id, None)
        for subject in [s for s in self.writes if s[:2] == ("node", op.id)]:
            del self.writes[subject]

    def _add_edge(self, op: ops.Connect | ops.Disconnect, author: Author) -> None:
        if isinstance(op, ops.Connect):
            if self.disconnected.pop(op.edge.id, None) is None:
                self.connected[op.edge.id] = op.edge, author
        elif self.connected.pop(op.id, None) is None:
            self.disconnected[op.id] = author


@dataclass
class _LocalChanges:
    """The local operations that matter for other local ones."""

    deleted: frozenset[str] = frozenset()
    disconnected: frozenset[str] = frozenset()
    connected: Mapping[str, EdgeRecord] = field(default_factory=dict)  # edges that are new

    @staticmethod
    def from_ops(local_ops: Sequence[Op]) -> "_LocalChanges":
        disconnected: set[str] = set()
        connected: dict[str, EdgeRecord] = {}
        for op in local_ops:
            if isinstance(op, ops.Connect) and op.edge.id not in disconnected:
                connected.setdefault(op.edge.id, op.edge)
            elif isinstance(op, ops.Disconnect) and op.id not in connected:
                disconnected.add(op.id)
        return _LocalChanges(
            frozenset(op.id for op in local_ops if isinstance(op, ops.Delete)),
            frozenset(disconnected),
            connected,
        )


_Outcome = tuple[Op, ...] | Conflict


def _is_replaced(earlier: _Write, later: _Write) -> bool:
    """Return whether a later write sets the same field, or one that contains it."""
    return not later.shifts and earlier.path[: len(later.path)] == later.path


def _read_write(op: Op, author: Author) -> tuple[Subject, _Write]:
    """Return the one field that an operation writes, and the write."""
    subject, path, value, rule = _FIELDS[type(op)](op)
    return subject, _Write(path, value, rule, author)


FieldWrite = tuple[Subject, Path, Json, ChangeRule]


def _build_write(kind: str, id_: str, name: str, value: Json) -> FieldWrite:
    return (kind, id_, name), (name,), value, ChangeRule.PUT


# The operations that write one field. Any: each function takes the operation of its own key.
_FIELDS: Final[Mapping[type, Callable[[Any], FieldWrite]]] = {
    ops.Move: lambda op: _build_write("node", op.id, "place", [op.x, op.y]),
    ops.Reparent: lambda op: _build_write("node", op.id, "place", [op.parent, op.x, op.y]),
    ops.Resize: lambda op: _build_write("node", op.id, "size", [op.width, op.height]),
    ops.Rename: lambda op: _build_write("node", op.id, "title", op.title),
    ops.Set: lambda op: (("node", op.id, "data"), op.path, op.value, op.rule),
    ops.Variable: lambda op: _build_write("variable", op.area, op.name, describe_variable(op.spec)),
    ops.Feature: lambda op: (("feature", "", "features"), op.path, op.value, op.rule),
    ops.Header: lambda op: _build_write("header", "", op.field, op.value),
}


def _rebase_field(op: Op, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    """Rebase an operation that writes one field and nothing else."""
    subject, write = _read_write(op, UNKNOWN_AUTHOR)
    deleted_by, id_ = concurrent.deleted_by, getattr(op, "id", None)
    if id_ is not None and id_ in deleted_by:
        return Conflict("node", write.reported_value, GONE, deleted_by[id_], node=id_)
    if isinstance(op, ops.Reparent) and op.parent in deleted_by:
        return Conflict("parent", op.parent, GONE, deleted_by[op.parent], node=op.id)
    other = concurrent.find_conflict(subject, write)
    if other is None:
        return () if concurrent.has_equal_write(subject, write) else (op,)
    return Conflict(
        field=subject[2] if subject[0] == "header" else format_path(write.path),
        yours=write.reported_value,
        theirs=other.reported_value,
        author=other.author,
        node=id_,
        shifts=write.shifts or other.shifts,
    )


def _rebase_add(op: ops.Add, concurrent: _ConcurrentChanges, local: _LocalChanges) -> _Outcome:
    item = op.item
    if item.id in concurrent.added_by:
        added, author = concurrent.added_by[item.id]
        if replace(added, rank=UNRANKED) == replace(item, rank=UNRANKED):
            return ()
        return Conflict("id", item.id, added.id, author, node=item.id)
    if item.parent is not None and item.parent in concurrent.deleted_by:
        author = concurrent.deleted_by[item.parent]
        return Conflict("parent", item.parent, GONE, author, node=item.id)
    return (op,)


def _rebase_delete(
    op: ops.Delete, concurrent: _ConcurrentChanges, local: _LocalChanges
) -> _Outcome:
    """Rebase a deletion. It conflicts if others changed the title or data of the node, or put nodes into it."""
    if op.id in concurrent.deleted_by:
        return ()
    for name in ("title", "data"):
        if writes := concurrent.writes.get(("node", op.id, name)):
            write = writes[-1]
            path = format_path(write.path)
            return Conflict(path, GONE, write.reported_value, write.author, node=op.id)
    for child, (parent, author) in concurrent.containers.items():
        if parent == op.id and child not in local.deleted:
            return Conflict("parent", GONE, child, author, node=op.id)
    return (
        *(
            ops.Disconnect(edge.id)
            for edge, _author in concurrent.connected.values()
            if op.id in (edge.source, edge.target)
            and edge.id not in local.disconnected
            # If both ends are deleted, the deletion of the source removes the edge.
            and not _is_removed_with_source(edge, op.id, local)
        ),
        op,
    )


def _is_removed_with_source(edge: EdgeRecord, id_: str, local: _LocalChanges) -> bool:
    deletes_both_ends = edge.source in local.deleted and edge.target in local.deleted
    return deletes_both_ends and edge.source != edge.target and id_ == edge.target


def _rebase_connect(
    op: ops.Connect, concurrent: _ConcurrentChanges, local: _LocalChanges
) -> _Outcome:
    edge = op.edge
    for end in (edge.source, edge.target):
        if end in concurrent.deleted_by:
            author = concurrent.deleted_by[end]
            return Conflict("edge", list(edge.ends), GONE, author, node=end, edge=edge.id)
    if concurrent.has_connected(edge):
        return ()
    if edge.id in local.disconnected and edge.id in concurrent.disconnected:
        return ()  # the edge was removed and restored locally, so the concurrent removal stays
    for connected, author in concurrent.connected.values():
        if connected.id == edge.id:
            return Conflict("edge", list(edge.ends), list(connected.ends), author, edge=edge.id)
    return (op,)


def _rebase_disconnect(
    op: ops.Disconnect, concurrent: _ConcurrentChanges, local: _LocalChanges
) -> _Outcome:
    local_edge = local.connected.get(op.id)
    if local_edge is not None and concurrent.has_connected(local_edge):
        return ()  # the edge was added and removed locally, so the concurrent edge stays
    return () if op.id in concurrent.disconnected else (op,)


_RULES: Final[Mapping[type, Callable[[Any, _ConcurrentChanges, _LocalChanges], _Outcome]]] = {
    **dict.fromkeys(_FIELDS, _rebase_field),
    ops.Add: _rebase_add,
    ops.Delete: _rebase_delete,
    ops.Connect: _rebase_connect,
    ops.Disconnect: _rebase_disconnect,
    # The caller expands a replacement first if there are concurrent operations.
    ops.Replace: lambda op, _concurrent, _local: (op,),
}
