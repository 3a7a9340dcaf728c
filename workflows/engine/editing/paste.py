"""Pasting: a fragment or a whole document of either dialect, put in under fresh ids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.editing import guards
from workflows.engine.editing.context import Context, marks_of
from workflows.engine.editing.errors import refuse
from workflows.engine.editing.layout.extents import frame_of
from workflows.engine.editing.ops import Add, Connect, Op, Paste, Variable
from workflows.engine.editing.records import UNRANKED, Item
from workflows.engine.editing.references import Names, renamed
from workflows.engine.editing.store import AREAS, Memory, Store, is_root
from workflows.engine.editing.wiring import dressed
from workflows.engine.language.containers import INSIDE_MARKS
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl import load_document, load_tree
from workflows.engine.language.dsl.versions import DIFY


OFFSET: Final = 40.0  # beside the original, where nobody said where
STEP: Final = 32.0  # how far down the next try is
STEPS: Final = 100
MARGIN: Final = 8.0


def paste(store: Store, op: Paste, context: Context) -> Iterator[Op]:
    """Nodes, edges between them, and variables that aren't there yet.

    A second start stays behind; what followed it follows the one that is there.
    """
    pasted = Memory(read_fragment(op.text))
    parent = guards.container_for(store, "", op.parent, context)
    kept, stand_ins = _kept(store, pasted, parent)
    if not kept and not pasted.variables:
        raise refuse("paste_empty", "There are no nodes to paste")
    ids = {item.id: _fresh(store, item, context) for item in kept}
    ids |= _starts(kept, ids)
    names: Names = {(old,): (new,) for old, new in {**stand_ins, **ids}.items()}
    at = _cleared(store, parent, kept, ids, _Shift.of(kept, ids, op), context)
    for item in kept:
        yield Add(_copied(item, ids, names, at, parent))
    for wire in sorted(pasted.wires.values(), key=lambda w: (w.rank, w.id)):
        source = ids.get(wire.source) or (stand_ins.get(wire.source) if parent is None else None)
        if source and wire.target in ids:
            copy = replace(wire, id="", source=source, target=ids[wire.target], rank=UNRANKED)
            yield Connect(dressed(store, replace(copy, extra=renamed(copy.extra, names))))
    yield from _variables(store, pasted)


def leaves_start(op: Paste, done: Iterable[Op]) -> bool:
    """Whether the text has a start that is not among what came of it: nobody else would say so."""
    came = any(isinstance(each, Add) and is_root(each.item) for each in done)
    return not came and any(map(is_root, Memory(read_fragment(op.text)).items.values()))


def read_fragment(text: str) -> Document:
    """The text as a document, its missing parts filled in. Raises DocumentInvalid for what it can't be."""
    tree = _tree(text)
    if "app" in tree or "workflow" in tree or "version" in tree:
        return load_document(tree, confirm_newer=True).document
    nodes, edges = tree.get("nodes") or [], tree.get("edges") or []
    if _is_flat(nodes, edges):
        whole: dict[str, Json] = {"version": "0.1.0", "nodes": nodes, "edges": edges}
    else:
        graph = {"nodes": nodes, "edges": edges}
        app = {"name": "", "mode": "workflow"}
        whole = {"version": DIFY, "kind": "app", "app": app, "workflow": {"graph": graph}}
    return load_document(whole, confirm_newer=True).document


def _tree(text: str) -> dict[str, Json]:
    """A list of nodes, or one of them, is a fragment too."""
    stripped = text.strip()
    if stripped.startswith("["):
        stripped = f'{{"nodes": {stripped}}}'
    elif stripped.startswith("- "):
        stripped = "nodes:\n" + "\n".join("  " + line for line in stripped.splitlines())
    tree = load_tree(stripped)
    return {"nodes": [tree]} if "data" in tree and "id" in tree else tree


def _is_flat(nodes: Json, edges: Json) -> bool:
    """Of xworkflow's shape: nothing of a canvas on its nodes."""
    parts = [part for part in (*nodes, *edges) if isinstance(part, Mapping)]
    return not any({"position", "sourceHandle", "type", "parentId"} & part.keys() for part in parts)


@dataclass(frozen=True, slots=True)
class _Shift:
    """How far what lies outermost is moved."""

    x: float
    y: float

    @staticmethod
    def of(items: list[Item], ids: Mapping[str, str], op: Paste) -> "_Shift":
        outer = [item for item in items if item.parent not in ids]
        left = min((item.x for item in outer), default=0.0)
        top = min((item.y for item in outer), default=0.0)
        return _Shift(
            OFFSET if op.x is None else op.x - left, OFFSET if op.y is None else op.y - top
        )


def _cleared(
    store: Store,
    parent: Item | None,
    items: list[Item],
    ids: Mapping[str, str],
    at: _Shift,
    context: Context,
) -> _Shift:
    """As wished, or as far below as it takes to lie on no other node; who pastes hides nothing."""
    there = [
        frame_of(item, context)
        for item in store.children(parent.id if parent else None)
        if not item.is_note
    ]
    outer = [
        frame_of(item, context) for item in items if item.parent not in ids and not item.is_note
    ]
    for down in range(STEPS):
        tried = _Shift(at.x, at.y + down * STEP)
        moved = [frame.moved(tried.x, tried.y) for frame in outer]
        if not any(frame.hits(other, MARGIN) for frame in moved for other in there):
            return tried
    return at


def _kept(store: Store, pasted: Memory, parent: Item | None) -> tuple[list[Item], dict[str, str]]:
    """What is pasted, containers before what is in them; and for a start left out, the one that is there."""
    there = [root for root in store.roots() if root.parent is None]
    kept: list[Item] = []
    stand_ins: dict[str, str] = {}
    for item in sorted(pasted.items.values(), key=lambda i: (_depth(i, pasted), i.rank, i.id)):
        if not is_root(item):
            kept.append(item)
        elif parent is not None or there:
            stand_ins |= {item.id: there[0].id} if there else {}
        else:
            kept.append(item)
    return kept, stand_ins


def _depth(item: Item, pasted: Memory) -> int:
    depth, seen = 0, {item.id}
    while item.parent and item.parent in pasted.items and item.parent not in seen:
        item = pasted.items[item.parent]
        seen.add(item.id)
        depth += 1
    return depth


def _fresh(store: Store, item: Item, context: Context) -> str:
    for _ in range(100):
        made = context.fresh("note" if item.is_note else item.kind)
        if store.item(made) is None:
            return made
    raise refuse("fresh", "No free ID was found; try again")


def _starts(items: list[Item], ids: Mapping[str, str]) -> dict[str, str]:
    """Where a container begins is called after it."""
    begun = {str(item.data.get("start_node_id")): item.id for item in items if not item.is_note}
    return {start: f"{ids[owner]}start" for start, owner in begun.items() if start in ids}


def _copied(
    item: Item,
    ids: Mapping[str, str],
    names: Names,
    at: _Shift,
    parent: Item | None,
) -> Item:
    copy = replace(
        item, id=ids[item.id], rank=UNRANKED, data=renamed(item.data, names), extra=_plain(item)
    )
    if item.parent is not None and item.parent in ids:
        return replace(copy, parent=ids[item.parent])
    data = {name: value for name, value in copy.data.items() if name not in INSIDE_MARKS}
    return replace(
        copy,
        parent=parent.id if parent else None,
        x=item.x + at.x,
        y=item.y + at.y,
        data=data if item.is_note else {**data, **marks_of(parent)},
    )


def _plain(item: Item) -> dict[str, Json]:
    """Without what was true of the original's place on its canvas only."""
    left_out = ("selected", "dragging")
    return {name: value for name, value in item.extra.items() if name not in left_out}


def _variables(store: Store, pasted: Memory) -> Iterator[Op]:
    for (area, name), named in pasted.variables.items():
        if area in AREAS and store.named(area, name) is None:
            value = None if named.is_secret else named.value
            yield Variable(area, name, replace(named, value=value, rank=UNRANKED))
