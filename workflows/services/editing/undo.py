"""Undo and redo: the inverse of a revision, rebased over later edits, as a new revision.

Members undo only their own edits. If another member has since changed the same value, the conflict
is reported and the caller chooses the value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows.engine.editing import Conflict, EditRefused, EditResult, Op, apply_all, rebase
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.perform import check_ops
from workflows.engine.editing.rebase import UNKNOWN_AUTHOR
from workflows.errors import EditConflict, NothingToUndo
from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.gestures import Choice, Edit, edit_once
from workflows.services.editing.rebase import (
    MAX_REVISIONS_BEHIND,
    build_override,
    drop_undone,
    expand_replacements,
    list_later_ops,
)
from workflows.services.editing.undo_stacks import build_stacks


@dataclass(frozen=True, slots=True)
class Resolution:
    """The values that a person chose for the conflicts of undoing the revision ``undoes``, by conflict index."""

    undoes: int
    choices: Mapping[int, Choice]


def undo(
    principal: Principal,
    *,
    workflow: Workflow,
    client: str = "",
    idempotency_key: str | None = None,
    resolution: Resolution | None = None,
    kind: RevisionKind = RevisionKind.UNDO,
) -> Change:
    """Undo the principal's last edit, or redo the one undone last (REDO). Raises NothingToUndo or EditConflict."""

    def perform(locked: Workflow) -> Edit:
        stacks = build_stacks(locked, principal.actor)
        entries = stacks.undoable if kind is RevisionKind.UNDO else stacks.redoable
        if not entries:
            raise NothingToUndo
        target = log.list_revisions(locked).get(number=entries[-1].number)
        if resolution is not None and resolution.undoes != target.number:
            raise EditConflict(sentence=_("You made another edit in the meantime. Try again."))
        store = DraftStore(locked)
        try:
            choices = resolution.choices if resolution else {}
            result = _apply_inverse(locked, store, target, choices)
        except EditConflict as conflict:
            conflict.undoes = target.number
            raise
        return Edit(store, result, target.label, kind=kind, undoes=target.number)

    return edit_once(principal, workflow, perform, client=client, idempotency_key=idempotency_key)


def redo(principal: Principal, **arguments: Any) -> Change:  # Any: those of ``undo``
    """Redo the edit that the principal undid last. Raises NothingToUndo or EditConflict."""
    return undo(principal, kind=RevisionKind.REDO, **arguments)


def _apply_inverse(
    workflow: Workflow, store: DraftStore, target: Revision, choices: Mapping[int, Choice]
) -> EditResult:
    """Apply the inverse of a revision to the current draft. Raises EditConflict with the undecided conflicts."""
    later_revisions = log.list_revisions_after(workflow, target.number, MAX_REVISIONS_BEHIND)
    if later_revisions is None:
        raise EditConflict(
            sentence=_("There are too many later edits to undo this. Use History instead.")
        )
    ops = _build_inverse(workflow, target, drop_undone(later_revisions), choices)
    _prefetch(store, ops)
    try:
        performed, inverse = apply_all(store, ops)
        check_ops(store, performed)
    except EditRefused as refusal:
        if "theirs" in choices.values() and "mine" not in choices.values():
            # The edit counts as undone although nothing changes, so that earlier edits can be undone.
            return EditResult((), (), ())
        raise EditConflict([_build_conflict(refusal)]) from refusal
    return EditResult(performed, inverse, (0,) * len(performed))


def _build_inverse(
    workflow: Workflow,
    target: Revision,
    later_revisions: Sequence[Revision],
    choices: Mapping[int, Choice],
) -> Sequence[Op]:
    """Return the target's inverse operations, rebased over the later revisions. Raises EditConflict."""
    if not later_revisions:
        return read_log(target.inverse)
    inverse_ops = tuple(expand_replacements(workflow, target.inverse, target.ops))
    rebased = rebase(inverse_ops, list_later_ops(workflow, later_revisions))
    conflicts = {conflict.op: conflict for conflict in rebased.conflicts}
    shown_conflicts = _group_by_value(rebased.conflicts)
    if {conflict.op for conflict in shown_conflicts.values()} - choices.keys():
        raise EditConflict(tuple(shown_conflicts.values()))
    ops_by_origin: dict[int, list[Op]] = {}  # the operations that each inverse operation became
    for op, origin in zip(rebased.ops, rebased.origins, strict=True):
        ops_by_origin.setdefault(origin, []).append(op)
    for index, conflict in conflicts.items():
        if choices[shown_conflicts[_get_value_key(conflict)].op] == "mine":
            override = build_override(inverse_ops[index], conflict, None, later_revisions)
            ops_by_origin[index] = override
    return [op for index in sorted(ops_by_origin) for op in ops_by_origin[index]]


def _group_by_value(conflicts: Sequence[Conflict]) -> dict[object, Conflict]:
    """Return the first conflict of each value, because a value that is stored twice, as a title is, has two."""
    return {_get_value_key(conflict): conflict for conflict in reversed(conflicts)}


def _get_value_key(conflict: Conflict) -> object:
    return conflict.node, conflict.edge, conflict.field


def _prefetch(store: DraftStore, ops: Sequence[Op]) -> None:
    ids = [id_ for op in ops if isinstance(id_ := getattr(op, "id", None), str)]
    if len(ids) > 1:
        store.prefetch(ids, around=ids)


def _build_conflict(refusal: EditRefused) -> Conflict:
    problem = refusal.problems[0]
    return Conflict(
        problem.field or "", None, problem.message, UNKNOWN_AUTHOR, problem.node, problem.edge
    )
