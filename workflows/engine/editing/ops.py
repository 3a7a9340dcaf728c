"""The operations on a document, one frozen record for each kind of operation.

Clients may send any of them but ``Replace``. *Plain* operations say exactly what changes, and only these are in the
log; ``expand`` turns the others into plain ones.
"""

from dataclasses import dataclass
from enum import StrEnum

from workflows.engine.editing.records import EdgeRecord, Item, VariableRecord
from workflows.engine.language.document import Json


Step = str | int
Path = tuple[Step, ...]


class ChangeRule(StrEnum):
    PUT = "put"  # set or replace the value
    REMOVE = "remove"
    INSERT = "insert"  # insert into a list, before the current item

    @staticmethod
    def from_flags(*, remove: object, insert: object) -> "ChangeRule":
        if remove:
            return ChangeRule.REMOVE
        return ChangeRule.INSERT if insert else ChangeRule.PUT


@dataclass(frozen=True, slots=True)
class Add:
    item: Item


@dataclass(frozen=True, slots=True)
class Delete:
    id: str
    heal: bool = False  # connect the neighbours of the node


@dataclass(frozen=True, slots=True)
class Move:
    id: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Set:
    """Set one field in a node's data."""

    id: str
    path: Path
    value: Json = None
    rule: ChangeRule = ChangeRule.PUT


@dataclass(frozen=True, slots=True)
class Rename:
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Connect:
    edge: EdgeRecord


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
    """Change a size; None means the default size of the kind."""

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
    """Set the variable of this name to ``spec``; None removes it."""

    area: str
    name: str
    spec: VariableRecord | None
    rename: str | None = None


@dataclass(frozen=True, slots=True)
class Feature:
    path: Path
    value: Json = None
    rule: ChangeRule = ChangeRule.PUT


@dataclass(frozen=True, slots=True)
class Header:
    """Set a header field: name, description, mode, dialect, version or extra."""

    field: str
    value: Json


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace the whole draft with the document of this content hash."""

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
