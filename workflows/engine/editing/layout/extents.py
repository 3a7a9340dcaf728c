"""Computes the area of a node or note, in the coordinates of its container."""

from dataclasses import dataclass

from workflows.engine.editing.context import Context
from workflows.engine.editing.records import Item, build_node, build_note
from workflows.engine.geometry import compute_note_shape, compute_shape


@dataclass(frozen=True, slots=True)
class Frame:
    """An area, by its top-left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def overlaps(self, other: "Frame", gap: float = 0.0) -> bool:
        """Return whether the frames overlap, or ``other`` is nearer than ``gap`` to the right or below."""
        return (
            self.x < other.right
            and other.x < self.right + gap
            and self.y < other.bottom
            and other.y < self.bottom + gap
        )

    def shift(self, x: float, y: float) -> "Frame":
        return Frame(self.x + x, self.y + y, self.width, self.height)

    def grow(self, x: float, y: float) -> "Frame":
        """Return the frame with this much more on each side."""
        return Frame(self.x - x, self.y - y, self.width + 2 * x, self.height + 2 * y)


def compute_frame(item: Item, context: Context) -> Frame:
    if item.is_note:
        shape = compute_note_shape(build_note(item))
    else:
        shape = compute_shape(build_node(item), context.kinds, is_box=context.is_container(item))
    return Frame(item.x, item.y, shape.width, shape.height)
