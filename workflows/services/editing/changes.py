"""A change as both doors tell it: the revision, who made it, what can be undone now, what is wrong now."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import (
    Add,
    Connect,
    Delete,
    Disconnect,
    Op,
    Replace,
)
from workflows.engine.editing.records import Item, Wire
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem
from workflows.models import Revision, Workflow


@dataclass(frozen=True, slots=True)
class Touched:
    """What a change leaves changed: for whoever draws it."""

    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """``revision`` None: nothing changed, the draft says that already."""

    workflow: Workflow
    revision: Revision | None
    undo: str | None = None
    redo: str | None = None
    problems: tuple[Problem, ...] = ()
    checked: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()  # as they are now
    wires: tuple[Wire, ...] = ()
    pinned: tuple[str, ...] = ()  # of the items, those whose outputs are held

    @property
    def number(self) -> int:
        return self.revision.number if self.revision else self.workflow.revision

    @property
    def touched(self) -> Touched:
        return touched(read_log(self.revision.ops)) if self.revision else Touched()

    def tree(self) -> dict[str, Json]:
        told = revision_tree(self.revision) if self.revision else _nothing(self.workflow)
        return {
            **told,
            "problems": [problem_tree(problem) for problem in self.problems],
            "checked": list(self.checked),
            "everything": self.touched.everything,
            "undo": None if self.undo is None else {"label": self.undo},
            "redo": None if self.redo is None else {"label": self.redo},
        }


def revision_tree(revision: Revision) -> dict[str, Json]:
    return {
        "revision": revision.number,
        "base": revision.base,
        "author": author_tree(revision),
        "client": revision.client,
        "label": revision.label,
        "kind": revision.kind,
        "ops": revision.ops,
        "undoes": revision.undoes,
        "at": revision.at.isoformat(),
    }


def author_tree(revision: Revision) -> dict[str, Json]:
    return {
        "id": str(revision.author_id) if revision.author_id else None,
        "name": author_name(revision),
    }


def author_name(revision: Revision) -> str:
    if revision.author_id is None:
        return _("API client")
    return revision.author.name or revision.author.email if revision.author else _("Unknown user")


def problem_tree(problem: Problem) -> dict[str, Json]:
    return {
        "severity": problem.severity.value,
        "code": problem.code,
        "message": problem.message,
        "node": problem.node,
        "field": problem.field,
        "edge": problem.edge,
    }


def touched(ops: Iterable[Op]) -> Touched:
    """In the order of the operations; what came and went again is nowhere."""
    nodes: dict[str, bool] = {}
    edges: dict[str, bool] = {}
    for op in ops:
        if isinstance(op, Replace):
            return Touched(everything=True)
        if isinstance(op, Add):
            nodes[op.item.id] = True
        elif isinstance(op, Delete):
            nodes[op.id] = False
        elif isinstance(op, Connect):
            edges[op.wire.id] = True
        elif isinstance(op, Disconnect):
            edges[op.id] = False
        elif (id_ := getattr(op, "id", None)) is not None:
            nodes[id_] = True
    return Touched(
        tuple(id_ for id_, there in nodes.items() if there),
        tuple(id_ for id_, there in edges.items() if there),
        tuple(id_ for each in (nodes, edges) for id_, there in each.items() if not there),
    )


def _nothing(workflow: Workflow) -> dict[str, Json]:
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
