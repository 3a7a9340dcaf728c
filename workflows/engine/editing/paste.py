"""Pastes a fragment or a whole document of either dialect, under new ids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.editing import guards
from workflows.engine.editing.context import Context, build_markers
from workflows.engine.editing.edge_completion import complete_edge
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.layout.extents import compute_frame
from workflows.engine.editing.ops import Add, Connect, Op, Paste, Variable
from workflows.engine.editing.records import UNRANKED, Item
from workflows.engine.editing.references import Names, rename_references
from workflows.engine.editing.store import AREAS, InMemoryStore, Store, is_root
from workflows.engine.language.containers import INSIDE_MARKS
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl import load_document, load_tree
from workflows.engine.language.dsl.versions import DIFY


OFFSET: Final = 40.0  # from the original, if no position is given
STEP: Final = 32.0  # distance of the next attempt further down
STEPS: Final = 100
MARGIN: Final = 8.0


def expand_paste(store: Store, op: Paste, context: Context) -> Iterator[Op]:
    """Yield additions of the nodes, the edges between them, and missing variables.

    A second start is left out; its successors follow the existing start.
    """
    pasted = InMemoryStore(read_fragment(op.text))
    parent = guards.get_container(store, "", op.parent, context)
    items, stand_ins = _select_items(store, pasted, parent)
    if not items and not pasted.variables:
        raise build_refusal("paste_empty", "There are no nodes to paste")
    ids = {item.id: _create_id(store, item, context) for item in items}
    ids |= _rename_entries(items, ids)
    names: Names = {(old,): (new,) for old, new in {**stand_ins, **ids}.items()}
    shift = _find_free_shift(store, parent, items, ids, _Shift.of(items, ids, op), context)
    for item in items:
        yield Add(_copy_item(item, ids, names, shift, parent))
    for edge in sorted(pasted.edges.values(), key=lambda edge: (edge.rank, edge.id)):
        source = ids.get(edge.source) or (stand_ins.get(edge.source) if parent is None else None)
        if source and edge.target in ids:
            copy = replace(edge, id="", source=source, target=ids[edge.target], rank=UNRANKED)
            yield Connect(
                complete_edge(store, replace(copy, extra=rename_references(copy.extra, names)))
            )
    yield from _iter_variables(store, pasted)


def has_dropped_start(op: Paste, ops: Iterable[Op]) -> bool:
    """Return whether the text has a start that was not pasted, so that the user can be informed."""
    has_start = any(isinstance(each, Add) and is_root(each.item) for each in ops)
    return not has_start and any(map(is_root, InMemoryStore(read_fragment(op.text)).items.values()))


def read_fragment(text: str) -> Document:
    """Return the text as a document with its missing parts filled in. Raises DocumentInvalid."""
    tree = _load_fragment(text)
    if "app" in tree or "workflow" in tree or "version" in tree:
        return load_document(tree, confirm_newer=True).document
    nodes, edges = tree.get("nodes") or [], tree.get("edges") or []
    if _is_flat(nodes, edges):
        document_tree: dict[str, Json] = {"version": "0.1.0", "nodes": nodes, "edges": edges}
    else:
        graph = {"nodes": nodes, "edges": edges}
        app = {"name": "", "mode": "workflow"}
        document_tree = {"version": DIFY, "kind": "app", "app": app, "workflow": {"graph": graph}}
    return load_document(document_tree, confirm_newer=True).document


def _load_fragment(text: str) -> dict[str, Json]:
    """Return the tree of a fragment, which may also be a list of nodes, or a single node."""
    stripped = text.strip()
    if stripped.startswith("["):
        stripped = f'{{"nodes": {stripped}}}'
    elif stripped.startswith("- "):
        stripped = "nodes:\n" + "\n".join("  " + line for line in stripped.splitlines())
    tree = load_tree(stripped)
    return {"nodes": [tree]} if "data" in tree and "id" in tree else tree


def _is_flat(nodes: Json, edges: Json) -> bool:
    """Return whether the fragment has xworkflow's shape: no canvas data on its nodes."""
    parts = [part for part in (*nodes, *edges) if isinstance(part, Mapping)]
    return not any({"position", "sourceHandle", "type", "parentId"} & part.keys() for part in parts)


@dataclass(frozen=True, slots=True)
class _Shift:
    """The distance by which the outermost nodes are moved."""

    x: float
    y: float

    @staticmethod
    def of(items: list[Item], ids: Mapping[str, str], op: Paste) -> "_Shift":
        outer = [item for item in items if item.parent not in ids]
        min_x = min((item.x for item in outer), default=0.0)
        min_y = min((item.y for item in outer), default=0.0)
        return _Shift(
            OFFSET if op.x is None else op.x - min_x, OFFSET if op.y is None else op.y - min_y
        )


def _find_free_shift(
    store: Store,
    parent: Item | None,
    items: list[Item],
    ids: Mapping[str, str],
    wish: _Shift,
    context: Context,
) -> _Shift:
    """Return the requested shift, or a shift further down at which no other node is covered."""
    existing = [
        compute_frame(item, context)
        for item in store.list_children(parent.id if parent else None)
        if not item.is_note
    ]
    outer = [
        compute_frame(item, context)
        for item in items
        if item.parent not in ids and not item.is_note
    ]
    for step in range(STEPS):
        candidate = _Shift(wish.x, wish.y + step * STEP)
        frames = [frame.shift(candidate.x, candidate.y) for frame in outer]
        if not any(frame.overlaps(other, MARGIN) for frame in frames for other in existing):
            return candidate
    return wish


def _select_items(
    store: Store, pasted: InMemoryStore, parent: Item | None
) -> tuple[list[Item], dict[str, str]]:
    """Return the items to paste, containers first, and the existing start for a start that is left out."""
    roots = [root for root in store.list_roots() if root.parent is None]
    items: list[Item] = []
    stand_ins: dict[str, str] = {}
    for item in sorted(
        pasted.items.values(), key=lambda i: (_measure_depth(i, pasted), i.rank, i.id)
    ):
        if not is_root(item):
            items.append(item)
        elif parent is not None or roots:
            stand_ins |= {item.id: roots[0].id} if roots else {}
        else:
            items.append(item)
    return items, stand_ins


def _measure_depth(item: Item, pasted: InMemoryStore) -> int:
    depth, visited = 0, {item.id}
    while item.parent and item.parent in pasted.items and item.parent not in visited:
        item = pasted.items[item.parent]
        visited.add(item.id)
        depth += 1
    return depth


def _create_id(store: Store, item: Item, context: Context) -> str:
    for _ in range(100):
        candidate = context.create_id("note" if item.is_note else item.kind)
        if store.get_item(candidate) is None:
            return candidate
    raise build_refusal("fresh", "No free ID was found; try again")


def _rename_entries(items: list[Item], ids: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of container entries, which follow from their container's id."""
    containers = {
        str(item.data.get("start_node_id")): item.id for item in items if not item.is_note
    }
    return {start: f"{ids[owner]}start" for start, owner in containers.items() if start in ids}


def _copy_item(
    item: Item,
    ids: Mapping[str, str],
    names: Names,
    shift: _Shift,
    parent: Item | None,
) -> Item:
    copy = replace(
        item,
        id=ids[item.id],
        rank=UNRANKED,
        data=rename_references(item.data, names),
        extra=_clean_extra(item),
    )
    if item.parent is not None and item.parent in ids:
        return replace(copy, parent=ids[item.parent])
    data = {name: value for name, value in copy.data.items() if name not in INSIDE_MARKS}
    return replace(
        copy,
        parent=parent.id if parent else None,
        x=item.x + shift.x,
        y=item.y + shift.y,
        data=data if item.is_note else {**data, **build_markers(parent)},
    )


def _clean_extra(item: Item) -> dict[str, Json]:
    """Return the extra data without the original's state on its canvas."""
    left_out = ("selected", "dragging")
    return {name: value for name, value in item.extra.items() if name not in left_out}


def _iter_variables(store: Store, pasted: InMemoryStore) -> Iterator[Op]:
    for (area, name), variable in pasted.variables.items():
        if area in AREAS and store.get_variable(area, name) is None:
            value = None if variable.is_secret else variable.value
            yield Variable(area, name, replace(variable, value=value, rank=UNRANKED))
