"""What can be done to a document, one frozen record a kind of operation.

A client asks for any of them. *Plain* ones say exactly what changes and are all that the log holds;
``expanding`` makes plain ones out of the rest. ``Header`` and ``Replace`` come from the server alone.
"""

from dataclasses import dataclass
from enum import StrEnum

from workflows.engine.editing.records import Item, Named, Wire
from workflows.engine.language.document import Json


Step = str | int
Path = tuple[Step, ...]


class How(StrEnum):
    PUT = "put"  # the value is what stands there afterwards
    REMOVE = "remove"
    INSERT = "insert"  # into a list, before what stands there


@dataclass(frozen=True, slots=True)
class Add:
    item: Item


@dataclass(frozen=True, slots=True)
class Delete:
    id: str
    heal: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    id: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Set:
    """One field in a node's data."""

    id: str
    path: Path
    value: Json = None
    rule: How = How.PUT


@dataclass(frozen=True, slots=True)
class Rename:
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Connect:
    wire: Wire


@dataclass(frozen=True, slots=True)
class Disconnect:
    id: str


@dataclass(frozen=True, slots=True)
class Reparent:
    id: str
    parent: str | None
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Resize:
    """None: as large as its kind is drawn."""

    id: str
    width: float | None
    height: float | None


@dataclass(frozen=True, slots=True)
class Paste:
    text: str
    x: float | None = None
    y: float | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Tidy:
    ids: tuple[str, ...] = ()
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable by this name becomes ``spec``; None takes it away."""

    area: str
    name: str
    spec: Named | None
    rename: str | None = None


@dataclass(frozen=True, slots=True)
class Feature:
    path: Path
    value: Json = None
    rule: How = How.PUT


@dataclass(frozen=True, slots=True)
class Header:
    """What a document says of itself: name, description, mode, dialect, version, extra."""

    field: str
    value: Json


@dataclass(frozen=True, slots=True)
class Replace:
    """The whole draft becomes the document with this content hash."""

    snapshot: str


Op = (
    Add
    | Delete
    | Move
    | Set
    | Rename
    | Connect
    | Disconnect
    | Reparent
    | Resize
    | Paste
    | Tidy
    | Variable
    | Feature
    | Header
    | Replace
)
