"""What expanding an operation needs besides the draft: the node kinds, fresh ids, sizes of cards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.editing.records import Item
from workflows.engine.kinds import AnyKind, Execution, Field
from workflows.engine.language.containers import CONTAINERS, get_inside_marks
from workflows.engine.language.document import Json
from workflows.engine.layout import Box


CARD: Final = Box(244, 90)
CONTAINER: Final = Box(400, 200)


def box_of(item: Item) -> Box:
    usual = CONTAINER if item.kind in CONTAINERS else CARD
    return Box(item.width or usual.width, item.height or usual.height)


@dataclass(frozen=True, slots=True)
class Context:
    """``fresh`` makes an id for a node of a kind; nothing by that id may be there yet."""

    kinds: Mapping[str, AnyKind]
    fresh: Callable[[str], str]
    size_of: Callable[[Item], Box] = box_of

    def is_container(self, item: Item) -> bool:
        if item.kind in CONTAINERS:
            return True
        kind = self.kinds.get(item.kind)
        return kind is not None and kind.execution is Execution.CONTAINER

    def title_of(self, kind: str) -> str:
        known = self.kinds.get(kind)
        return known.title if known else kind

    def defaults_of(self, kind: str) -> dict[str, Json]:
        known = self.kinds.get(kind)
        return _defaults(known.fields) if known else {}


def _defaults(fields: tuple[Field, ...]) -> dict[str, Json]:
    """A section counts when a part of it has a default."""
    found: dict[str, Json] = {}
    for field in fields:
        value = _defaults(field.fields) or None if field.fields and field.default is None else None
        value = field.default if value is None else value
        if value is not None:
            found[field.name] = value
    return found


def marks_of(parent: Item | None) -> dict[str, Json]:
    """What data of a node in this container says about it."""
    if parent is None or parent.kind not in CONTAINERS:
        return {}
    switch, key = get_inside_marks(parent.kind)
    return {switch: True, key: parent.id}
