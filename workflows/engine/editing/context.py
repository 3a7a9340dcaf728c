"""What is needed besides the draft to expand an operation: node kinds, default sizes and new ids."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.drawing.layout import Box
from workflows.engine.editing.records import Item
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.containers import CONTAINERS, get_content_markers
from workflows.engine.language.document import Json


CARD_SIZE: Final = Box(244, 90)
CONTAINER_SIZE: Final = Box(400, 200)


def compute_box(item: Item) -> Box:
    """Return the size of an item for arranging it, or the default size if the document states none."""
    default = CONTAINER_SIZE if item.kind in CONTAINERS else CARD_SIZE
    return Box(item.width or default.width, item.height or default.height)


@dataclass(frozen=True, slots=True)
class Context:
    """The installed kinds, and ``create_id``, which returns a new id for a node of a kind.

    ``translate`` returns a text of the engine in the language of the person who edits.
    """

    kinds: Mapping[str, AnyKind]
    create_id: Callable[[str], str]
    translate: Callable[[str], str] = str

    def is_container(self, item: Item) -> bool:
        if item.kind in CONTAINERS:
            return True
        kind = self.kinds.get(item.kind)
        return kind is not None and kind.execution is Execution.CONTAINER

    def get_title(self, kind: str) -> str:
        node_kind = self.kinds.get(kind)
        return self.translate(node_kind.title) if node_kind else kind


def build_markers(parent: Item | None) -> dict[str, Json]:
    """Return the data that marks a node as being inside this container; it is empty outside of containers."""
    if parent is None or parent.kind not in CONTAINERS:
        return {}
    flag_name, id_name = get_content_markers(parent.kind)
    return {flag_name: True, id_name: parent.id}
