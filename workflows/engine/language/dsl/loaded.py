"""The result of reading a document, and helpers that the readers share."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document, Json, NodeSpec, Note, Position
from workflows.engine.language.dsl.strict import iter_size_errors
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import is_number


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that was read. ``pending``: a newer version wrote it, so the user should confirm the import."""

    document: Document
    warnings: tuple[Problem, ...] = ()
    pending: bool = False


@dataclass
class Findings:
    """Collects the problems met while reading; reading continues, so that all are reported at once."""

    problems: list[Problem] = field(default_factory=list)

    def add_error(
        self, code: str, message: str, *, node: str | None = None, field: str | None = None
    ) -> None:
        self.problems.append(Problem(code, message, node, field))

    def add_warning(self, code: str, message: str, *, field: str | None = None) -> None:
        self.problems.append(build_warning(code, message, field=field))

    def raise_errors(self) -> None:
        if any(problem.is_error for problem in self.problems):
            raise DocumentInvalid(self.problems)


def get_mapping(
    tree: Mapping[str, Json], key: str, findings: Findings, *, where: str = ""
) -> dict[str, Json]:
    """Return a part that must be a mapping if it exists."""
    return _get_part(tree, key, findings, where, dict, "a mapping")  # type: ignore[no-any-return]


def get_list(
    tree: Mapping[str, Json], key: str, findings: Findings, *, where: str = ""
) -> list[Json]:
    return _get_part(tree, key, findings, where, list, "a list")  # type: ignore[no-any-return]


def check_counts(nodes: list[Json], edges: list[Json], findings: Findings) -> None:
    """Raise DocumentInvalid for too many nodes or edges, before anything is built from them."""
    for part, message in iter_size_errors(len(nodes), len(edges)):
        findings.add_error(f"document.{part}", message)
    findings.raise_errors()


def drop_keys(tree: Mapping[str, Json], *keys: str) -> dict[str, Json]:
    return {key: value for key, value in tree.items() if key not in keys}


def get_text(value: Json, default: str = "") -> str:
    return value if isinstance(value, str) else default


def read_identifier(value: Json) -> str | None:
    """Return an id as text. In hand-written files ids lose their quotes and become numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def iter_nodes(nodes: list[Json], path: str, findings: Findings) -> Iterator[Mapping[str, Json]]:
    """Yield the nodes that have an id and data; the others are errors."""
    for index, node in enumerate(nodes):
        if not isinstance(node, Mapping) or read_identifier(node.get("id")) is None:
            findings.add_error("node.id_missing", "A node has no ID", field=f"{path}.{index}")
        elif not isinstance(node.get("data"), Mapping):
            id_ = read_identifier(node["id"])
            findings.add_error("node.data_missing", "The node has no data", node=id_, field="data")
        else:
            yield node


def read_kind(node: Mapping[str, Json], findings: Findings) -> str:
    kind = node["data"].get("type")
    if isinstance(kind, str) and kind:
        return kind
    id_ = read_identifier(node["id"])
    findings.add_error("node.kind_missing", "The node has no type", node=id_)
    return ""


def read_ends(edge: Json) -> tuple[str, str] | None:
    """Return the source and the target of an edge that has both."""
    if not isinstance(edge, Mapping):
        return None
    source, target = read_identifier(edge.get("source")), read_identifier(edge.get("target"))
    return (source, target) if source and target else None


def read_position(value: Json) -> Position | None:
    if isinstance(value, Mapping) and value.keys() == {"x", "y"}:
        x, y = value["x"], value["y"]
        if is_number(x) and is_number(y):
            return Position(x, y)
    return None


def _get_part(
    tree: Mapping[str, Json], key: str, findings: Findings, where: str, kind: type, name: str
) -> Json:
    value = tree.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        findings.add_error(f"document.{key}", f"{key} is {name}", field=f"{where}{key}")
        return kind()
    return value


def attach_notes(notes: Iterable[Note], nodes: Iterable[NodeSpec]) -> tuple[Note, ...]:
    """Return the notes in their containers; one in an unknown container goes to the top and keeps its parent id."""
    ids = {node.id for node in nodes}
    return tuple(
        note
        if note.parent is None or note.parent in ids
        else replace(note, parent=None, extra={**note.extra, "parentId": note.parent})
        for note in notes
    )
