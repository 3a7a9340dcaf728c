"""The workflow document inside the engine: one model for both dialects, frozen.

A reader in ``dsl/`` builds it from YAML or JSON, and a writer converts it back. No later code depends on the dialect.
What a reader does not understand is kept in the ``extra`` of the part that contains it, so that a round trip loses
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


# Values of a workflow are JSON values of any shape.
Json = Any

Selector = tuple[str, ...]


class Mode(StrEnum):
    WORKFLOW = "workflow"  # End nodes give outputs
    CHAT = "advanced-chat"  # Answer nodes send text; has conversations


class Dialect(StrEnum):
    DIFY = "dify"
    XWORKFLOW = "xworkflow"


MAX_COORDINATE: Final = 1_000_000  # of the canvas, in pixels


@dataclass(frozen=True, slots=True)
class Position:
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node as its author wrote it. ``kind`` decides what it does, and ``data`` is its whole configuration."""

    id: str
    kind: str
    data: Mapping[str, Json]
    title: str = ""
    parent: str | None = None
    position: Position = Position()
    width: float | None = None
    height: float | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """An edge between two nodes. One that has lost its source or its target has "" there, and leads nowhere."""

    id: str
    source: str
    target: str
    handle: str = "source"
    target_handle: str = "target"
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return bool(self.source and self.target)


@dataclass(frozen=True, slots=True)
class VariableSpec:
    """An environment variable, or a conversation variable with its value in a new conversation."""

    name: str
    value_type: str
    value: Json = None
    id: str = ""
    description: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_secret(self) -> bool:
        return self.value_type.strip().lower() == "secret"


@dataclass(frozen=True, slots=True)
class Note:
    """A sticky note, which has no effect on runs. Inside a container its position is relative to the container."""

    id: str
    data: Mapping[str, Json]
    parent: str | None = None
    position: Position = Position()
    width: float | None = None
    height: float | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole workflow: its graph, its variables, its notes, and the settings of the application around it."""

    mode: Mode
    nodes: tuple[NodeSpec, ...]
    edges: tuple[EdgeSpec, ...]
    name: str = ""
    description: str = ""
    environment: tuple[VariableSpec, ...] = ()
    conversation: tuple[VariableSpec, ...] = ()
    notes: tuple[Note, ...] = ()
    features: Mapping[str, Json] = field(default_factory=dict)
    dialect: Dialect = Dialect.DIFY
    version: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)
