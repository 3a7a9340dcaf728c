"""What a part takes up of its scope, as it is drawn."""

from dataclasses import dataclass

from workflows.engine.editing.context import Context
from workflows.engine.editing.records import Item, node_of, note_of
from workflows.engine.geometry import compute_note_shape, compute_shape


@dataclass(frozen=True, slots=True)
class Frame:
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

    def hits(self, other: "Frame", gap: float = 0.0) -> bool:
        """Whether they overlap, or the other is nearer than the gap to the right or below."""
        return (
            self.x < other.right
            and other.x < self.right + gap
            and self.y < other.bottom
            and other.y < self.bottom + gap
        )

    def moved(self, x: float, y: float) -> "Frame":
        return Frame(self.x + x, self.y + y, self.width, self.height)


def frame_of(item: Item, context: Context) -> Frame:
    if item.is_note:
        drawn = compute_note_shape(note_of(item))
    else:
        drawn = compute_shape(node_of(item), context.kinds, is_box=context.is_container(item))
    return Frame(item.x, item.y, drawn.width, drawn.height)
