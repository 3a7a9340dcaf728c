"""A container is as large as what was put into it; what then lies under its frame moves aside."""

from collections.abc import Iterator, Sequence
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.layout.extents import Frame, frame_of
from workflows.engine.editing.ops import Add, Move, Op, Reparent, Resize
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store
from workflows.engine.geometry import BOX_PAD


DEEPEST: Final = 10  # containers in containers that are looked at; the language allows fewer
GAP: Final = 40.0  # nearer to a container's frame than this counts as covered


def grown(store: Store, done: Sequence[Op], context: Context) -> Iterator[Op]:
    """What a finished gesture asks for besides. Whoever asks for the next one has applied those before."""
    for container in _touched(store, done):
        yield from _fitted(store, container, context, DEEPEST)


def _touched(store: Store, done: Sequence[Op]) -> list[str]:
    """Containers that something was put into, or moved in."""
    names = dict.fromkeys(name for op in done if (name := _placed(op)) is not None)
    items = [item for name in names if (item := store.item(name)) is not None]
    return list(dict.fromkeys(item.parent for item in items if item.parent is not None))


def _placed(op: Op) -> str | None:
    if isinstance(op, Add):
        return op.item.id
    return op.id if isinstance(op, Move | Reparent) else None


def _fitted(store: Store, container: str, context: Context, depth: int) -> Iterator[Op]:
    item = store.item(container)
    if item is None or depth == 0:
        return
    frame = frame_of(item, context)
    inside = [frame_of(child, context) for child in store.children(container)]
    width = max([frame.width, *(child.right + BOX_PAD for child in inside)])
    height = max([frame.height, *(child.bottom + BOX_PAD for child in inside)])
    if (width, height) == (frame.width, frame.height):
        return
    yield Resize(container, width, height)
    yield from _aside(store, item, frame, Frame(frame.x, frame.y, width, height), context)
    if item.parent is not None:
        yield from _fitted(store, item.parent, context, depth - 1)


def _aside(store: Store, item: Item, before: Frame, after: Frame, context: Context) -> Iterator[Op]:
    """Only where something would be covered; all that lies on that side keeps its distances."""
    others = [
        (other, frame_of(other, context))
        for other in store.children(item.parent)
        if other.id != item.id
    ]
    beside = [(other, at) for other, at in others if at.x >= before.right]
    below = [(other, at) for other, at in others if at.x < before.right and at.y >= before.bottom]
    by = after.width - before.width
    if by and any(after.hits(at, GAP) for other, at in beside if not other.is_note):
        yield from (Move(other.id, at.x + by, at.y) for other, at in beside)
    by = after.height - before.height
    if by and any(after.hits(at, GAP) for other, at in below if not other.is_note):
        yield from (Move(other.id, at.x, at.y + by) for other, at in below)
