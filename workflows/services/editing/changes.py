"""A change of a draft as it is sent to the API and the editor, and its parts as JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _

from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Add, Connect, Delete, Disconnect, Op, Replace
from workflows.engine.editing.records import EdgeRecord, Item
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem
from workflows.models import Revision, Workflow


@dataclass(frozen=True, slots=True)
class TouchedParts:
    """The ids of the parts that a change touched. ``is_replaced``: the whole draft was replaced."""

    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    is_replaced: bool = False


@dataclass(frozen=True)
class Change:
    """A change of a draft with its result. ``revision`` is None if the edit changed nothing.

    ``problems`` are those of the ``checked`` nodes. The labels are those of the edits that can be undone or redone next.
    """

    workflow: Workflow
    revision: Revision | None
    undo_label: str | None = None
    redo_label: str | None = None
    problems: tuple[Problem, ...] = ()
    checked: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()  # as they are now
    edges: tuple[EdgeRecord, ...] = ()
    pinned: tuple[str, ...] = ()  # the ids of the items with pinned outputs

    @property
    def number(self) -> int:
        return self.revision.number if self.revision else self.workflow.revision

    @cached_property
    def touched_parts(self) -> TouchedParts:
        return find_touched_parts(read_log(self.revision.ops)) if self.revision else TouchedParts()

    def to_tree(self) -> dict[str, Json]:
        """Return the change as JSON, for the API and the editor's scripts."""
        revision = (
            build_revision_tree(self.revision)
            if self.revision
            else _build_empty_tree(self.workflow)
        )
        return {
            **revision,
            "problems": [build_problem_tree(problem) for problem in self.problems],
            "checked": list(self.checked),
            "everything": self.touched_parts.is_replaced,
            "undo": None if self.undo_label is None else {"label": self.undo_label},
            "redo": None if self.redo_label is None else {"label": self.redo_label},
        }


def build_revision_tree(revision: Revision) -> dict[str, Json]:
    return {
        "revision": revision.number,
        "base": revision.base,
        "author": build_author_tree(revision),
        "client": revision.client,
        "label": revision.label,
        "kind": revision.kind,
        "ops": revision.ops,
        "undoes": revision.undoes,
        "at": revision.at.isoformat(),
    }


def build_author_tree(revision: Revision) -> dict[str, Json]:
    return {
        "id": str(revision.author_id) if revision.author_id else None,
        "name": get_author_name(revision),
    }


def get_author_name(revision: Revision) -> str:
    if revision.author_id is None:
        return _("API client")
    return revision.author.name or revision.author.email if revision.author else _("Unknown user")


def build_problem_tree(problem: Problem) -> dict[str, Json]:
    return {
        "severity": problem.severity.value,
        "code": problem.code,
        "message": problem.message,
        "node": problem.node,
        "field": problem.field,
        "edge": problem.edge,
    }


def find_touched_parts(ops: Iterable[Op]) -> TouchedParts:
    """Return the touched parts in the order of the operations. A part that no longer exists is only in ``deleted``."""
    nodes: dict[str, bool] = {}
    edges: dict[str, bool] = {}
    for op in ops:
        if isinstance(op, Replace):
            return TouchedParts(is_replaced=True)
        if isinstance(op, Add):
            nodes[op.item.id] = True
        elif isinstance(op, Delete):
            nodes[op.id] = False
        elif isinstance(op, Connect):
            edges[op.edge.id] = True
        elif isinstance(op, Disconnect):
            edges[op.id] = False
        elif (id_ := getattr(op, "id", None)) is not None:
            nodes[id_] = True
    return TouchedParts(
        tuple(id_ for id_, exists in nodes.items() if exists),
        tuple(id_ for id_, exists in edges.items() if exists),
        tuple(id_ for parts in (nodes, edges) for id_, exists in parts.items() if not exists),
    )


def _build_empty_tree(workflow: Workflow) -> dict[str, Json]:
    return {
        "revision": workflow.revision,
        "base": workflow.revision,
        "author": None,
        "client": "",
        "label": "",
        "kind": "edit",
        "ops": [],
        "undoes": None,
        "at": None,
    }
