"""Grows containers around new content, and moves the nodes that they would then cover."""

from collections.abc import Iterator, Sequence
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.layout.extents import Frame, compute_frame
from workflows.engine.editing.ops import Add, Move, Op, Reparent, Resize
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store
from workflows.engine.geometry import BOX_PADDING


MAX_DEPTH: Final = 10  # of nested containers that grow; the language allows fewer
GAP: Final = 40.0  # nodes nearer to a container's frame count as covered


def grow_containers(store: Store, ops: Sequence[Op], context: Context) -> Iterator[Op]:
    """Yield the additional operations for a finished gesture. The caller must apply each before it asks for the next."""
    for container in _list_affected_containers(store, ops):
        yield from _fit_container(store, container, context, MAX_DEPTH)


def _list_affected_containers(store: Store, ops: Sequence[Op]) -> list[str]:
    """Return the containers in which something was added or moved."""
    ids = dict.fromkeys(id_ for op in ops if (id_ := _get_placed_id(op)) is not None)
    items = [item for id_ in ids if (item := store.get_item(id_)) is not None]
    return list(dict.fromkeys(item.parent for item in items if item.parent is not None))


def _get_placed_id(op: Op) -> str | None:
    if isinstance(op, Add):
        return op.item.id
    return op.id if isinstance(op, Move | Reparent) else None


def _fit_container(store: Store, container: str, context: Context, depth: int) -> Iterator[Op]:
    item = store.get_item(container)
    if item is None or depth == 0:
        return
    frame = compute_frame(item, context)
    children = [compute_frame(child, context) for child in store.list_children(container)]
    width = max([frame.width, *(child.right + BOX_PADDING for child in children)])
    height = max([frame.height, *(child.bottom + BOX_PADDING for child in children)])
    if (width, height) == (frame.width, frame.height):
        return
    yield Resize(container, width, height)
    yield from _move_aside(store, item, frame, Frame(frame.x, frame.y, width, height), context)
    if item.parent is not None:
        yield from _fit_container(store, item.parent, context, depth - 1)


def _move_aside(
    store: Store, item: Item, before: Frame, after: Frame, context: Context
) -> Iterator[Op]:
    """Move the nodes to the right, and those below, by the same distance each, if one of them would be covered."""
    frames = [
        (sibling, compute_frame(sibling, context))
        for sibling in store.list_children(item.parent)
        if sibling.id != item.id
    ]
    right = [(sibling, frame) for sibling, frame in frames if frame.x >= before.right]
    left = [(sibling, frame) for sibling, frame in frames if frame.x < before.right]
    below = [(sibling, frame) for sibling, frame in left if frame.y >= before.bottom]
    growth_x, growth_y = after.width - before.width, after.height - before.height
    for side, x, y in ((right, growth_x, 0), (below, 0, growth_y)):
        is_covered = any(after.overlaps(frame, GAP) for node, frame in side if not node.is_note)
        if (x or y) and is_covered:
            yield from (Move(node.id, frame.x + x, frame.y + y) for node, frame in side)
