"""Tidy up: positions by layers, containers from the inside out, each then made to fit."""

from collections.abc import Iterator
from typing import Final

from workflows.engine.editing.apply import item_at
from workflows.engine.editing.context import Context
from workflows.engine.editing.errors import refuse
from workflows.engine.editing.ops import Move, Op, Resize, Tidy
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store
from workflows.engine.layout import Box, arrange_in_layers


# What a container's frame takes: its header above, its border around.
HEADER: Final = 60.0
PADDING: Final = 24.0


def tidy(store: Store, op: Tidy, context: Context) -> Iterator[Op]:
    """All of a scope, or the nodes named, which may lie in several."""
    if not op.ids:
        if op.scope is not None and not context.is_container(item_at(store, op.scope)):
            raise refuse("scope", "Only a container has nodes inside", node=op.scope)
        yield from _scope(store, op.scope, context)
        if op.scope is not None:
            yield from _fitted(store, op.scope, context)
        return
    chosen = [item_at(store, id_) for id_ in dict.fromkeys(op.ids)]
    for parent in dict.fromkeys(item.parent for item in chosen):
        here = [item for item in chosen if item.parent == parent and not item.is_note]
        yield from _laid_out(store, here, context, keep_corner=True)


def _scope(store: Store, parent: str | None, context: Context) -> Iterator[Op]:
    inside = [item for item in store.children(parent) if not item.is_note]
    for item in inside:
        if context.is_container(item):
            yield from _scope(store, item.id, context)
            yield from _fitted(store, item.id, context)
    # Asked again: the containers among them have their new sizes now.
    inside = [item for item in store.children(parent) if not item.is_note]
    yield from _laid_out(store, inside, context, keep_corner=parent is None)


def _laid_out(
    store: Store, items: list[Item], context: Context, *, keep_corner: bool
) -> Iterator[Op]:
    if not items:
        return
    boxes = {item.id: context.size_of(item) for item in items}
    pairs = [
        (wire.source, wire.target)
        for item in items
        for wire in store.wires_at(item.id)
        if wire.source == item.id and wire.target in boxes
    ]
    left, top = (
        (min(item.x for item in items), min(item.y for item in items))
        if keep_corner
        else (PADDING, HEADER)
    )
    where = arrange_in_layers(boxes, pairs)
    for item in items:
        x, y = round(left + where[item.id].x), round(top + where[item.id].y)
        if (item.x, item.y) != (x, y):
            yield Move(item.id, float(x), float(y))


def _fitted(store: Store, container: str, context: Context) -> Iterator[Op]:
    """As large as what is in it, notes included, and no smaller than an empty one."""
    item = item_at(store, container)
    inside = [(child, context.size_of(child)) for child in store.children(container)]
    if not inside:
        return
    least = Box(240.0, 140.0)
    width = max(least.width, *(child.x + box.width + PADDING for child, box in inside))
    height = max(least.height, *(child.y + box.height + PADDING for child, box in inside))
    if (item.width, item.height) != (width, height):
        yield Resize(container, width, height)
