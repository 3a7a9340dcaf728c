"""Operations that were right for an older draft, fitted to what others did since.

Operations name ids and fields, so most fit as they are. What others did already is left out; where
both changed one field to different values, or one changed what the other took away, there is a clash:
it is said with both values, and nobody's is forced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

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
    Path,
    Rename,
    Reparent,
    Replace,
    Resize,
    Set,
    Variable,
)
from workflows.engine.editing.paths import same, written
from workflows.engine.editing.records import UNRANKED, Item, Named, Wire
from workflows.engine.language.document import Json


GONE: Final = "gone"  # what a clash says where one side has no value any more


@dataclass(frozen=True, slots=True)
class Who:
    """A name isn't enough to know people by: two may have the same."""

    name: str = ""
    id: UUID | None = None


NOBODY: Final = Who()


@dataclass(frozen=True, slots=True)
class Theirs:
    """An operation done since, and by whom."""

    op: Op
    by: Who = NOBODY


@dataclass(frozen=True, slots=True)
class Clash:
    """``op``: the index among one's own operations."""

    op: int
    field: str
    yours: Json
    theirs: Json
    by: Who
    node: str | None = None
    edge: str | None = None
    shifts: bool = False  # a list moved under it: what stands at its place is another thing now

    def tree(self) -> dict[str, Json]:
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
    """``origins``: for each operation, the index of the one it comes from."""

    ops: tuple[Op, ...]
    clashes: tuple[Clash, ...]
    origins: tuple[int, ...]


def rebase(mine: Sequence[Op], theirs: Iterable[Theirs]) -> Rebased:
    """Mine, to be done after theirs. An operation that clashes isn't among them."""
    since = _Since.of(theirs)
    own = _Own.of(mine)
    ops: list[Op] = []
    origins: list[int] = []
    clashes: list[Clash] = []
    for index, op in enumerate(mine):
        verdict = _JUDGE[type(op)](op, since, own)
        if isinstance(verdict, _Against):
            clashes.append(
                Clash(
                    index,
                    verdict.field,
                    verdict.yours,
                    verdict.theirs,
                    verdict.by,
                    verdict.node,
                    verdict.edge,
                    verdict.shifts,
                )
            )
            continue
        ops += verdict
        origins += [index] * len(verdict)
    return Rebased(tuple(ops), tuple(clashes), tuple(origins))


# Where something was written: of a node, of the features, a variable, the header.
Subject = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Write:
    path: Path
    value: Json
    rule: How
    by: Who

    def meets(self, other: "_Write") -> bool:
        """Whether one of them changes what the other is about."""
        return self._covers(other) or other._covers(self)

    def equals(self, other: "_Write") -> bool:
        alike = self.path == other.path and self.rule is other.rule and not self.shifts
        return alike and same(self.value, other.value)

    @property
    def shifts(self) -> bool:
        """Moves what comes after it in a list."""
        return self.rule is How.INSERT or (
            self.rule is How.REMOVE and isinstance(self.path[-1], int)
        )

    def _covers(self, other: "_Write") -> bool:
        if not self.shifts:
            return other.path[: len(self.path)] == self.path
        home, index = self.path[:-1], self.path[-1]
        if other.path[: len(home)] != home or len(other.path) == len(home):
            return False
        if other.shifts and len(other.path) == len(self.path):
            return True
        step = other.path[len(home)]
        return isinstance(step, int) and isinstance(index, int) and step >= index


@dataclass
class _Since:
    """What theirs comes to: what is gone, what came, and the last value of each field."""

    gone: dict[str, Who] = field(default_factory=dict)  # node → by whom
    came: dict[str, tuple[Item, Who]] = field(default_factory=dict)
    cut: dict[str, Who] = field(default_factory=dict)  # edge → by whom
    drawn: dict[str, tuple[Wire, Who]] = field(default_factory=dict)
    writes: dict[Subject, list[_Write]] = field(default_factory=dict)
    homes: dict[str, tuple[str | None, Who]] = field(default_factory=dict)  # node → its container

    @staticmethod
    def of(theirs: Iterable[Theirs]) -> "_Since":
        since = _Since()
        for each in theirs:
            since._take(each.op, each.by)
        return since

    def _take(self, op: Op, by: Who) -> None:
        if isinstance(op, Add | Delete):
            self._take_node(op, by)
        elif isinstance(op, Connect | Disconnect):
            self._take_edge(op, by)
        else:
            if isinstance(op, Reparent):
                self.homes[op.id] = op.parent, by
            for subject, write in _writes(op, by):
                written_here = self.writes.setdefault(subject, [])
                written_here[:] = [w for w in written_here if not _replaced(w, write)]
                written_here.append(write)

    def _take_node(self, op: Add | Delete, by: Who) -> None:
        if isinstance(op, Add):
            # Back again, by an undo: as if it had never gone.
            if self.gone.pop(op.item.id, None) is None:
                self.came[op.item.id] = op.item, by
            self.homes[op.item.id] = op.item.parent, by
            return
        if self.came.pop(op.id, None) is None:
            self.gone[op.id] = by
        self.homes.pop(op.id, None)
        for subject in [s for s in self.writes if s[:2] == ("node", op.id)]:
            del self.writes[subject]

    def _take_edge(self, op: Connect | Disconnect, by: Who) -> None:
        if isinstance(op, Connect):
            if self.cut.pop(op.wire.id, None) is None:
                self.drawn[op.wire.id] = op.wire, by
        elif self.drawn.pop(op.id, None) is None:
            self.cut[op.id] = by

    def has_drawn(self, wire: Wire) -> bool:
        return any(theirs.ends == wire.ends for theirs, _by in self.drawn.values())

    def against(self, subject: Subject, mine: _Write) -> _Write | None:
        """Their write that mine can't stand beside."""
        found = [w for w in self.writes.get(subject, ()) if w.meets(mine)]
        return next((w for w in reversed(found) if not w.equals(mine)), None)

    def says_the_same(self, subject: Subject, mine: _Write) -> bool:
        return any(write.equals(mine) for write in self.writes.get(subject, ()))


@dataclass
class _Own:
    """What of mine bears on other operations of mine."""

    deleted: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    drawn: Mapping[str, Wire] = field(default_factory=dict)  # edges that weren't there before

    @staticmethod
    def of(mine: Sequence[Op]) -> "_Own":
        cut: set[str] = set()
        drawn: dict[str, Wire] = {}
        for op in mine:
            if isinstance(op, Connect) and op.wire.id not in cut:
                drawn.setdefault(op.wire.id, op.wire)
            elif isinstance(op, Disconnect) and op.id not in drawn:
                cut.add(op.id)
        return _Own(
            frozenset(op.id for op in mine if isinstance(op, Delete)),
            frozenset(cut),
            frozenset(op.item.id for op in mine if isinstance(op, Add)),
            drawn,
        )


@dataclass(frozen=True, slots=True)
class _Against:
    field: str
    yours: Json
    theirs: Json
    by: Who
    node: str | None = None
    edge: str | None = None
    shifts: bool = False


_Verdict = tuple[Op, ...] | _Against


def _replaced(former: _Write, latter: _Write) -> bool:
    """A later write of the same field, or of all of which it is a part."""
    return not latter.shifts and former.path[: len(latter.path)] == latter.path


def _writes(op: Op, by: Who) -> Iterable[tuple[Subject, _Write]]:
    for subject, path, value, how in _FIELDS[type(op)](op) if type(op) in _FIELDS else ():
        yield subject, _Write(path, value, how, by)


Written = tuple[Subject, Path, Json, How]


def _put(kind: str, id_: str, name: str, value: Json) -> Written:
    return (kind, id_, name), (name,), value, How.PUT


# What each operation writes where. Any: each takes the operation it stands beside.
_FIELDS: Final[Mapping[type, Callable[[Any], tuple[Written, ...]]]] = {
    Move: lambda op: (_put("node", op.id, "place", [op.x, op.y]),),
    Reparent: lambda op: (_put("node", op.id, "place", [op.parent, op.x, op.y]),),
    Resize: lambda op: (_put("node", op.id, "size", [op.width, op.height]),),
    Rename: lambda op: (_put("node", op.id, "title", op.title),),
    Set: lambda op: ((("node", op.id, "data"), op.path, op.value, op.rule),),
    Variable: lambda op: (_put("variable", op.area, op.name, _value_of(op.spec)),),
    Feature: lambda op: ((("feature", "", "features"), op.path, op.value, op.rule),),
    Header: lambda op: (_put("header", "", op.field, op.value),),
}


def _value_of(spec: Named | None) -> Json:
    if spec is None:
        return None
    return {"type": spec.value_type, "value": spec.value, "description": spec.description}


def _judge_fields(op: Op, since: _Since, own: _Own) -> _Verdict:
    """Operations that write fields and nothing else."""
    id_ = getattr(op, "id", None)
    if id_ is not None and id_ in since.gone:
        return _Against("node", _yours(op), GONE, since.gone[id_], node=id_)
    if isinstance(op, Reparent) and op.parent in since.gone:
        return _Against("parent", op.parent, GONE, since.gone[op.parent], node=op.id)
    repeats = True
    for subject, mine in _writes(op, NOBODY):
        if (theirs := since.against(subject, mine)) is not None:
            value = GONE if theirs.rule is How.REMOVE else theirs.value
            name = written(mine.path) if subject[0] != "header" else subject[2]
            shifts = mine.shifts or theirs.shifts
            return _Against(name, _yours(op), value, theirs.by, node=id_, shifts=shifts)
        repeats = repeats and since.says_the_same(subject, mine)
    return () if repeats else (op,)


def _yours(op: Op) -> Json:
    written_here = [write.value for _, write in _writes(op, NOBODY)]
    if isinstance(op, Set | Feature) and op.rule is How.REMOVE:
        return GONE
    return written_here[0] if written_here else None


def _judge_add(op: Add, since: _Since, own: _Own) -> _Verdict:
    item = op.item
    if item.id in since.came:
        theirs, by = since.came[item.id]
        if _unranked(theirs) == _unranked(item):
            return ()
        return _Against("id", item.id, theirs.id, by, node=item.id)
    if item.parent is not None and item.parent in since.gone:
        return _Against("parent", item.parent, GONE, since.gone[item.parent], node=item.id)
    return (op,)


def _unranked(item: Item) -> Item:
    return replace(item, rank=UNRANKED)


def _judge_delete(op: Delete, since: _Since, own: _Own) -> _Verdict:
    """Their words in it, and nodes they put into it, are not thrown away unasked; where it lies may be."""
    if op.id in since.gone:
        return ()
    for name in ("title", "data"):
        if writes := since.writes.get(("node", op.id, name)):
            last = writes[-1]
            value = GONE if last.rule is How.REMOVE else last.value
            return _Against(written(last.path), GONE, value, last.by, node=op.id)
    for child, (parent, by) in since.homes.items():
        if parent == op.id and child not in own.deleted:
            return _Against("parent", GONE, child, by, node=op.id)
    return (
        *(
            Disconnect(wire.id)
            for wire, _by in since.drawn.values()
            if op.id in (wire.source, wire.target)
            and wire.id not in own.cut
            # of two deleted ends, the one that comes first cuts it
            and not _cut_before(wire, op.id, own)
        ),
        op,
    )


def _cut_before(wire: Wire, id_: str, own: _Own) -> bool:
    both = wire.source in own.deleted and wire.target in own.deleted
    return both and wire.source != wire.target and id_ == wire.target


def _judge_connect(op: Connect, since: _Since, own: _Own) -> _Verdict:
    wire = op.wire
    for end in (wire.source, wire.target):
        if end in since.gone:
            return _Against("edge", list(wire.ends), GONE, since.gone[end], node=end, edge=wire.id)
    if since.has_drawn(wire):
        return ()
    for theirs, by in since.drawn.values():
        if theirs.id == wire.id:
            return _Against("edge", list(wire.ends), list(theirs.ends), by, edge=wire.id)
    return (op,)


def _judge_disconnect(op: Disconnect, since: _Since, own: _Own) -> _Verdict:
    mine = own.drawn.get(op.id)
    if mine is not None and since.has_drawn(mine):
        return ()  # drawn and cut again: all of it comes to nothing, and theirs stands
    return () if op.id in since.cut else (op,)


def _judge_replace(op: Replace, since: _Since, own: _Own) -> _Verdict:
    return (op,)  # whoever has one unfolds it first, where somebody did something since


_JUDGE: Final[Mapping[type, Callable[[Any, _Since, _Own], _Verdict]]] = {
    **dict.fromkeys(
        (Move, Reparent, Resize, Rename, Set, Variable, Feature, Header), _judge_fields
    ),
    Add: _judge_add,
    Delete: _judge_delete,
    Connect: _judge_connect,
    Disconnect: _judge_disconnect,
    Replace: _judge_replace,
}
