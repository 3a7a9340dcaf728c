"""What reading a document gives, and the small tools the readers share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document, Json, NodeSpec, Note, Position
from workflows.engine.language.dsl.strict import MAX_EDGES, MAX_NODES
from workflows.engine.language.problems import Problem, warning


@dataclass(frozen=True, slots=True)
class Loaded:
    """``pending``: written by a newer version, so a person should say yes before it is used."""

    document: Document
    warnings: tuple[Problem, ...] = ()
    pending: bool = False


@dataclass
class Findings:
    """Problems met while reading; reading goes on, so that all are told at once."""

    problems: list[Problem] = field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        *,
        node: str | None = None,
        field: str | None = None,
        edge: str | None = None,
    ) -> None:
        self.problems.append(Problem(code, message, node, field, edge))

    def warn(
        self, code: str, message: str, *, field: str | None = None, edge: str | None = None
    ) -> None:
        self.problems.append(warning(code, message, field=field, edge=edge))

    def raise_errors(self) -> None:
        if any(problem.is_error for problem in self.problems):
            raise DocumentInvalid(self.problems)


def mapping_at(
    tree: Mapping[str, Json], key: str, findings: Findings, *, where: str = ""
) -> dict[str, Json]:
    """A part that must be a mapping when it is there at all."""
    return _part(tree, key, findings, where, dict, "a mapping")  # type: ignore[no-any-return]


def list_at(
    tree: Mapping[str, Json], key: str, findings: Findings, *, where: str = ""
) -> list[Json]:
    return _part(tree, key, findings, where, list, "a list")  # type: ignore[no-any-return]


def check_counts(nodes: list[Json], edges: list[Json], findings: Findings) -> None:
    """Before anything is built from them: a document of 90,000 nodes is an attack or a mistake."""
    if len(nodes) > MAX_NODES:
        findings.error(
            "document.nodes",
            f"A workflow can have at most {MAX_NODES} nodes, this one has {len(nodes)}",
        )
    if len(edges) > MAX_EDGES:
        findings.error(
            "document.edges",
            f"A workflow can have at most {MAX_EDGES} edges, this one has {len(edges)}",
        )
    findings.raise_errors()


def without(tree: Mapping[str, Json], *taken: str) -> dict[str, Json]:
    return {key: value for key, value in tree.items() if key not in taken}


def text_or(value: Json, otherwise: str = "") -> str:
    return value if isinstance(value, str) else otherwise


def identifier(value: Json) -> str | None:
    """An id as text. Stamps lose their quotes in hand-written files and become numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def position(value: Json) -> Position | None:
    if isinstance(value, Mapping) and value.keys() == {"x", "y"}:
        x, y = value["x"], value["y"]
        if is_number(x) and is_number(y):
            return Position(x, y)
    return None


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _part(
    tree: Mapping[str, Json], key: str, findings: Findings, where: str, kind: type, name: str
) -> Json:
    value = tree.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        findings.error(f"document.{key}", f"{key} is {name}", field=f"{where}{key}")
        return kind()
    return value


def kept_in(notes: Iterable[Note], nodes: Iterable[NodeSpec]) -> tuple[Note, ...]:
    """Notes in their containers; what is in none we know lies at the top, and keeps what was written."""
    ids = {node.id for node in nodes}
    return tuple(
        note
        if note.parent is None or note.parent in ids
        else replace(note, parent=None, extra={**note.extra, "parentId": note.parent})
        for note in notes
    )
