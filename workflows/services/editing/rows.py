"""The draft's rows as the store that operations work on: what they touch is read once and written once.

Everything is written at ``flush``; questions that PostgreSQL answers better (paths, counts) flush first.
The caller holds the workflow's lock and its transaction: whoever refuses half-way rolls back.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from django.db import connection
from django.db.models import Max, Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from config.encryption.crypto import encrypt
from config.sql import read_queries
from workflows.engine.editing.paths import same
from workflows.engine.editing.records import UNRANKED, Item, Named, Wire
from workflows.engine.editing.store import texts_of
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.strict import size_of
from workflows.models import Edge, Node, Snapshot, Variable, Workflow, WorkflowSecret
from workflows.models.documents import from_json
from workflows.services.editor import draft_rows, snapshots


QUERIES: Final = read_queries("workflows/sql/queries/drafts.sql")

Part = TypeVar("Part", Item, Wire, Named)
Row = TypeVar("Row", bound=Model)

FEW = 3  # rows, up to which one statement each is quicker than one for all
NAMES = 80  # characters that the names of a part's fields come to in a document, at most
MANY = 200  # ids, from which on reading the whole draft is cheaper than asking for each


HEADER_FIELDS = {
    "name": "name",
    "description": "description",
    "mode": "mode",
    "dialect": "dialect",
    "version": "dialect_version",
    "extra": "extra",
}


class _Shelf(Generic[Part]):
    """Parts of one kind by their key: as they were read, as they are now, and which have changed."""

    def __init__(self) -> None:
        self.now: dict[Any, Part | None] = {}  # None: known not to be there
        self.was: dict[Any, tuple[Any, Part]] = {}  # key → primary key, as read
        self.dirty: dict[Any, None] = {}

    def learn(self, key: Any, pk: Any, part: Part) -> None:
        if key not in self.now:
            self.now[key] = part
            self.was[key] = pk, part

    def put(self, key: Any, part: Part | None) -> None:
        self.now[key] = part
        self.dirty[key] = None


class Rows:
    """A ``Store`` over one workflow's draft."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.header_dirty: set[str] = set()
        self.grown = False  # something was added, or became longer
        self.growth = 0  # characters the document has more than before, at most
        self._reset()

    def _reset(self) -> None:
        self._items: _Shelf[Item] = _Shelf()
        self._wires: _Shelf[Wire] = _Shelf()
        self._named: _Shelf[Named] = _Shelf()
        self._inside: dict[str | None, set[str]] = defaultdict(set)
        self._ends: dict[str, set[str]] = defaultdict(set)
        self._knows_inside: set[str | None] = set()
        self._knows_ends: set[str] = set()
        self._knows_all = False
        self._last: dict[str, int] = {}
        self._changed = False

    # Reading ahead

    def prefetch(self, ids: Iterable[str], *, around: Iterable[str] = ()) -> None:
        """Items by their ids; ``around``: with their wires and, however deep, what is in them."""
        deep = list(dict.fromkeys(around))
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._items.now]
        if len(wanted) + len(deep) > MANY:
            self.load_all()
            return
        if wanted or deep:
            self._read_items(Q(key__in=wanted + deep), asked=wanted + deep)
        while deep:
            self._read_items(Q(parent__in=deep))
            self._read_wires(deep)
            self._knows_inside.update(deep)
            deep = [child for id_ in deep for child in self._inside[id_]]

    def load_all(self) -> None:
        if not self._knows_all:
            self._read_items(Q())
            for row in self._edges().all():
                self._learn_wire(row)
            self._knows_all = True

    # The contract's questions

    def item(self, id_: str) -> Item | None:
        if id_ not in self._items.now and not self._knows_all:
            self._read_items(Q(key=id_), asked=[id_])
        return self._items.now.get(id_)

    def wire(self, id_: str) -> Wire | None:
        if id_ not in self._wires.now and not self._knows_all:
            for row in self._edges().filter(key=id_):
                self._learn_wire(row)
            self._wires.now.setdefault(id_, None)
        return self._wires.now.get(id_)

    def named(self, area: str, name: str) -> Named | None:
        if (area, name) not in self._named.now:
            for row in self._variables().filter(area=area, name=name):
                self._named.learn((area, name), row.pk, _named(row))
            self._named.now.setdefault((area, name), None)
        return self._named.now.get((area, name))

    def children(self, parent: str | None) -> list[Item]:
        if parent not in self._knows_inside and not self._knows_all:
            self._read_items(Q(parent=parent or ""))
            self._knows_inside.add(parent)
        found = (self._items.now[id_] for id_ in self._inside[parent])
        return sorted((item for item in found if item is not None), key=_place)

    def wires_at(self, id_: str) -> list[Wire]:
        if id_ not in self._knows_ends and not self._knows_all:
            self._read_wires([id_])
        found = (self._wires.now[wire] for wire in self._ends[id_])
        return sorted((wire for wire in found if wire is not None), key=_place)

    def roots(self) -> list[Item]:
        self.flush()
        self._read_items(Q(is_note=False) & (Q(kind="start") | Q(kind__startswith="trigger-")))
        roots = [
            item
            for item in self._items.now.values()
            if item is not None
            and not item.is_note
            and (item.kind == "start" or item.kind.startswith("trigger-"))
        ]
        return sorted(roots, key=_place)

    def mentioning(self, text: str) -> list[Item]:
        self.flush()
        keys = (
            self._nodes()
            .annotate(words=Cast("data", TextField()))
            .filter(words__contains=text)
            .values_list("key", flat=True)
        )
        found = [item for key in list(keys) if (item := self.item(key)) is not None]
        return sorted((i for i in found if text in texts_of(i.data)), key=_place)

    def leads_to(self, source: str, goal: str) -> bool:
        self.flush()
        with connection.cursor() as cursor:
            cursor.execute(
                QUERIES["has_path"], {"workflow": self.workflow.pk, "source": source, "goal": goal}
            )
            found = cursor.fetchone()
        return bool(found and found[0])

    def whole_graph(self) -> list[tuple[str, str]]:
        self.flush()
        return list(self._edges().values_list("source", "target"))

    def counts(self) -> tuple[int, int]:
        self.flush()
        return self._nodes().count(), self._edges().count()

    def names(self, area: str) -> list[str]:
        self.flush()
        return list(self._variables().filter(area=area).values_list("name", flat=True))

    def features(self) -> Mapping[str, Json]:
        return self.workflow.features  # type: ignore[no-any-return]

    def header(self, field: str) -> Json:
        return getattr(self.workflow, HEADER_FIELDS[field])

    # Changing

    def put_item(self, item: Item) -> Item:
        former = self._items.now.get(item.id)
        if former is not None:
            self._inside[former.parent].discard(item.id)
        placed = self._ranked(item, "note" if item.is_note else "node", self._last_node)
        self._items.put(item.id, placed)
        self._inside[placed.parent].add(item.id)
        return placed

    def put_wire(self, wire: Wire) -> Wire:
        placed = self._ranked(wire, "edge", self._last_edge)
        self._wires.put(wire.id, placed)
        for end in (wire.source, wire.target):
            self._ends[end].add(wire.id)
        return placed

    def put_named(self, named: Named) -> Named:
        placed = self._ranked(named, named.area, self._last_variable)
        self.named(named.area, named.name)  # so that a row that is there is found again
        self._named.put((named.area, named.name), placed)
        return placed

    def drop_item(self, id_: str) -> None:
        item = self._items.now[id_]
        if item is not None:
            self._inside[item.parent].discard(id_)
        self._items.put(id_, None)

    def drop_wire(self, id_: str) -> None:
        self._wires.put(id_, None)

    def drop_named(self, area: str, name: str) -> None:
        self._named.put((area, name), None)

    def put_features(self, features: Mapping[str, Json]) -> None:
        self._grow(size_of(features) - size_of(self.workflow.features))
        self.workflow.features = dict(features)
        self.header_dirty.add("features")

    def put_header(self, field: str, value: Json) -> None:
        self.growth += size_of(value) - size_of(self.header(field))
        setattr(self.workflow, HEADER_FIELDS[field], value)
        self.header_dirty.add(HEADER_FIELDS[field])

    def snapshot(self) -> str:
        self.flush()
        if self._changed or self.header_dirty:
            return snapshots.store(self.workflow, draft_rows.read_rows(self.workflow)).hash
        return snapshots.of_draft(self.workflow).hash

    def replace(self, snapshot: str) -> None:
        self.flush()
        stored = Snapshot.objects.unscoped().get(team_id=self.workflow.team_id, hash=snapshot)
        document = from_json(stored.document)
        draft_rows.write_rows(self.workflow, document)
        draft_rows.copy_header(self.workflow, document)
        self._reset()
        self._changed = True
        self.growth = 0  # counted with the document's header
        self.header_dirty |= set(draft_rows.HEADER)

    def flush(self) -> None:
        """Write what has changed since the last time."""
        self._flush(self._items, Node, self._node_fields)
        self._flush(self._wires, Edge, self._edge_fields)
        self._keep_secrets()
        self._flush(self._named, Variable, self._variable_fields)

    # Inside

    def _nodes(self) -> QuerySet[Node]:
        return Node.objects.unscoped().filter(workflow=self.workflow)

    def _edges(self) -> QuerySet[Edge]:
        return Edge.objects.unscoped().filter(workflow=self.workflow)

    def _variables(self) -> QuerySet[Variable]:
        return Variable.objects.unscoped().filter(workflow=self.workflow)

    def _read_items(self, which: Q, *, asked: Iterable[str] = ()) -> None:
        for row in self._nodes().filter(which).order_by():
            if row.key not in self._items.now:
                item = _item(row)
                self._items.learn(row.key, row.pk, item)
                self._inside[item.parent].add(item.id)
        for key in asked:
            self._items.now.setdefault(key, None)

    def _read_wires(self, ids: list[str]) -> None:
        for row in self._edges().filter(Q(source__in=ids) | Q(target__in=ids)).order_by():
            self._learn_wire(row)
        self._knows_ends.update(ids)

    def _learn_wire(self, row: Edge) -> None:
        if row.key not in self._wires.now:
            self._wires.learn(row.key, row.pk, _wire(row))
            for end in (row.source, row.target):
                self._ends[end].add(row.key)

    def _ranked(self, part: Part, what: str, last: Callable[[str], int]) -> Part:
        if part.rank != UNRANKED:
            if what in self._last:
                self._last[what] = max(self._last[what], part.rank)
            return part
        if what not in self._last:
            self.flush()
            self._last[what] = last(what)
        self._last[what] += 1
        return replace(part, rank=self._last[what])

    def _last_node(self, what: str) -> int:
        return _highest(self._nodes().filter(is_note=what == "note"))

    def _last_edge(self, what: str) -> int:
        return _highest(self._edges())

    def _last_variable(self, what: str) -> int:
        return _highest(self._variables().filter(area=what))

    def _flush(
        self,
        shelf: _Shelf[Part],
        model: type[Row],
        fields_of: Callable[[Part], dict[str, Any]],  # Any: fields of several types
    ) -> None:
        gone: list[Any] = []
        new: list[Row] = []
        changed: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for key in shelf.dirty:
            part, (pk, former) = shelf.now[key], shelf.was.pop(key, (None, None))
            if part is None:
                if former is not None:
                    gone.append(pk)
                    self.growth -= size_of(fields_of(former).get("data"))
                continue
            fields = fields_of(part)
            if former is None:
                row = model(team_id=self.workflow.team_id, workflow=self.workflow, **fields)
                new.append(row)
                self._grow(NAMES + size_of(fields))
                pk = row.pk
            else:
                before = fields_of(former)
                # As JSON: to Python, True equals 1.
                names = tuple(name for name in fields if not same(fields[name], before[name]))
                if names:
                    self._grow(_longer(fields, before, names))
                    changed[names].append(model(pk=pk, **{name: fields[name] for name in names}))
            shelf.was[key] = pk, part
        self._changed = self._changed or bool(shelf.dirty)
        shelf.dirty.clear()
        if gone:
            model._default_manager.filter(pk__in=gone).delete()
        for names, found in changed.items():
            _update(model, found, names)
        if new:
            model._default_manager.bulk_create(new, batch_size=500)

    def _grow(self, characters: int) -> None:
        self.growth += characters
        self.grown = self.grown or characters > 0

    @staticmethod
    def _node_fields(item: Item) -> dict[str, Any]:  # Any: fields of several types
        return {
            "key": item.id,
            "rank": item.rank,
            "kind": item.kind,
            "title": item.title,
            "parent": item.parent or "",
            "x": item.x,
            "y": item.y,
            "width": item.width,
            "height": item.height,
            "data": item.data,
            "extra": item.extra,
            "is_note": item.is_note,
        }

    @staticmethod
    def _edge_fields(wire: Wire) -> dict[str, Any]:  # Any: fields of several types
        return {
            "key": wire.id,
            "rank": wire.rank,
            "source": wire.source,
            "target": wire.target,
            "handle": wire.handle,
            "target_handle": wire.target_handle,
            "extra": wire.extra,
        }

    @staticmethod
    def _variable_fields(named: Named) -> dict[str, Any]:  # Any: fields of several types
        return {
            "area": named.area,
            "name": named.name,
            "key": named.id,
            "rank": named.rank,
            "value_type": named.value_type,
            "value": None if named.is_secret else named.value,
            "description": named.description,
            "extra": named.extra,
        }

    def _keep_secrets(self) -> None:
        """A secret's value goes beside the draft; under a new name it is the old one's until a new one is given."""
        dropped = {
            former.rank: (area, name)
            for (area, name) in self._named.dirty
            if self._named.now[area, name] is None
            and (former := self._named.was.get((area, name), (None, None))[1]) is not None
            and former.is_secret
        }
        for area, name in self._named.dirty:
            named = self._named.now[area, name]
            if named is None or not named.is_secret:
                continue
            if named.value not in (None, ""):
                self._put_secret(area, name, encrypt(str(named.value)))
            elif (old := dropped.get(named.rank)) is not None and old[0] == area:
                for row in WorkflowSecret.objects.unscoped().filter(
                    workflow=self.workflow, area=area, name=old[1]
                ):
                    self._put_secret(area, name, bytes(row.secret))

    def _put_secret(self, area: str, name: str, secret: bytes) -> None:
        WorkflowSecret.objects.unscoped().update_or_create(
            workflow=self.workflow,
            area=area,
            name=name,
            defaults={"secret": secret, "team_id": self.workflow.team_id},
        )


def _update(model: type[Row], found: list[Row], names: tuple[str, ...]) -> None:
    if len(found) > FEW and model is not Variable:  # json has no CASE
        model._default_manager.bulk_update(found, names, batch_size=500)
        return
    for row in found:
        values = {name: getattr(row, name) for name in names}
        model._default_manager.filter(pk=row.pk).update(**values)


def _longer(now: Mapping[str, Any], before: Mapping[str, Any], names: tuple[str, ...]) -> int:
    """Characters; a field that was empty may not have been named in the document before."""
    named = NAMES if any(not before[name] and now[name] for name in names) else 0
    return sum(size_of(now[name]) - size_of(before[name]) for name in names) + named


def _highest(found: QuerySet[Any]) -> int:  # Any: of three models
    highest = found.order_by().aggregate(highest=Max("rank"))["highest"]
    return -1 if highest is None else int(highest)


def _place(part: Item | Wire) -> tuple[int, str]:
    return part.rank, part.id


def _item(row: Node) -> Item:
    return Item(
        id=row.key,
        kind=row.kind,
        title=row.title,
        parent=row.parent or None,
        x=row.x,
        y=row.y,
        width=row.width,
        height=row.height,
        data=row.data,
        extra=row.extra,
        rank=row.rank,
        is_note=row.is_note,
    )


def _wire(row: Edge) -> Wire:
    return Wire(row.key, row.source, row.target, row.handle, row.target_handle, row.extra, row.rank)


def _named(row: Variable) -> Named:
    return Named(
        row.area, row.name, row.value_type, row.value, row.key, row.description, row.extra, row.rank
    )
