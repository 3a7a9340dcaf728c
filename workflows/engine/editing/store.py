"""Where operations find and leave the parts of a draft: the contract, and the plain one in memory.

``Memory`` is the oracle: the rows in ``services/editing/rows.py`` must behave the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from workflows.engine.editing.records import (
    UNRANKED,
    Item,
    Named,
    Wire,
    edge_of,
    item_of,
    item_of_note,
    named_of,
    node_of,
    note_of,
    variable_of,
    wire_of,
)
from workflows.engine.language.document import Dialect, Document, Json, Mode


T = TypeVar("T", Item, Wire, Named)

AREAS = ("environment", "conversation")
HEADER = ("name", "description", "mode", "dialect", "version", "extra")


class Store(Protocol):
    """Every question is about few parts; only ``whole_graph`` costs what the document is large."""

    def item(self, id_: str) -> Item | None: ...
    def wire(self, id_: str) -> Wire | None: ...
    def named(self, area: str, name: str) -> Named | None: ...
    def children(self, parent: str | None) -> list[Item]:
        """Directly inside a container, or at the top; notes too, in the document's order."""
        ...

    def wires_at(self, id_: str) -> list[Wire]:
        """Those that begin or end at a node, in the document's order."""
        ...

    def roots(self) -> list[Item]:
        """Nodes at which a run could begin: of kind start, or a trigger."""
        ...

    def mentioning(self, text: str) -> list[Item]:
        """Items whose data hold the text somewhere."""
        ...

    def leads_to(self, source: str, goal: str) -> bool:
        """Whether wires lead from one node to another; a node leads to itself."""
        ...

    def whole_graph(self) -> list[tuple[str, str]]:
        """Every wire's ends."""
        ...

    def counts(self) -> tuple[int, int]:
        """How many items and wires there are."""
        ...

    def names(self, area: str) -> list[str]: ...
    def features(self) -> Mapping[str, Json]: ...
    def header(self, field: str) -> Json: ...
    def put_item(self, item: Item) -> Item:
        """Puts it in, or in place of the one with its id; answers it with its rank."""
        ...

    def put_wire(self, wire: Wire) -> Wire: ...
    def put_named(self, named: Named) -> Named: ...
    def drop_item(self, id_: str) -> None: ...
    def drop_wire(self, id_: str) -> None: ...
    def drop_named(self, area: str, name: str) -> None: ...
    def put_features(self, features: Mapping[str, Json]) -> None: ...
    def put_header(self, field: str, value: Json) -> None: ...
    def snapshot(self) -> str:
        """The content hash by which the document as it is can be brought back."""
        ...

    def replace(self, snapshot: str) -> None:
        """The document with that hash in place of everything, but name and description."""
        ...


class Memory:
    """A document in dictionaries."""

    def __init__(self, document: Document, shelf: dict[str, Document] | None = None) -> None:
        self._shelf = {} if shelf is None else shelf
        self._fill(document)

    def _fill(self, document: Document) -> None:
        items = [item_of(node, rank) for rank, node in enumerate(document.nodes)]
        items += [item_of_note(note, rank) for rank, note in enumerate(document.notes)]
        self.items = {item.id: item for item in items}
        wires = [wire_of(edge, rank) for rank, edge in enumerate(document.edges)]
        self.wires = {wire.id: wire for wire in wires}
        self.variables = {
            (area, spec.name): named_of(area, spec, rank)
            for area, specs in zip(
                AREAS, (document.environment, document.conversation), strict=True
            )
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

    def document(self) -> Document:
        ordered = sorted(self.items.values(), key=_place)
        variables = sorted(self.variables.values(), key=lambda named: (named.rank, named.name))
        return Document(
            mode=Mode(self._header["mode"]),
            nodes=tuple(node_of(item) for item in ordered if not item.is_note),
            edges=tuple(edge_of(wire) for wire in sorted(self.wires.values(), key=_place)),
            name=self._header["name"],
            description=self._header["description"],
            environment=tuple(variable_of(v) for v in variables if v.area == AREAS[0]),
            conversation=tuple(variable_of(v) for v in variables if v.area == AREAS[1]),
            notes=tuple(note_of(item) for item in ordered if item.is_note),
            features=self._features,
            dialect=Dialect(self._header["dialect"]),
            version=self._header["version"],
            extra=self._header["extra"],
        )

    def item(self, id_: str) -> Item | None:
        return self.items.get(id_)

    def wire(self, id_: str) -> Wire | None:
        return self.wires.get(id_)

    def named(self, area: str, name: str) -> Named | None:
        return self.variables.get((area, name))

    def children(self, parent: str | None) -> list[Item]:
        return sorted((i for i in self.items.values() if i.parent == parent), key=_place)

    def wires_at(self, id_: str) -> list[Wire]:
        return sorted((w for w in self.wires.values() if id_ in (w.source, w.target)), key=_place)

    def roots(self) -> list[Item]:
        return sorted((i for i in self.items.values() if is_root(i)), key=_place)

    def mentioning(self, text: str) -> list[Item]:
        found = [item for item in self.items.values() if text in texts_of(item.data)]
        return sorted(found, key=_place)

    def leads_to(self, source: str, goal: str) -> bool:
        seen, todo = {source}, [source]
        while todo:
            here = todo.pop()
            if here == goal:
                return True
            ahead = {wire.target for wire in self.wires.values() if wire.source == here} - seen
            seen |= ahead
            todo += ahead
        return False

    def whole_graph(self) -> list[tuple[str, str]]:
        return [(wire.source, wire.target) for wire in self.wires.values()]

    def counts(self) -> tuple[int, int]:
        return len(self.items), len(self.wires)

    def names(self, area: str) -> list[str]:
        return [name for where, name in self.variables if where == area]

    def features(self) -> Mapping[str, Json]:
        return self._features

    def header(self, field: str) -> Json:
        return self._header[field]

    def put_item(self, item: Item) -> Item:
        alike = (i.rank for i in self.items.values() if i.is_note == item.is_note)
        self.items[item.id] = placed = ranked(item, alike)
        return placed

    def put_wire(self, wire: Wire) -> Wire:
        self.wires[wire.id] = placed = ranked(wire, (w.rank for w in self.wires.values()))
        return placed

    def put_named(self, named: Named) -> Named:
        alike = (v.rank for v in self.variables.values() if v.area == named.area)
        self.variables[named.area, named.name] = placed = ranked(named, alike)
        return placed

    def drop_item(self, id_: str) -> None:
        del self.items[id_]

    def drop_wire(self, id_: str) -> None:
        del self.wires[id_]

    def drop_named(self, area: str, name: str) -> None:
        del self.variables[area, name]

    def put_features(self, features: Mapping[str, Json]) -> None:
        self._features = features

    def put_header(self, field: str, value: Json) -> None:
        self._header[field] = value

    def snapshot(self) -> str:
        document = self.document()
        key = str(len(self._shelf))
        self._shelf[key] = document
        return key

    def replace(self, snapshot: str) -> None:
        kept = {field: self._header[field] for field in ("name", "description")}
        self._fill(self._shelf[snapshot])
        self._header |= kept


def is_root(item: Item) -> bool:
    return not item.is_note and (item.kind == "start" or item.kind.startswith("trigger-"))


def ranked(part: T, ranks: Iterable[int]) -> T:
    return part if part.rank != UNRANKED else replace(part, rank=max(ranks, default=-1) + 1)


def texts_of(value: Json) -> str:
    """Every text in a value, in one piece, to look for something in."""
    found: list[str] = []
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, Mapping):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
    return "\n".join(found)


def _place(part: Item | Wire) -> tuple[int, str]:
    return part.rank, part.id
