"""Pastes a fragment or a whole document of either dialect, under new ids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Final

from workflows.engine.editing import guards
from workflows.engine.editing.context import Context, build_markers
from workflows.engine.editing.edge_completion import complete_edge
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.layout.extents import Frame, compute_frame
from workflows.engine.editing.ops import Add, Connect, Op, Paste, Variable
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item
from workflows.engine.editing.references import Names, rename_references
from workflows.engine.editing.store import AREAS, InMemoryStore, Store, is_root
from workflows.engine.geometry import GRID
from workflows.engine.language.containers import CONTENT_MARKERS, list_containers
from workflows.engine.language.document import Document, Json, Position
from workflows.engine.language.dsl import load_document, load_tree
from workflows.engine.language.dsl.reading import drop_keys
from workflows.engine.language.dsl.versions import DIFY, XWORKFLOW


OFFSET: Final = 40.0  # from the original, if no position is given
MAX_STEPS: Final = 100
# Distances from other nodes, the same as of nodes that are added on the page.
ROOM_BESIDE: Final = 16.0
ROOM_BELOW: Final = 40.0  # where the mark of a run lies


def expand_paste(store: Store, op: Paste, context: Context) -> Iterator[Op]:
    """Yield additions of the nodes, the edges between them, and missing variables.

    A start is left out if the workflow has one already, or if the target is a container. Its edges are dropped, unless
    the existing start leads nowhere yet, as in a new workflow: then they leave that one.
    """
    pasted = InMemoryStore(read_fragment(op.text))
    parent = guards.get_container(store, "", op.parent, context)
    items, replaced_starts = _select_items(store, pasted, parent)
    if not items and not pasted.variables:
        raise build_refusal("paste_empty", "There are no nodes to paste")
    ids = {item.id: _create_id(store, item, context) for item in items}
    ids |= _build_container_start_ids(items, ids)
    names: Names = {(old,): (new,) for old, new in {**replaced_starts, **ids}.items()}
    outermost_items = [item for item in items if item.parent not in ids]
    shift = _find_free_shift(store, op, parent, outermost_items, context)
    for item in items:
        yield Add(_copy_item(item, ids, names, shift, parent))
    joined_starts = _list_idle_starts(store, replaced_starts) if parent is None else {}
    for edge in sorted(pasted.edges.values(), key=lambda edge: (edge.rank, edge.id)):
        source = ids.get(edge.source) or joined_starts.get(edge.source)
        if source and edge.target in ids:
            extra = rename_references(edge.extra, names)
            copy = EdgeRecord("", source, ids[edge.target], edge.handle, edge.target_handle, extra)
            yield Connect(complete_edge(store, copy))
    yield from _iter_variables(store, pasted)


def has_dropped_start(op: Paste, applied_ops: Iterable[Op]) -> bool:
    """Return whether the text has a start that was not pasted, so that the user can be informed."""
    has_start = any(isinstance(applied, Add) and is_root(applied.item) for applied in applied_ops)
    return not has_start and any(map(is_root, InMemoryStore(read_fragment(op.text)).items.values()))


def read_fragment(text: str) -> Document:
    """Return the document in a text, or a document around its nodes and edges. Raises DocumentInvalid."""
    tree = _load_fragment(text)
    if "app" in tree or "workflow" in tree or "version" in tree:
        return load_document(tree, confirm_newer=True).document
    nodes, edges = tree.get("nodes") or [], tree.get("edges") or []
    if _has_flat_shape(nodes, edges):
        tree = {"version": XWORKFLOW, "nodes": nodes, "edges": edges}
    else:
        graph = {"nodes": nodes, "edges": edges}
        app = {"name": "", "mode": "workflow"}
        tree = {"version": DIFY, "kind": "app", "app": app, "workflow": {"graph": graph}}
    return load_document(tree, confirm_newer=True).document


def _load_fragment(text: str) -> dict[str, Json]:
    """Return the tree of a fragment, which may also be a list of nodes, or a single node."""
    stripped = text.strip()
    if stripped.startswith("["):
        stripped = f'{{"nodes": {stripped}}}'
    elif stripped.startswith("- "):
        stripped = "nodes:\n" + "\n".join("  " + line for line in stripped.splitlines())
    tree = load_tree(stripped)
    return {"nodes": [tree]} if "data" in tree and "id" in tree else tree


def _has_flat_shape(nodes: Json, edges: Json) -> bool:
    """Return whether the fragment has xworkflow's shape: no canvas data on its nodes."""
    parts = [part for part in (*nodes, *edges) if isinstance(part, Mapping)]
    return not any({"position", "sourceHandle", "type", "parentId"} & part.keys() for part in parts)


def _find_free_shift(
    store: Store, op: Paste, parent: Item | None, outermost_items: list[Item], context: Context
) -> Position:
    """Return by how much to move the outermost items: as requested, and further down if they would come too near to nodes."""
    x = OFFSET if op.x is None else op.x - min((item.x for item in outermost_items), default=0.0)
    y = OFFSET if op.y is None else op.y - min((item.y for item in outermost_items), default=0.0)
    siblings = store.list_children(parent.id if parent else None)
    obstacles = [
        compute_frame(item, context).grow(ROOM_BESIDE, ROOM_BELOW)
        for item in siblings
        if not item.is_note
    ]
    pasted = [compute_frame(item, context) for item in outermost_items if not item.is_note]
    down = 0.0
    for _ in range(MAX_STEPS):
        frames = [frame.shift(x, y + down) for frame in pasted]
        missing = _measure_overlap(frames, obstacles)
        if not missing:
            return Position(x, y + down)
        down += ceil(missing / GRID) * GRID
    return Position(x, y)


def _measure_overlap(frames: list[Frame], obstacles: list[Frame]) -> float:
    """Return by how much to move the frames down, at least, until none covers an obstacle that it covers now."""
    overlaps = (
        other.bottom - frame.y for frame in frames for other in obstacles if frame.overlaps(other)
    )
    return max(overlaps, default=0.0)


def _select_items(
    store: Store, pasted: InMemoryStore, parent: Item | None
) -> tuple[list[Item], dict[str, str]]:
    """Return the items to paste, containers first, and the existing start for a start that is left out."""
    roots = [root for root in store.list_roots() if root.parent is None]
    items: list[Item] = []
    replaced_starts: dict[str, str] = {}
    containers = {
        item.id: item.parent for item in pasted.items.values() if item.parent in pasted.items
    }
    for item in sorted(
        pasted.items.values(), key=lambda i: (len(list_containers(i.id, containers)), i.rank, i.id)
    ):
        if not is_root(item):
            items.append(item)
        elif parent is not None or roots:
            replaced_starts |= {item.id: roots[0].id} if roots else {}
        else:
            items.append(item)
    return items, replaced_starts


def _list_idle_starts(store: Store, replaced_starts: Mapping[str, str]) -> dict[str, str]:
    """Return the starts that were left out whose replacement has no edges."""
    return {
        pasted: existing
        for pasted, existing in replaced_starts.items()
        if not store.list_node_edges(existing)
    }


def _create_id(store: Store, item: Item, context: Context) -> str:
    for _ in range(100):
        candidate = context.create_id("note" if item.is_note else item.kind)
        if store.get_item(candidate) is None:
            return candidate
    raise build_refusal("fresh", "No free ID was found; try again")


def _build_container_start_ids(items: list[Item], ids: Mapping[str, str]) -> dict[str, str]:
    """Return the new ids of the containers' starts, each built from the new id of its container."""
    containers = {
        str(item.data.get("start_node_id")): item.id for item in items if not item.is_note
    }
    return {start: f"{ids[owner]}start" for start, owner in containers.items() if start in ids}


def _copy_item(
    item: Item, ids: Mapping[str, str], names: Names, shift: Position, parent: Item | None
) -> Item:
    copy = replace(
        item,
        id=ids[item.id],
        rank=UNRANKED,
        data=rename_references(item.data, names),
        extra=drop_keys(item.extra, "selected", "dragging"),  # its state on the canvas
    )
    if item.parent is not None and item.parent in ids:
        return replace(copy, parent=ids[item.parent])
    data = drop_keys(copy.data, *CONTENT_MARKERS)
    return replace(
        copy,
        parent=parent.id if parent else None,
        x=item.x + shift.x,
        y=item.y + shift.y,
        data=data if item.is_note else {**data, **build_markers(parent)},
    )


def _iter_variables(store: Store, pasted: InMemoryStore) -> Iterator[Op]:
    for (area, name), variable in pasted.variables.items():
        if area in AREAS and store.get_variable(area, name) is None:
            value = None if variable.is_secret else variable.value
            yield Variable(area, name, replace(variable, value=value, rank=UNRANKED))
