"""The store on which the editing operations of a draft work: its rows, each of which is read and written once.

Rows are written by ``flush``; queries that run in PostgreSQL (paths, counts) flush first. The caller holds the
workflow's lock and the transaction, which is rolled back if an operation is refused.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from django.db import connection
from django.db.models import Max, Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from config.encryption.crypto import encrypt
from config.sql import read_queries
from workflows.engine.editing.paths import is_same
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item, VariableRecord
from workflows.engine.editing.store import is_root, join_texts
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import measure_tree
from workflows.models import Edge, Node, Snapshot, Variable, Workflow, WorkflowSecret
from workflows.models.documents import from_json
from workflows.services.editor import draft_rows, snapshots


QUERIES: Final = read_queries("workflows/sql/queries/drafts.sql")

Part = TypeVar("Part", Item, EdgeRecord, VariableRecord)
Row = TypeVar("Row", bound=Model)

# Up to this number of rows, one statement for each row is faster than one statement for all rows.
MAX_SINGLE_UPDATES = 3
# The total length of the names of a part's fields in a document.
MAX_FIELD_NAMES_LENGTH = 80
# For more ids, it is cheaper to read the whole draft.
MAX_SELECTIVE_IDS = 200
HEADER_COLUMNS = {
    "version": "dialect_version"
}  # header field → column, unless both have the same name
SORT_KEY = attrgetter("rank", "id")


class _TrackedParts(Generic[Part]):
    """The parts of one kind that were read or changed, by key."""

    def __init__(self) -> None:
        self.current: dict[Any, Part | None] = {}  # None for a part that doesn't exist
        self.stored: dict[Any, tuple[Any, Part]] = {}  # primary key and part as stored
        self.dirty: dict[Any, None] = {}  # the keys of the parts to write, in order

    def add_stored(self, key: Any, pk: Any, part: Part) -> None:
        if key not in self.current:
            self.current[key] = part
            self.stored[key] = pk, part

    def put(self, key: Any, part: Part | None) -> None:
        self.current[key] = part
        self.dirty[key] = None


class DraftStore:
    """Implements ``engine.editing.store.Store`` for one workflow's draft."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.header_dirty: set[str] = set()  # the changed columns of the workflow's row
        self.has_grown = False  # a part was added or became longer
        self.growth = 0  # an upper bound of the number of added characters
        self._reset()

    def _reset(self) -> None:
        self._items: _TrackedParts[Item] = _TrackedParts()
        self._edges: _TrackedParts[EdgeRecord] = _TrackedParts()
        self._variables: _TrackedParts[VariableRecord] = _TrackedParts()
        self._children: dict[str | None, set[str]] = defaultdict(set)
        self._edge_ids: dict[str, set[str]] = defaultdict(set)
        self._loaded_containers: set[str | None] = set()
        self._loaded_nodes: set[str] = set()
        self._is_loaded = False
        self._last_ranks: dict[str, int] = {}
        self._changed = False

    # Reading ahead

    def prefetch(self, ids: Iterable[str], *, around: Iterable[str] = ()) -> None:
        """Read the items with these ids, and those in ``around`` with their edges and their content at any depth."""
        containers = list(dict.fromkeys(around))
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._items.current]
        if len(missing) + len(containers) > MAX_SELECTIVE_IDS:
            self.load_all()
            return
        if missing or containers:
            self._read_items(Q(key__in=missing + containers), expected_ids=missing + containers)
        while containers:
            self._read_items(Q(parent__in=containers))
            self._read_edges(containers)
            self._loaded_containers.update(containers)
            containers = [child for id_ in containers for child in self._children[id_]]

    def load_all(self) -> None:
        if not self._is_loaded:
            self._read_items(Q())
            for row in self._query_edges().all():
                self._add_stored_edge(row)
            self._is_loaded = True

    def find_items(self, ids: Iterable[str]) -> tuple[Item, ...]:
        """Return the items with these ids that exist."""
        return tuple(item for id_ in ids if (item := self.get_item(id_)) is not None)

    def find_edges(self, ids: Iterable[str]) -> tuple[EdgeRecord, ...]:
        """Return the edges with these ids that exist."""
        return tuple(edge for id_ in ids if (edge := self.get_edge(id_)) is not None)

    # The queries of ``Store``

    def get_item(self, id_: str) -> Item | None:
        if id_ not in self._items.current and not self._is_loaded:
            self._read_items(Q(key=id_), expected_ids=[id_])
        return self._items.current.get(id_)

    def get_edge(self, id_: str) -> EdgeRecord | None:
        if id_ not in self._edges.current and not self._is_loaded:
            for row in self._query_edges().filter(key=id_):
                self._add_stored_edge(row)
            self._edges.current.setdefault(id_, None)
        return self._edges.current.get(id_)

    def get_variable(self, area: str, name: str) -> VariableRecord | None:
        if (area, name) not in self._variables.current:
            for row in self._query_variables().filter(area=area, name=name):
                self._variables.add_stored((area, name), row.pk, draft_rows.load_variable(row))
            self._variables.current.setdefault((area, name), None)
        return self._variables.current.get((area, name))

    def list_children(self, parent: str | None) -> list[Item]:
        if parent not in self._loaded_containers and not self._is_loaded:
            self._read_items(Q(parent=parent or ""))
            self._loaded_containers.add(parent)
        items = (self._items.current[id_] for id_ in self._children[parent])
        return sorted((item for item in items if item is not None), key=SORT_KEY)

    def list_node_edges(self, id_: str) -> list[EdgeRecord]:
        if id_ not in self._loaded_nodes and not self._is_loaded:
            self._read_edges([id_])
        edges = (self._edges.current[edge] for edge in self._edge_ids[id_])
        return sorted((edge for edge in edges if edge is not None), key=SORT_KEY)

    def list_roots(self) -> list[Item]:
        self.flush()
        self._read_items(Q(is_note=False) & (Q(kind="start") | Q(kind__startswith="trigger-")))
        items = (item for item in self._items.current.values() if item is not None)
        return sorted(filter(is_root, items), key=SORT_KEY)

    def find_mentions(self, text: str) -> list[Item]:
        self.flush()
        keys = (
            self._query_nodes()
            .annotate(data_text=Cast("data", TextField()))
            .filter(data_text__contains=text)
            .values_list("key", flat=True)
        )
        items = self.find_items(list(keys))
        return sorted((item for item in items if text in join_texts(item.data)), key=SORT_KEY)

    def has_path(self, source: str, goal: str) -> bool:
        self.flush()
        with connection.cursor() as cursor:
            cursor.execute(
                QUERIES["has_path"], {"workflow": self.workflow.pk, "source": source, "goal": goal}
            )
            row = cursor.fetchone()
        return bool(row and row[0])

    def list_edge_ends(self) -> list[tuple[str, str]]:
        self.flush()
        return list(self._query_edges().values_list("source", "target"))

    def count_parts(self) -> tuple[int, int]:
        self.flush()
        return self._query_nodes().count(), self._query_edges().count()

    def get_features(self) -> Mapping[str, Json]:
        return self.workflow.features  # type: ignore[no-any-return]

    def get_header(self, field: str) -> Json:
        return getattr(self.workflow, HEADER_COLUMNS.get(field, field))

    # Changing

    def put_item(self, item: Item) -> Item:
        previous = self._items.current.get(item.id)
        if previous is not None:
            self._children[previous.parent].discard(item.id)
        group = "note" if item.is_note else "node"
        ranked = self._assign_rank(
            item, group, lambda: self._query_nodes().filter(is_note=item.is_note)
        )
        self._items.put(item.id, ranked)
        self._children[ranked.parent].add(item.id)
        return ranked

    def put_edge(self, edge: EdgeRecord) -> EdgeRecord:
        ranked = self._assign_rank(edge, "edge", self._query_edges)
        self._edges.put(edge.id, ranked)
        for end in (edge.source, edge.target):
            self._edge_ids[end].add(edge.id)
        return ranked

    def put_variable(self, variable: VariableRecord) -> VariableRecord:
        ranked = self._assign_rank(
            variable, variable.area, lambda: self._query_variables().filter(area=variable.area)
        )
        self.get_variable(variable.area, variable.name)  # so that an existing row is updated
        self._variables.put((variable.area, variable.name), ranked)
        return ranked

    def drop_item(self, id_: str) -> None:
        item = self._items.current[id_]
        if item is not None:
            self._children[item.parent].discard(id_)
        self._items.put(id_, None)

    def drop_edge(self, id_: str) -> None:
        self._edges.put(id_, None)

    def drop_variable(self, area: str, name: str) -> None:
        self._variables.put((area, name), None)

    def put_features(self, features: Mapping[str, Json]) -> None:
        self._grow(measure_tree(features) - measure_tree(self.workflow.features))
        self.workflow.features = dict(features)
        self.header_dirty.add("features")

    def put_header(self, field: str, value: Json) -> None:
        self.growth += measure_tree(value) - measure_tree(self.get_header(field))
        setattr(self.workflow, HEADER_COLUMNS.get(field, field), value)
        self.header_dirty.add(HEADER_COLUMNS.get(field, field))

    def take_snapshot(self) -> str:
        self.flush()
        if self._changed or self.header_dirty:
            return snapshots.store_snapshot(self.workflow, draft_rows.read_rows(self.workflow)).hash
        return snapshots.take_snapshot(self.workflow).hash

    def replace(self, snapshot: str) -> None:
        self.flush()
        stored = Snapshot.objects.unscoped().get(team_id=self.workflow.team_id, hash=snapshot)
        document = from_json(stored.document)
        draft_rows.write_rows(self.workflow, document)
        draft_rows.copy_header(self.workflow, document)
        self._reset()
        self._changed = True
        self.growth = 0  # ``copy_header`` has measured the whole document
        self.header_dirty |= set(draft_rows.HEADER)

    def flush(self) -> None:
        """Write the changes since the last flush."""
        self._flush(self._items, Node, draft_rows.dump_item)
        self._flush(self._edges, Edge, draft_rows.dump_edge)
        self._store_secrets()
        self._flush(self._variables, Variable, draft_rows.dump_variable)

    # Helpers

    def _query_nodes(self) -> QuerySet[Node]:
        return Node.objects.unscoped().filter(workflow=self.workflow)

    def _query_edges(self) -> QuerySet[Edge]:
        return Edge.objects.unscoped().filter(workflow=self.workflow)

    def _query_variables(self) -> QuerySet[Variable]:
        return Variable.objects.unscoped().filter(workflow=self.workflow)

    def _read_items(self, condition: Q, *, expected_ids: Iterable[str] = ()) -> None:
        for row in self._query_nodes().filter(condition).order_by():
            if row.key not in self._items.current:
                item = draft_rows.load_item(row)
                self._items.add_stored(row.key, row.pk, item)
                self._children[item.parent].add(item.id)
        for key in expected_ids:
            self._items.current.setdefault(key, None)

    def _read_edges(self, ids: list[str]) -> None:
        for row in self._query_edges().filter(Q(source__in=ids) | Q(target__in=ids)).order_by():
            self._add_stored_edge(row)
        self._loaded_nodes.update(ids)

    def _add_stored_edge(self, row: Edge) -> None:
        if row.key not in self._edges.current:
            self._edges.add_stored(row.key, row.pk, draft_rows.load_edge(row))
            for end in (row.source, row.target):
                self._edge_ids[end].add(row.key)

    def _assign_rank(self, part: Part, group: str, query: Callable[[], QuerySet[Any]]) -> Part:
        """Return the part with a rank. A new part comes last in its group, whose rows ``query`` returns."""
        if part.rank != UNRANKED:
            if group in self._last_ranks:
                self._last_ranks[group] = max(self._last_ranks[group], part.rank)
            return part
        if group not in self._last_ranks:
            self.flush()
            highest = query().order_by().aggregate(highest=Max("rank"))["highest"]
            self._last_ranks[group] = -1 if highest is None else int(highest)
        self._last_ranks[group] += 1
        return replace(part, rank=self._last_ranks[group])

    def _flush(
        self,
        tracked: _TrackedParts[Part],
        model: type[Row],
        dump: Callable[[Part], draft_rows.Columns],
    ) -> None:
        """Delete, update and insert the rows of the changed parts, and measure how much the draft grew."""
        deleted_pks: list[Any] = []
        new: list[Row] = []
        changed: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for key in tracked.dirty:
            part, (pk, previous) = tracked.current[key], tracked.stored.pop(key, (None, None))
            if part is None:
                if previous is not None:
                    deleted_pks.append(pk)
                    self.growth -= measure_tree(dump(previous).get("data"))
                continue
            fields = dump(part)
            if previous is None:
                row = model(team_id=self.workflow.team_id, workflow=self.workflow, **fields)
                new.append(row)
                self._grow(MAX_FIELD_NAMES_LENGTH + measure_tree(fields))
                pk = row.pk
            else:
                before = dump(previous)
                # Compared as JSON, because in Python True equals 1.
                names = tuple(name for name in fields if not is_same(fields[name], before[name]))
                if names:
                    self._grow(_measure_growth(fields, before, names))
                    changed[names].append(model(pk=pk, **{name: fields[name] for name in names}))
            tracked.stored[key] = pk, part
        self._changed = self._changed or bool(tracked.dirty)
        tracked.dirty.clear()
        if deleted_pks:
            model._default_manager.filter(pk__in=deleted_pks).delete()
        for names, changed_rows in changed.items():
            _update_rows(model, changed_rows, names)
        if new:
            model._default_manager.bulk_create(new, batch_size=500)

    def _grow(self, characters: int) -> None:
        self.growth += characters
        self.has_grown = self.has_grown or characters > 0

    def _store_secrets(self) -> None:
        """Store the values of secret variables, separate from the draft. A renamed one keeps its stored value."""
        dropped = {  # rank → area and name: a renamed variable is dropped and put again with the same rank
            previous.rank: (area, name)
            for (area, name) in self._variables.dirty
            if self._variables.current[area, name] is None
            and (previous := self._variables.stored.get((area, name), (None, None))[1]) is not None
            and previous.is_secret
        }
        for area, name in self._variables.dirty:
            variable = self._variables.current[area, name]
            if variable is None or not variable.is_secret:
                continue
            if variable.value not in (None, ""):
                self._put_secret(area, name, encrypt(str(variable.value)))
            elif (old := dropped.get(variable.rank)) is not None and old[0] == area:
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


def _update_rows(model: type[Row], rows: list[Row], names: tuple[str, ...]) -> None:
    # bulk_update writes a CASE expression, which doesn't work for the json column of variables.
    if len(rows) > MAX_SINGLE_UPDATES and model is not Variable:
        model._default_manager.bulk_update(rows, names, batch_size=500)
        return
    for row in rows:
        values = {name: getattr(row, name) for name in names}
        model._default_manager.filter(pk=row.pk).update(**values)


def _measure_growth(
    now: Mapping[str, Any], before: Mapping[str, Any], names: tuple[str, ...]
) -> int:
    """Return the most characters that were added. A field that was empty may have been missing in the document."""
    name_length = (
        MAX_FIELD_NAMES_LENGTH if any(not before[name] and now[name] for name in names) else 0
    )
    return sum(measure_tree(now[name]) - measure_tree(before[name]) for name in names) + name_length
