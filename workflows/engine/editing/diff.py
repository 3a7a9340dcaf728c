"""Computes the plain operations between two documents, and their difference for drawing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
    Resize,
    Set,
    Variable,
)
from workflows.engine.editing.paths import format_path, is_same
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import HEADER, InMemoryStore
from workflows.engine.language.document import Document, Json


Change = tuple[Path, Json, ChangeRule]


@dataclass(frozen=True, slots=True)
class FieldChange:
    path: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """Maps ids to ``added``, ``removed``, ``changed`` or ``moved``, with the changes in each field."""

    nodes: Mapping[str, str]
    edges: Mapping[str, str]
    fields: Mapping[str, tuple[FieldChange, ...]]
    features: tuple[FieldChange, ...]
    variables: tuple[FieldChange, ...]


def diff(before: Document, after: Document, *, with_name: bool = False) -> tuple[Op, ...]:
    """Return the operations that turn the first document into the second; only the order of parts may differ.

    ``with_name`` includes name and description, which are stored with the workflow rather than with its draft.
    """
    old, new = InMemoryStore(before), InMemoryStore(after)
    recreated = _find_recreated(old, new)
    removed = [id_ for id_ in _sort_deepest_first(old) if id_ not in new.items]
    return (
        *_iter_disconnects(old, new, recreated),
        *(Delete(id_) for id_ in _sort_deepest_first(old) if id_ in recreated),
        *_iter_additions(old, new, recreated),
        *_iter_item_changes(old, new, recreated),
        *(Delete(id_) for id_ in removed),
        *_iter_connects(old, new, recreated),
        *_iter_variables(old, new),
        *(Feature(*change) for change in iter_changes(old.get_features(), new.get_features())),
        *_iter_header(old, new, with_name),
    )


def iter_changes(before: Json, after: Json, path: Path = ()) -> Iterator[Change]:
    """Yield the smallest changes of fields; lists of different lengths change as one."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before.keys() | after.keys():
            key_path = (*path, key)
            if key not in after:
                yield key_path, None, ChangeRule.REMOVE
            elif key not in before:
                yield key_path, after[key], ChangeRule.PUT
            else:
                yield from iter_changes(before[key], after[key], key_path)
    elif path and _is_same_length(before, after):
        for index, (old_item, new_item) in enumerate(zip(before, after, strict=True)):
            yield from iter_changes(old_item, new_item, (*path, index))
    elif not is_same(before, after):
        yield path, after, ChangeRule.PUT


def compare_documents(before: Document, after: Document) -> DocumentDiff:
    old, new = InMemoryStore(before), InMemoryStore(after)
    nodes: dict[str, str] = dict.fromkeys(old.items.keys() - new.items.keys(), "removed")
    nodes |= dict.fromkeys(new.items.keys() - old.items.keys(), "added")
    fields: dict[str, tuple[FieldChange, ...]] = {}
    for id_ in old.items.keys() & new.items.keys():
        old_item, new_item = old.items[id_], new.items[id_]
        if field_changes := tuple(_iter_fields(old_item, new_item)):
            fields[id_] = field_changes
            nodes[id_] = "changed"
        elif _get_geometry(old_item) != _get_geometry(new_item):
            nodes[id_] = "moved"
    edges: dict[str, str] = dict.fromkeys(old.edges.keys() - new.edges.keys(), "removed")
    edges |= dict.fromkeys(new.edges.keys() - old.edges.keys(), "added")
    for id_ in old.edges.keys() & new.edges.keys():
        if old.edges[id_].ends != new.edges[id_].ends:
            edges[id_] = "changed"
    return DocumentDiff(
        dict(sorted(nodes.items())),
        dict(sorted(edges.items())),
        dict(sorted(fields.items())),
        tuple(_iter_field_changes(old.get_features(), new.get_features())),
        tuple(_iter_variable_changes(old, new)),
    )


def _find_recreated(old: InMemoryStore, new: InMemoryStore) -> set[str]:
    """Return ids that another node has now, with their content: kind and extra data of a node never change."""
    recreated: set[str] = set()
    for id_ in reversed(_sort_deepest_first(new)):
        previous, item = old.items.get(id_), new.items[id_]
        if previous is not None and (
            _is_different_node(previous, item) or {previous.parent, item.parent} & recreated
        ):
            recreated.add(id_)
    for id_ in reversed(_sort_deepest_first(old)):
        if id_ in new.items and old.items[id_].parent in recreated:
            recreated.add(id_)
    return recreated


def _is_different_node(before: Item, after: Item) -> bool:
    kinds = (before.kind, before.is_note) != (after.kind, after.is_note)
    return kinds or not is_same(before.extra, after.extra)


def _is_unchanged_edge(
    old: InMemoryStore, new: InMemoryStore, id_: str, recreated: set[str]
) -> bool:
    """Return whether an edge is the same in both documents, and so are its ends."""
    before, after = old.edges.get(id_), new.edges.get(id_)
    if before is None or after is None or {before.source, before.target} & recreated:
        return False
    return before.ends == after.ends and is_same(before.extra, after.extra)


def _iter_disconnects(old: InMemoryStore, new: InMemoryStore, recreated: set[str]) -> Iterator[Op]:
    return (
        Disconnect(id_) for id_ in old.edges if not _is_unchanged_edge(old, new, id_, recreated)
    )


def _iter_connects(old: InMemoryStore, new: InMemoryStore, recreated: set[str]) -> Iterator[Op]:
    """Yield new edges except dangling ones, which a document may contain but no operation creates."""
    for id_, edge in new.edges.items():
        if (
            not _is_unchanged_edge(old, new, id_, recreated)
            and {edge.source, edge.target} <= new.items.keys()
        ):
            yield Connect(edge)


def _iter_additions(old: InMemoryStore, new: InMemoryStore, recreated: set[str]) -> Iterator[Op]:
    for id_ in reversed(_sort_deepest_first(new)):
        if id_ not in old.items or id_ in recreated:
            yield Add(new.items[id_])


def _iter_item_changes(old: InMemoryStore, new: InMemoryStore, recreated: set[str]) -> Iterator[Op]:
    for id_ in reversed(_sort_deepest_first(new)):  # move a container before its new content
        item, previous = new.items[id_], old.items.get(id_)
        if previous is None or id_ in recreated:
            continue
        if previous.parent != item.parent:
            yield Reparent(id_, item.parent, item.x, item.y)
        elif (previous.x, previous.y) != (item.x, item.y):
            yield Move(id_, item.x, item.y)
        if (previous.width, previous.height) != (item.width, item.height):
            yield Resize(id_, item.width, item.height)
        if previous.title != item.title:
            yield Rename(id_, item.title)
        for change in iter_changes(previous.data, item.data):
            yield Set(id_, *change)


def _iter_variables(old: InMemoryStore, new: InMemoryStore) -> Iterator[Op]:
    for area, name in old.variables.keys() - new.variables.keys():
        yield Variable(area, name, None)
    for (area, name), spec in new.variables.items():
        previous = old.variables.get((area, name))
        if previous is None or replace(spec, rank=previous.rank) != previous:
            yield Variable(area, name, spec)


def _iter_header(old: InMemoryStore, new: InMemoryStore, with_name: bool) -> Iterator[Op]:
    for field in HEADER if with_name else HEADER[2:]:
        if not is_same(old.get_header(field), new.get_header(field)):
            yield Header(field, new.get_header(field))


def _sort_deepest_first(store: InMemoryStore) -> list[str]:
    """Return the ids so that content comes before its container."""

    def depth(id_: str) -> int:
        visited: set[str] = set()
        while (item := store.items.get(id_)) and item.parent and id_ not in visited:
            visited.add(id_)
            id_ = item.parent
        return len(visited)

    return sorted(store.items, key=lambda id_: (-depth(id_), id_))


def _is_same_length(before: Json, after: Json) -> bool:
    lists = isinstance(before, list | tuple) and isinstance(after, list | tuple)
    return lists and len(before) == len(after)


def _get_geometry(item: Item) -> tuple[object, ...]:
    return item.parent, item.x, item.y, item.width, item.height


def _iter_fields(before: Item, after: Item) -> Iterator[FieldChange]:
    if before.kind != after.kind:
        yield FieldChange("type", before.kind, after.kind)
    if before.title != after.title:
        yield FieldChange("title", before.title, after.title)
    for change in _iter_field_changes(before.data, after.data):
        if change.path not in ("title", "type"):
            yield change


def _iter_field_changes(before: Json, after: Json) -> Iterator[FieldChange]:
    for path, value, _how in sorted(iter_changes(before, after), key=lambda c: format_path(c[0])):
        previous = before
        for step in path:
            previous = previous.get(step) if isinstance(previous, Mapping) else previous[step]
        yield FieldChange(format_path(path), previous, value)


def _iter_variable_changes(old: InMemoryStore, new: InMemoryStore) -> Iterator[FieldChange]:
    for key in sorted(old.variables.keys() | new.variables.keys()):
        old_variable, new_variable = old.variables.get(key), new.variables.get(key)
        before, after = (
            None
            if v is None
            else {"type": v.value_type, "value": v.value, "description": v.description}
            for v in (old_variable, new_variable)
        )
        if not is_same(before, after):
            yield FieldChange(".".join(key), before, after)
