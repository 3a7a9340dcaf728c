"""What leads from one document to another, as plain operations; and the same, ready to be drawn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
    Resize,
    Set,
    Variable,
)
from workflows.engine.editing.paths import same, written
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import HEADER, Memory
from workflows.engine.language.document import Document, Json


Change = tuple[Path, Json, How]


@dataclass(frozen=True, slots=True)
class FieldChange:
    path: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Drawn:
    """Id → ``added``, ``removed``, ``changed`` or ``moved``; and what changed in which field."""

    nodes: Mapping[str, str]
    edges: Mapping[str, str]
    fields: Mapping[str, tuple[FieldChange, ...]]
    features: tuple[FieldChange, ...]
    variables: tuple[FieldChange, ...]


def diff(before: Document, after: Document, *, named: bool = False) -> tuple[Op, ...]:
    """Done in order on the first document they give the second; only the order of its parts may differ.

    ``named``: with name and description, which belong to the workflow rather than to its draft.
    """
    old, new = Memory(before), Memory(after)
    anew = _made_anew(old, new)
    gone = [id_ for id_ in _deepest_first(old) if id_ not in new.items]
    return (
        *_disconnected(old, new, anew),
        *(Delete(id_) for id_ in _deepest_first(old) if id_ in anew),
        *_came(old, new, anew),
        *_changed(old, new, anew),
        *(Delete(id_) for id_ in gone),
        *_connected(old, new, anew),
        *_variables(old, new),
        *(Feature(*change) for change in changes(old.features(), new.features())),
        *_header(old, new, named),
    )


def changes(before: Json, after: Json, path: Path = ()) -> Iterator[Change]:
    """The smallest changes of fields; lists that grew or shrank are changed as one."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before.keys() | after.keys():
            here = (*path, key)
            if key not in after:
                yield here, None, How.REMOVE
            elif key not in before:
                yield here, after[key], How.PUT
            else:
                yield from changes(before[key], after[key], here)
    elif path and _alike(before, after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changes(one, other, (*path, index))
    elif not same(before, after):
        yield path, after, How.PUT


def drawn(before: Document, after: Document) -> Drawn:
    old, new = Memory(before), Memory(after)
    nodes: dict[str, str] = dict.fromkeys(old.items.keys() - new.items.keys(), "removed")
    nodes |= dict.fromkeys(new.items.keys() - old.items.keys(), "added")
    fields: dict[str, tuple[FieldChange, ...]] = {}
    for id_ in old.items.keys() & new.items.keys():
        one, other = old.items[id_], new.items[id_]
        if found := tuple(_fields(one, other)):
            fields[id_] = found
            nodes[id_] = "changed"
        elif _where(one) != _where(other):
            nodes[id_] = "moved"
    edges: dict[str, str] = dict.fromkeys(old.wires.keys() - new.wires.keys(), "removed")
    edges |= dict.fromkeys(new.wires.keys() - old.wires.keys(), "added")
    for id_ in old.wires.keys() & new.wires.keys():
        if old.wires[id_].ends != new.wires[id_].ends:
            edges[id_] = "changed"
    return Drawn(
        dict(sorted(nodes.items())),
        dict(sorted(edges.items())),
        dict(sorted(fields.items())),
        tuple(_field_changes(old.features(), new.features())),
        tuple(_variable_changes(old, new)),
    )


def _made_anew(old: Memory, new: Memory) -> set[str]:
    """Other nodes by the same id (a kind is not changed, nor what is kept unread), and what is in them."""
    anew: set[str] = set()
    for id_ in reversed(_deepest_first(new)):
        former, item = old.items.get(id_), new.items[id_]
        if former is not None and (_is_other(former, item) or {former.parent, item.parent} & anew):
            anew.add(id_)
    for id_ in reversed(_deepest_first(old)):
        if id_ in new.items and old.items[id_].parent in anew:
            anew.add(id_)
    return anew


def _is_other(one: Item, other: Item) -> bool:
    kinds = (one.kind, one.is_note) != (other.kind, other.is_note)
    return kinds or not same(one.extra, other.extra)


def _stays(old: Memory, new: Memory, id_: str, anew: set[str]) -> bool:
    """Whether an edge is the same in both, and its ends are."""
    one, other = old.wires.get(id_), new.wires.get(id_)
    if one is None or other is None or {one.source, one.target} & anew:
        return False
    return one.ends == other.ends and same(one.extra, other.extra)


def _disconnected(old: Memory, new: Memory, anew: set[str]) -> Iterator[Op]:
    return (Disconnect(id_) for id_ in old.wires if not _stays(old, new, id_, anew))


def _connected(old: Memory, new: Memory, anew: set[str]) -> Iterator[Op]:
    """But those that lead nowhere: a document may hold them, an operation doesn't make them."""
    for id_, wire in new.wires.items():
        if not _stays(old, new, id_, anew) and {wire.source, wire.target} <= new.items.keys():
            yield Connect(wire)


def _came(old: Memory, new: Memory, anew: set[str]) -> Iterator[Op]:
    for id_ in reversed(_deepest_first(new)):
        if id_ not in old.items or id_ in anew:
            yield Add(new.items[id_])


def _changed(old: Memory, new: Memory, anew: set[str]) -> Iterator[Op]:
    for id_ in reversed(
        _deepest_first(new)
    ):  # a container is at its new place before what moves in
        item, former = new.items[id_], old.items.get(id_)
        if former is None or id_ in anew:
            continue
        if former.parent != item.parent:
            yield Reparent(id_, item.parent, item.x, item.y)
        elif (former.x, former.y) != (item.x, item.y):
            yield Move(id_, item.x, item.y)
        if (former.width, former.height) != (item.width, item.height):
            yield Resize(id_, item.width, item.height)
        if former.title != item.title:
            yield Rename(id_, item.title)
        for change in changes(former.data, item.data):
            yield Set(id_, *change)


def _variables(old: Memory, new: Memory) -> Iterator[Op]:
    for area, name in old.variables.keys() - new.variables.keys():
        yield Variable(area, name, None)
    for (area, name), spec in new.variables.items():
        former = old.variables.get((area, name))
        if former is None or replace(spec, rank=former.rank) != former:
            yield Variable(area, name, spec)


def _header(old: Memory, new: Memory, named: bool) -> Iterator[Op]:
    for field in HEADER if named else HEADER[2:]:
        if not same(old.header(field), new.header(field)):
            yield Header(field, new.header(field))


def _deepest_first(store: Memory) -> list[str]:
    """So that a container goes after what is in it, and comes before."""

    def depth(id_: str) -> int:
        seen: set[str] = set()
        while (item := store.items.get(id_)) and item.parent and id_ not in seen:
            seen.add(id_)
            id_ = item.parent
        return len(seen)

    return sorted(store.items, key=lambda id_: (-depth(id_), id_))


def _alike(before: Json, after: Json) -> bool:
    lists = isinstance(before, list | tuple) and isinstance(after, list | tuple)
    return lists and len(before) == len(after)


def _where(item: Item) -> tuple[object, ...]:
    return item.parent, item.x, item.y, item.width, item.height


def _fields(one: Item, other: Item) -> Iterator[FieldChange]:
    if one.kind != other.kind:
        yield FieldChange("type", one.kind, other.kind)
    if one.title != other.title:
        yield FieldChange("title", one.title, other.title)
    for change in _field_changes(one.data, other.data):
        if change.path not in ("title", "type"):
            yield change


def _field_changes(before: Json, after: Json) -> Iterator[FieldChange]:
    for path, value, _how in sorted(changes(before, after), key=lambda c: written(c[0])):
        former = before
        for step in path:
            former = former.get(step) if isinstance(former, Mapping) else former[step]
        yield FieldChange(written(path), former, value)


def _variable_changes(old: Memory, new: Memory) -> Iterator[FieldChange]:
    for key in sorted(old.variables.keys() | new.variables.keys()):
        one, other = old.variables.get(key), new.variables.get(key)
        before, after = (
            None
            if v is None
            else {"type": v.value_type, "value": v.value, "description": v.description}
            for v in (one, other)
        )
        if not same(before, after):
            yield FieldChange(".".join(key), before, after)
