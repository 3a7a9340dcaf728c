"""The parts of a draft for editing: one record each, with its rank in the document's order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workflows.engine.language.document import (
    EdgeSpec,
    Json,
    NodeSpec,
    Note,
    Position,
    VariableSpec,
)


UNRANKED = -1  # gets the next rank when it is stored


@dataclass(frozen=True, slots=True)
class Item:
    """A node, or a sticky note: both are drawn, moved and deleted alike, and have common ids."""

    id: str
    kind: str = ""
    title: str = ""
    parent: str | None = None
    x: float = 0.0
    y: float = 0.0
    width: float | None = None
    height: float | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)
    rank: int = UNRANKED
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    id: str
    source: str
    target: str
    handle: str = "source"
    target_handle: str = "target"
    extra: Mapping[str, Json] = field(default_factory=dict)
    rank: int = UNRANKED

    @property
    def ends(self) -> tuple[str, str, str, str]:
        return self.source, self.handle, self.target, self.target_handle


@dataclass(frozen=True, slots=True)
class VariableRecord:
    """A variable of the document. The value of a secret variable is never stored here."""

    area: str
    name: str
    value_type: str
    value: Json = None
    id: str = ""
    description: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)
    rank: int = UNRANKED

    @property
    def is_secret(self) -> bool:
        return self.value_type.strip().lower() == "secret"


def build_item(spec: NodeSpec | Note, rank: int) -> Item:
    return Item(
        id=spec.id,
        kind=spec.kind if isinstance(spec, NodeSpec) else "",
        title=spec.title if isinstance(spec, NodeSpec) else "",
        parent=spec.parent,
        x=spec.position.x,
        y=spec.position.y,
        width=spec.width,
        height=spec.height,
        data=spec.data,
        extra=spec.extra,
        rank=rank,
        is_note=isinstance(spec, Note),
    )


def build_node(item: Item) -> NodeSpec:
    return NodeSpec(
        id=item.id,
        kind=item.kind,
        data=item.data,
        title=item.title,
        parent=item.parent,
        position=Position(item.x, item.y),
        width=item.width,
        height=item.height,
        extra=item.extra,
    )


def build_note(item: Item) -> Note:
    return Note(
        id=item.id,
        data=item.data,
        parent=item.parent,
        position=Position(item.x, item.y),
        width=item.width,
        height=item.height,
        extra=item.extra,
    )


def build_edge_record(edge: EdgeSpec, rank: int) -> EdgeRecord:
    return EdgeRecord(
        edge.id, edge.source, edge.target, edge.handle, edge.target_handle, edge.extra, rank
    )


def build_edge(edge: EdgeRecord) -> EdgeSpec:
    return EdgeSpec(edge.id, edge.source, edge.target, edge.handle, edge.target_handle, edge.extra)


def build_variable_record(area: str, spec: VariableSpec, rank: int) -> VariableRecord:
    return VariableRecord(
        area, spec.name, spec.value_type, spec.value, spec.id, spec.description, spec.extra, rank
    )


def build_variable(record: VariableRecord) -> VariableSpec:
    return VariableSpec(
        record.name, record.value_type, record.value, record.id, record.description, record.extra
    )


def describe_variable(record: VariableRecord | None) -> Json:
    """Return the fields of a variable that users edit, for comparisons, or None without a variable."""
    if record is None:
        return None
    return {"type": record.value_type, "value": record.value, "description": record.description}
