"""Computes the plain operations between two documents, and their difference for drawing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from workflows.engine.editing import ops
from workflows.engine.editing.ops import ChangeRule, Op, Path
from workflows.engine.editing.paths import ABSENT, format_path, get_value, is_same
from workflows.engine.editing.records import EdgeRecord, Item, describe_variable
from workflows.engine.editing.store import HEADER, InMemoryStore
from workflows.engine.language.containers import list_containers
from workflows.engine.language.document import Document, Json


Change = tuple[Path, Json, ChangeRule]


@dataclass(frozen=True, slots=True)
class FieldChange:
    path: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """The differences of two documents. ``nodes`` and ``edges`` map ids to ``added``, ``removed``, ``changed`` or ``moved``."""

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
    old_ids, new_ids = _sort_deepest_first(old), _sort_deepest_first(new)
    unchanged_edges = {
        id_
        for id_, edge in old.edges.items()
        if id_ in new.edges and _is_unchanged_edge(edge, new.edges[id_], recreated)
    }
    return (
        *(ops.Disconnect(id_) for id_ in old.edges if id_ not in unchanged_edges),
        *(ops.Delete(id_) for id_ in old_ids if id_ in recreated),
        *(
            ops.Add(new.items[id_])
            for id_ in reversed(new_ids)
            if id_ not in old.items or id_ in recreated
        ),
        *_iter_item_ops(old, new, recreated),
        *(ops.Delete(id_) for id_ in old_ids if id_ not in new.items),
        *(
            ops.Connect(edge)
            for id_, edge in new.edges.items()
            # A document may contain dangling edges, but no operation creates them.
            if id_ not in unchanged_edges and {edge.source, edge.target} <= new.items.keys()
        ),
        *_iter_variable_ops(old, new),
        *(ops.Feature(*change) for change in iter_changes(old.get_features(), new.get_features())),
        *_iter_header_ops(old, new, with_name),
    )


def iter_changes(before: Json, after: Json, path: Path = ()) -> Iterator[Change]:
    """Yield the smallest changes of fields. A list whose length differs is replaced as a whole."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before.keys() | after.keys():
            key_path = (*path, key)
            if key not in after:
                yield key_path, None, ChangeRule.REMOVE
            elif key not in before:
                yield key_path, after[key], ChangeRule.PUT
            else:
                yield from iter_changes(before[key], after[key], key_path)
    elif (
        path
        and isinstance(before, list | tuple)
        and isinstance(after, list | tuple)
        and len(before) == len(after)
    ):
        for index, (old_item, new_item) in enumerate(zip(before, after, strict=True)):
            yield from iter_changes(old_item, new_item, (*path, index))
    elif not is_same(before, after):
        yield path, after, ChangeRule.PUT


def compare_documents(before: Document, after: Document) -> DocumentDiff:
    """Return the differences of two documents for drawing them, in the order of ids."""
    old, new = InMemoryStore(before), InMemoryStore(after)
    nodes = _compare_ids(old.items, new.items)
    fields: dict[str, tuple[FieldChange, ...]] = {}
    for id_ in old.items.keys() & new.items.keys():
        old_item, new_item = old.items[id_], new.items[id_]
        if field_changes := tuple(_iter_item_field_changes(old_item, new_item)):
            fields[id_] = field_changes
            nodes[id_] = "changed"
        elif _get_geometry(old_item) != _get_geometry(new_item):
            nodes[id_] = "moved"
    edges = _compare_ids(old.edges, new.edges)
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
    """Return the ids to delete and add again, content included: no operation changes a node's kind or extra data."""
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
    has_other_kind = (before.kind, before.is_note) != (after.kind, after.is_note)
    return has_other_kind or not is_same(before.extra, after.extra)


def _is_unchanged_edge(before: EdgeRecord, after: EdgeRecord, recreated: set[str]) -> bool:
    """Return whether an edge and both its ends are the same in both documents."""
    if {before.source, before.target} & recreated:
        return False
    return before.ends == after.ends and is_same(before.extra, after.extra)


def _iter_item_ops(old: InMemoryStore, new: InMemoryStore, recreated: set[str]) -> Iterator[Op]:
    for id_ in reversed(_sort_deepest_first(new)):  # move a container before its new content
        item, previous = new.items[id_], old.items.get(id_)
        if previous is None or id_ in recreated:
            continue
        if previous.parent != item.parent:
            yield ops.Reparent(id_, item.parent, item.x, item.y)
        elif (previous.x, previous.y) != (item.x, item.y):
            yield ops.Move(id_, item.x, item.y)
        if (previous.width, previous.height) != (item.width, item.height):
            yield ops.Resize(id_, item.width, item.height)
        if previous.title != item.title:
            yield ops.Rename(id_, item.title)
        for change in iter_changes(previous.data, item.data):
            yield ops.Set(id_, *change)


def _iter_variable_ops(old: InMemoryStore, new: InMemoryStore) -> Iterator[Op]:
    for area, name in old.variables.keys() - new.variables.keys():
        yield ops.Variable(area, name, None)
    for (area, name), spec in new.variables.items():
        previous = old.variables.get((area, name))
        if previous is None or replace(spec, rank=previous.rank) != previous:
            yield ops.Variable(area, name, spec)


def _iter_header_ops(old: InMemoryStore, new: InMemoryStore, with_name: bool) -> Iterator[Op]:
    for field in HEADER if with_name else HEADER[2:]:
        if not is_same(old.get_header(field), new.get_header(field)):
            yield ops.Header(field, new.get_header(field))


def _sort_deepest_first(store: InMemoryStore) -> list[str]:
    """Return the ids of the items, the content of each container before the container."""
    containers = {item.id: item.parent for item in store.items.values() if item.parent}
    return sorted(store.items, key=lambda id_: (-len(list_containers(id_, containers)), id_))


def _compare_ids(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    removed = dict.fromkeys(old.keys() - new.keys(), "removed")
    return removed | dict.fromkeys(new.keys() - old.keys(), "added")


def _get_geometry(item: Item) -> tuple[object, ...]:
    return item.parent, item.x, item.y, item.width, item.height


def _iter_item_field_changes(before: Item, after: Item) -> Iterator[FieldChange]:
    if before.kind != after.kind:
        yield FieldChange("type", before.kind, after.kind)
    if before.title != after.title:
        yield FieldChange("title", before.title, after.title)
    for change in _iter_field_changes(before.data, after.data):
        if change.path not in ("title", "type"):
            yield change


def _iter_field_changes(before: Json, after: Json) -> Iterator[FieldChange]:
    changes = sorted(iter_changes(before, after), key=lambda change: format_path(change[0]))
    for path, value, _rule in changes:
        previous = get_value(before, path)
        yield FieldChange(format_path(path), None if previous is ABSENT else previous, value)


def _iter_variable_changes(old: InMemoryStore, new: InMemoryStore) -> Iterator[FieldChange]:
    for key in sorted(old.variables.keys() | new.variables.keys()):
        before, after = (describe_variable(store.variables.get(key)) for store in (old, new))
        if not is_same(before, after):
            yield FieldChange(".".join(key), before, after)
