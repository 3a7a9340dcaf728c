"""The result of reading a document, and helpers that the readers share."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import (
    MAX_COORDINATE,
    Document,
    Json,
    NodeSpec,
    Note,
    Position,
)
from workflows.engine.language.dsl.limits import iter_size_errors
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import is_number


ABSOLUTE: Final = "positionAbsolute"  # Dify's copy of a position, on the canvas


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that was read. If it is ``pending``, a newer version wrote it and the user has to confirm the import."""

    document: Document
    warnings: tuple[Problem, ...] = ()
    pending: bool = False


@dataclass
class Reader:
    """Reads parts of a document and collects the problems, so that all of them are reported at once."""

    problems: list[Problem] = field(default_factory=list)

    def add_error(
        self, code: str, message: str, *, node: str | None = None, field: str | None = None
    ) -> None:
        self.problems.append(Problem(code, message, node, field))

    def add_warning(self, code: str, message: str, *, field: str | None = None) -> None:
        self.problems.append(build_warning(code, message, field=field))

    def raise_errors(self) -> None:
        """Raise DocumentInvalid with the errors. Warnings are about a document that is read, so that none is among them."""
        if errors := [problem for problem in self.problems if problem.is_error]:
            raise DocumentInvalid(errors)

    def get_mapping(
        self, tree: Mapping[str, Json], key: str, *, prefix: str = ""
    ) -> dict[str, Json]:
        """Return a part, which must be a mapping if it exists. ``prefix`` is the path of the tree, for the error."""
        return self._get_part(tree, key, prefix, dict, "a mapping")  # type: ignore[no-any-return]

    def get_list(self, tree: Mapping[str, Json], key: str, *, prefix: str = "") -> list[Json]:
        return self._get_part(tree, key, prefix, list, "a list")  # type: ignore[no-any-return]

    def check_counts(self, nodes: list[Json], edges: list[Json]) -> None:
        """Raise DocumentInvalid for too many nodes or edges, before anything is built from them."""
        for part, message in iter_size_errors(len(nodes), len(edges)):
            self.add_error(f"document.{part}", message)
        self.raise_errors()

    def iter_nodes(self, nodes: list[Json], path: str) -> Iterator[Mapping[str, Json]]:
        """Yield the nodes that have an id and data, and add an error for every other node."""
        for index, node in enumerate(nodes):
            if not isinstance(node, Mapping) or read_identifier(node.get("id")) is None:
                self.add_error("node.id_missing", "A node has no ID", field=f"{path}.{index}")
            elif not isinstance(node.get("data"), Mapping):
                id_ = read_identifier(node["id"])
                self.add_error("node.data_missing", "The node has no data", node=id_, field="data")
            else:
                yield node

    def read_kind(self, node: Mapping[str, Json], *, outside: bool = False) -> str:
        """Return the type of a node. In some hand-written documents it is ``outside`` of the data, beside the id."""
        kind = node["data"].get("type")
        if outside and not kind and not get_text(node.get("type")).startswith("custom"):
            kind = node.get("type")
        if isinstance(kind, str) and kind:
            return kind
        id_ = read_identifier(node["id"])
        self.add_error("node.kind_missing", "The node has no type", node=id_)
        return ""

    def _get_part(
        self, tree: Mapping[str, Json], key: str, prefix: str, part_type: type, type_name: str
    ) -> Json:
        value = tree.get(key)
        if value is None:
            return part_type()
        if not isinstance(value, part_type):
            self.add_error(f"document.{key}", f"{key} is {type_name}", field=f"{prefix}{key}")
            return part_type()
        return value


def check_foreign_sections(
    tree: Mapping[str, Json],
    key: str,
    sections: Iterable[tuple[str, ...]],
    reader: Reader,
    *,
    prefix: str = "",
) -> None:
    """Add an error if a part with the keys of the other dialect, or one of these sections of it, is no mapping."""
    part = reader.get_mapping(tree, key, prefix=prefix)
    for path in sections:
        section = part
        for depth, name in enumerate(path):
            section = reader.get_mapping(section, name, prefix=".".join((key, *path[:depth], "")))


def drop_keys(tree: Mapping[str, Json], *keys: str) -> dict[str, Json]:
    return {key: value for key, value in tree.items() if key not in keys}


def get_text(value: Json, default: str = "") -> str:
    return value if isinstance(value, str) else default


def read_identifier(value: Json) -> str | None:
    """Return an id as text, or None if it is missing. In hand-written files an id without quotes is a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def read_ends(edge: Mapping[str, Json]) -> tuple[str, str]:
    """Return the source and the target of an edge; an end that is missing, or no id, is empty."""
    return read_identifier(edge.get("source")) or "", read_identifier(edge.get("target")) or ""


def collect_unread_ends(edge: Mapping[str, Json]) -> dict[str, Json]:
    """Return the ends of an edge that are no ids, so that the writer gives them back."""
    return {
        end: edge[end]
        for end in ("source", "target")
        if end in edge and read_identifier(edge[end]) is None
    }


def read_coordinate(value: Json) -> float | None:
    """Return a coordinate or a size of the canvas, or None for anything that can't be drawn."""
    return value if is_number(value) and abs(value) <= MAX_COORDINATE else None


def read_position(value: Json) -> Position | None:
    if isinstance(value, Mapping) and value.keys() == {"x", "y"}:
        x, y = read_coordinate(value["x"]), read_coordinate(value["y"])
        if x is not None and y is not None:
            return Position(x, y)
    return None


def compute_absolute_position(
    part: NodeSpec | Note, containers: Mapping[str, NodeSpec]
) -> dict[str, Json]:
    """Return the position of a node or note on the canvas. In the document it is relative to the container."""
    x, y = part.position.x, part.position.y
    visited, container = {part.id}, containers.get(part.parent or "")
    while container is not None and container.id not in visited:
        x, y = x + container.position.x, y + container.position.y
        visited.add(container.id)
        container = containers.get(container.parent or "")
    return {"x": x, "y": y}


def attach_notes(notes: Iterable[Note], nodes: Iterable[NodeSpec]) -> tuple[Note, ...]:
    """Return the notes. A note in an unknown container moves to the top level and keeps the parent id in ``extra``."""
    ids = {node.id for node in nodes}
    return tuple(
        note
        if note.parent is None or note.parent in ids
        else replace(note, parent=None, extra={**note.extra, "parentId": note.parent})
        for note in notes
    )
