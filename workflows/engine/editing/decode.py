"""Reads operations from a client's JSON. Errors name the operation's index and the field."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from workflows.engine.editing import ops
from workflows.engine.editing.errors import EditRefused, build_refusal
from workflows.engine.editing.ops import ChangeRule, Op
from workflows.engine.editing.records import UNRANKED, EdgeRecord, Item, VariableRecord
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import MAX_COORDINATE, Json
from workflows.engine.language.dsl.limits import MAX_BYTES, check_tree
from workflows.engine.language.problems import Problem


MAX_OPS: Final = 5_000
MAX_TITLE: Final = 1_000
MAX_KEY: Final = 255
MAX_SIZE: Final = 50_000


def _check_value(value: Json) -> Json:
    """Return the value. Raises ValueError if it is nested too deeply or has NUL or a number out of range."""
    try:
        return check_tree({"value": value})["value"]
    except DocumentInvalid as invalid:
        raise ValueError(invalid.problems[0].message) from None


Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), AfterValidator(_check_value)]
Title = Annotated[str, Field(max_length=MAX_TITLE), AfterValidator(_check_value)]
Text = Annotated[str, Field(max_length=10_000), AfterValidator(_check_value)]
Rank = Annotated[int, Field(ge=UNRANKED)]
Coordinate = Annotated[
    float, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE, allow_inf_nan=False, strict=True)
]
Size = Annotated[float, Field(gt=0, le=MAX_SIZE, allow_inf_nan=False, strict=True)]
Value = Annotated[Any, AfterValidator(_check_value)]  # Any: JSON
Tree = Annotated[dict[str, Any], AfterValidator(_check_value)]  # Any: JSON
Step = Annotated[int, Field(ge=0, strict=True)] | Annotated[str, Field(max_length=MAX_KEY)]
Path = Annotated[list[Step], Field(min_length=1, max_length=40)]
Area = Literal["environment", "conversation"]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeIn(_In):
    id: Key
    kind: Annotated[str, Field(max_length=MAX_KEY)] = ""
    title: Title = ""
    x: Coordinate = 0.0
    y: Coordinate = 0.0
    parent: Key | None = None
    width: Size | None = None
    height: Size | None = None
    data: Tree = {}
    extra: Tree = {}
    rank: Rank = UNRANKED


class EdgeIn(_In):
    id: Annotated[str, Field(max_length=1024)] = ""
    source: Key
    target: Key
    handle: Key = "source"
    target_handle: Key = "target"
    extra: Tree = {}
    rank: Rank = UNRANKED


class SpecIn(_In):
    name: Key | None = None
    value_type: Annotated[str, Field(min_length=1, max_length=64)]
    value: Value = None
    id: Annotated[str, Field(max_length=MAX_KEY)] = ""
    description: Text = ""
    extra: Tree = {}
    rank: Rank = UNRANKED


class _OpIn(_In):
    """An operation of a client. By default ``read`` returns an ``operation`` with the same fields."""

    operation: ClassVar[type[Any]]  # Any: the operations have no common base

    def read(self) -> Op:
        fields = {name: value for name, value in self if name != "op"}
        return self.operation(**fields)  # type: ignore[no-any-return]


class AddIn(_OpIn):
    """Add a node; missing data is filled from the kind's defaults."""

    op: Literal["add"]
    node: NodeIn

    def read(self) -> Op:
        return ops.Add(Item(**dict(self.node)))


class NoteIn(_OpIn):
    """Add a sticky note; it is moved, resized, set and deleted as nodes are."""

    op: Literal["note"]
    note: NodeIn

    def read(self) -> Op:
        return ops.Add(Item(**dict(self.note), is_note=True))


class DeleteIn(_OpIn):
    """Delete a node, with its edges and its content; ``heal`` connects its neighbours."""

    operation = ops.Delete
    op: Literal["delete"]
    id: Key
    heal: StrictBool = False


class MoveIn(_OpIn):
    """Move a node, in the coordinates of its container."""

    operation = ops.Move
    op: Literal["move"]
    id: Key
    x: Coordinate
    y: Coordinate


class _ChangeIn(_OpIn):
    path: Path
    value: Value = None
    remove: StrictBool = False
    insert: StrictBool = False

    @model_validator(mode="after")
    def _check_removal(self) -> "_ChangeIn":
        if self.remove and (self.insert or self.value is not None):
            raise ValueError("remove takes no value")
        return self

    @property
    def rule(self) -> ChangeRule:
        return ChangeRule.from_flags(remove=self.remove, insert=self.insert)


class SetIn(_ChangeIn):
    """Set a field of a node's data; ``insert`` inserts the value into a list before that index."""

    op: Literal["set"]
    id: Key

    def read(self) -> Op:
        return ops.Set(self.id, tuple(self.path), self.value, self.rule)


class FeatureIn(_ChangeIn):
    """Set a field of the document's features."""

    op: Literal["feature"]

    def read(self) -> Op:
        return ops.Feature(tuple(self.path), self.value, self.rule)


class HeaderIn(_OpIn):
    """Set the name or description of the workflow; the server sets the rest of the header."""

    op: Literal["header"]
    field: Literal["name", "description"]
    value: Text

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.field == "name" and not 0 < len(self._name_text) <= MAX_KEY:
            raise ValueError(f"A name must have 1 to {MAX_KEY} characters")
        return self

    @property
    def _name_text(self) -> str:
        return " ".join(self.value.split())

    def read(self) -> Op:
        return ops.Header(
            self.field, self._name_text if self.field == "name" else self.value.strip()
        )


class RenameIn(_OpIn):
    operation = ops.Rename
    op: Literal["rename"]
    id: Key
    title: Title


class ConnectIn(_OpIn):
    op: Literal["connect"]
    edge: EdgeIn

    def read(self) -> Op:
        return ops.Connect(EdgeRecord(**dict(self.edge)))


class DisconnectIn(_OpIn):
    operation = ops.Disconnect
    op: Literal["disconnect"]
    id: Annotated[str, Field(min_length=1, max_length=1024)]


class ReparentIn(_OpIn):
    """Move a node into a container, or out of all (null); edges that would cross the border are removed."""

    operation = ops.Reparent
    op: Literal["reparent"]
    id: Key
    parent: Key | None
    x: Coordinate
    y: Coordinate


class ResizeIn(_OpIn):
    operation = ops.Resize
    op: Literal["resize"]
    id: Key
    width: Size | None
    height: Size | None


class PasteIn(_OpIn):
    """Paste nodes and edges, or a whole document, as YAML or JSON text. Everything gets a new id."""

    operation = ops.Paste
    op: Literal["paste"]
    text: Annotated[str, Field(max_length=MAX_BYTES)]
    x: Coordinate | None = None
    y: Coordinate | None = None
    parent: Key | None = None


class TidyIn(_OpIn):
    """Arrange everything, or the content of one container (``scope``), or the given nodes."""

    op: Literal["tidy"]
    ids: list[Key] = []
    scope: Key | None = None

    def read(self) -> Op:
        return ops.Tidy(tuple(self.ids), self.scope)


class VariableIn(_OpIn):
    """Set a variable of the document: ``spec`` null removes it, ``rename`` renames references, too."""

    op: Literal["variable"]
    area: Area
    name: Key
    spec: SpecIn | None = None
    rename: Key | None = None

    def read(self) -> Op:
        record = None
        if self.spec is not None:
            record = VariableRecord(**{**dict(self.spec), "area": self.area, "name": self.name})
        return ops.Variable(self.area, self.name, record, self.rename)


ClientOp = Annotated[
    AddIn
    | NoteIn
    | DeleteIn
    | MoveIn
    | SetIn
    | RenameIn
    | ConnectIn
    | DisconnectIn
    | ReparentIn
    | ResizeIn
    | PasteIn
    | TidyIn
    | VariableIn
    | FeatureIn
    | HeaderIn,
    Field(discriminator="op"),
]
# Any: a union whose members all have read()
_CLIENT_OPS: Final[TypeAdapter[Any]] = TypeAdapter(ClientOp)


def read_ops(values: object) -> tuple[Op, ...]:
    """Return the operations of a client. Raises EditRefused with every problem of every operation."""
    if not isinstance(values, list):
        raise build_refusal("ops", "Operations must be a list", field="ops")
    if len(values) > MAX_OPS:
        message = f"An edit can have at most {MAX_OPS} operations, this one has {len(values)}"
        raise build_refusal("ops", message, field="ops")
    operations: list[Op] = []
    problems: list[Problem] = []
    for index, value in enumerate(values):
        try:
            operations.append(_CLIENT_OPS.validate_python(value).read())
        except ValidationError as invalid:
            problems += _iter_problems(index, value, invalid)
    if problems:
        raise EditRefused(tuple(problems))
    return tuple(operations)


def _iter_problems(index: int, value: object, invalid: ValidationError) -> Iterable[Problem]:
    node_id = value.get("id") if isinstance(value, Mapping) else None
    for error in invalid.errors(include_url=False, include_context=False):
        # The first part is the discriminator's tag, which is not in the client's JSON.
        path = [str(step) for step in error["loc"][1:]]
        field = ".".join(["ops", str(index), *path])
        yield Problem(
            f"edit.{error['type']}",
            f"Operation {index}: {error['msg']}",
            node=node_id if isinstance(node_id, str) else None,
            field=field,
        )
