"""Arranges nodes in layers, containers from the inside out, and fits each container to its content.

Notes come along with the nodes that they are about.
"""

from collections.abc import Iterator
from typing import Final

from workflows.engine.drawing.layout import Box, arrange_in_layers
from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import Context, compute_box
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.layout.notes import find_anchors, move_notes_along
from workflows.engine.editing.ops import Move, Op, Resize, Tidy
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store


# Space between a container's frame and its content in pixels: above the content, and on the other sides.
HEADER: Final = 60.0
PADDING: Final = 24.0
MIN_BOX: Final = Box(240.0, 140.0)


def expand_tidy(store: Store, op: Tidy, context: Context) -> Iterator[Op]:
    """Yield operations that arrange the content of a scope, or the given nodes, which may be in different scopes."""
    if not op.ids:
        if op.scope is not None and not context.is_container(require_item(store, op.scope)):
            raise build_refusal("scope", "Only a container has nodes inside", node=op.scope)
        yield from _arrange_scope(store, op.scope, context)
        if op.scope is not None:
            yield from _fit_container(store, op.scope)
        return
    items = [require_item(store, id_) for id_ in dict.fromkeys(op.ids)]
    for parent in dict.fromkeys(item.parent for item in items):
        siblings = [item for item in items if item.parent == parent and not item.is_note]
        anchors = find_anchors(store, parent, context)
        yield from _arrange_items(store, siblings, keep_corner=True)
        arranged = {item.id for item in siblings}
        yield from move_notes_along(store, parent, anchors, arranged, context, _get_corner(parent))


def _arrange_scope(store: Store, parent: str | None, context: Context) -> Iterator[Op]:
    children = [item for item in store.list_children(parent) if not item.is_note]
    anchors = find_anchors(store, parent, context)
    for item in children:
        if context.is_container(item):
            yield from _arrange_scope(store, item.id, context)
            yield from _fit_container(store, item.id)
    # Read the children again, because the containers among them have new sizes now.
    children = [item for item in store.list_children(parent) if not item.is_note]
    yield from _arrange_items(store, children, keep_corner=parent is None)
    arranged = {item.id for item in children}
    yield from move_notes_along(store, parent, anchors, arranged, context, _get_corner(parent))


def _get_corner(parent: str | None) -> tuple[float, float] | None:
    """Return where the content of a container begins; outside of containers it may be anywhere."""
    return None if parent is None else (PADDING, HEADER)


def _arrange_items(store: Store, items: list[Item], *, keep_corner: bool) -> Iterator[Op]:
    if not items:
        return
    boxes = {item.id: compute_box(item) for item in items}
    pairs = [
        (edge.source, edge.target)
        for item in items
        for edge in store.list_node_edges(item.id)
        if edge.source == item.id and edge.target in boxes
    ]
    corner = min(item.x for item in items), min(item.y for item in items)
    min_x, min_y = corner if keep_corner else (PADDING, HEADER)
    positions = arrange_in_layers(boxes, pairs)
    for item in items:
        x, y = round(min_x + positions[item.id].x), round(min_y + positions[item.id].y)
        if (item.x, item.y) != (x, y):
            yield Move(item.id, float(x), float(y))


def _fit_container(store: Store, container: str) -> Iterator[Op]:
    """Resize a container to its content, notes included, but not below the size of an empty one."""
    item = require_item(store, container)
    children = [(child, compute_box(child)) for child in store.list_children(container)]
    if not children:
        return
    width = max(MIN_BOX.width, *(child.x + box.width + PADDING for child, box in children))
    height = max(MIN_BOX.height, *(child.y + box.height + PADDING for child, box in children))
    if (item.width, item.height) != (width, height):
        yield Resize(container, width, height)
