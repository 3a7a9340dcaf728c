"""The contract for stores of a draft's parts, which operations change, and the in-memory store.

``InMemoryStore`` is the reference: the rows in ``services/editing/draft_store.py`` must behave the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from workflows.engine.editing.records import (
    UNRANKED,
    EdgeRecord,
    Item,
    VariableRecord,
    build_edge,
    build_edge_record,
    build_item,
    build_node,
    build_note,
    build_variable,
    build_variable_record,
)
from workflows.engine.language.document import Dialect, Document, Json, Mode


T = TypeVar("T", Item, EdgeRecord, VariableRecord)

AREAS = ("environment", "conversation")
HEADER = ("name", "description", "mode", "dialect", "version", "extra")


class Store(Protocol):
    """A store of a draft's parts. Each query reads a few parts; only ``list_edge_ends`` reads the whole graph."""

    def get_item(self, id_: str) -> Item | None: ...
    def get_edge(self, id_: str) -> EdgeRecord | None: ...
    def get_variable(self, area: str, name: str) -> VariableRecord | None: ...
    def list_children(self, parent: str | None) -> list[Item]:
        """Return the items directly inside a container, or at the top, including notes, in the document's order."""
        ...

    def list_node_edges(self, id_: str) -> list[EdgeRecord]:
        """Return the edges that start or end at a node, in the document's order."""
        ...

    def list_roots(self) -> list[Item]:
        """Return the nodes at which a run could start: of kind start, or a trigger."""
        ...

    def find_mentions(self, text: str) -> list[Item]:
        """Return the items whose data contain the text."""
        ...

    def has_path(self, source: str, goal: str) -> bool:
        """Return whether edges lead from ``source`` to ``goal``, which may be the same node."""
        ...

    def list_edge_ends(self) -> list[tuple[str, str]]:
        """Return both ends of every edge."""
        ...

    def count_parts(self) -> tuple[int, int]:
        """Return the numbers of items and edges."""
        ...

    def get_features(self) -> Mapping[str, Json]: ...
    def get_header(self, field: str) -> Json: ...
    def put_item(self, item: Item) -> Item:
        """Add an item, or replace the item with its id; return it with its rank."""
        ...

    def put_edge(self, edge: EdgeRecord) -> EdgeRecord: ...
    def put_variable(self, variable: VariableRecord) -> VariableRecord: ...
    def drop_item(self, id_: str) -> None: ...
    def drop_edge(self, id_: str) -> None: ...
    def drop_variable(self, area: str, name: str) -> None: ...
    def put_features(self, features: Mapping[str, Json]) -> None: ...
    def put_header(self, field: str, value: Json) -> None: ...
    def take_snapshot(self) -> str:
        """Store the current document, and return the content hash by which ``replace`` restores it."""
        ...

    def replace(self, snapshot: str) -> None:
        """Replace everything but name and description with the document of that hash."""
        ...


class InMemoryStore:
    """Stores a document in dictionaries."""

    def __init__(self, document: Document, snapshots: dict[str, Document] | None = None) -> None:
        self._snapshots = {} if snapshots is None else snapshots
        self._fill(document)

    def _fill(self, document: Document) -> None:
        items = [build_item(node, rank) for rank, node in enumerate(document.nodes)]
        items += [build_item(note, rank) for rank, note in enumerate(document.notes)]
        self.items = {item.id: item for item in items}
        edges = [build_edge_record(edge, rank) for rank, edge in enumerate(document.edges)]
        self.edges = {edge.id: edge for edge in edges}
        declared = (document.environment, document.conversation)
        self.variables = {
            (area, spec.name): build_variable_record(area, spec, rank)
            for area, specs in zip(AREAS, declared, strict=True)
            for rank, spec in enumerate(specs)
        }
        self._features = document.features
        self._header: dict[str, Json] = {
            "name": document.name,
            "description": document.description,
            "mode": document.mode.value,
            "dialect": document.dialect.value,
            "version": document.version,
            "extra": document.extra,
        }

    def build_document(self) -> Document:
        ordered = sorted(self.items.values(), key=_get_sort_key)
        variables = sorted(self.variables.values(), key=lambda v: (v.rank, v.name))
        edges = sorted(self.edges.values(), key=_get_sort_key)
        return Document(
            mode=Mode(self._header["mode"]),
            nodes=tuple(build_node(item) for item in ordered if not item.is_note),
            edges=tuple(map(build_edge, edges)),
            name=self._header["name"],
            description=self._header["description"],
            environment=tuple(build_variable(v) for v in variables if v.area == AREAS[0]),
            conversation=tuple(build_variable(v) for v in variables if v.area == AREAS[1]),
            notes=tuple(build_note(item) for item in ordered if item.is_note),
            features=self._features,
            dialect=Dialect(self._header["dialect"]),
            version=self._header["version"],
            extra=self._header["extra"],
        )

    def get_item(self, id_: str) -> Item | None:
        return self.items.get(id_)

    def get_edge(self, id_: str) -> EdgeRecord | None:
        return self.edges.get(id_)

    def get_variable(self, area: str, name: str) -> VariableRecord | None:
        return self.variables.get((area, name))

    def list_children(self, parent: str | None) -> list[Item]:
        return sorted((i for i in self.items.values() if i.parent == parent), key=_get_sort_key)

    def list_node_edges(self, id_: str) -> list[EdgeRecord]:
        edges = (e for e in self.edges.values() if id_ in (e.source, e.target))
        return sorted(edges, key=_get_sort_key)

    def list_roots(self) -> list[Item]:
        return sorted((i for i in self.items.values() if is_root(i)), key=_get_sort_key)

    def find_mentions(self, text: str) -> list[Item]:
        items = [item for item in self.items.values() if text in join_texts(item.data)]
        return sorted(items, key=_get_sort_key)

    def has_path(self, source: str, goal: str) -> bool:
        visited, pending = {source}, [source]
        while pending:
            node = pending.pop()
            if node == goal:
                return True
            targets = {edge.target for edge in self.edges.values() if edge.source == node} - visited
            visited |= targets
            pending += targets
        return False

    def list_edge_ends(self) -> list[tuple[str, str]]:
        return [(edge.source, edge.target) for edge in self.edges.values()]

    def count_parts(self) -> tuple[int, int]:
        return len(self.items), len(self.edges)

    def get_features(self) -> Mapping[str, Json]:
        return self._features

    def get_header(self, field: str) -> Json:
        return self._header[field]

    def put_item(self, item: Item) -> Item:
        ranks = (i.rank for i in self.items.values() if i.is_note == item.is_note)
        self.items[item.id] = ranked = assign_rank(item, ranks)
        return ranked

    def put_edge(self, edge: EdgeRecord) -> EdgeRecord:
        self.edges[edge.id] = ranked = assign_rank(edge, (e.rank for e in self.edges.values()))
        return ranked

    def put_variable(self, variable: VariableRecord) -> VariableRecord:
        ranks = (v.rank for v in self.variables.values() if v.area == variable.area)
        self.variables[variable.area, variable.name] = ranked = assign_rank(variable, ranks)
        return ranked

    def drop_item(self, id_: str) -> None:
        del self.items[id_]

    def drop_edge(self, id_: str) -> None:
        del self.edges[id_]

    def drop_variable(self, area: str, name: str) -> None:
        del self.variables[area, name]

    def put_features(self, features: Mapping[str, Json]) -> None:
        self._features = features

    def put_header(self, field: str, value: Json) -> None:
        self._header[field] = value

    def take_snapshot(self) -> str:
        key = str(len(self._snapshots))
        self._snapshots[key] = self.build_document()
        return key

    def replace(self, snapshot: str) -> None:
        name_fields = {field: self._header[field] for field in ("name", "description")}
        self._fill(self._snapshots[snapshot])
        self._header |= name_fields


def is_root(item: Item) -> bool:
    """Return whether a run could start at this item: a node of kind start, or a trigger."""
    return not item.is_note and (item.kind == "start" or item.kind.startswith("trigger-"))


def assign_rank(part: T, ranks: Iterable[int]) -> T:
    """Return the part with the rank after the given ranks, unless it has a rank."""
    return part if part.rank != UNRANKED else replace(part, rank=max(ranks, default=-1) + 1)


def join_texts(value: Json) -> str:
    """Return all strings in a value as one text, for searching them."""
    texts: list[str] = []
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part)
    return "\n".join(texts)


def _get_sort_key(part: Item | EdgeRecord) -> tuple[int, str]:
    return part.rank, part.id
