"""Undo and redo: the inverse of a revision, fitted to what came after it, as a new revision.

Each person takes back what is theirs. Where somebody else has since changed the same thing, that is
said, and nothing is forced.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.editing import (
    Clash,
    EditRefused,
    Op,
    Performed,
    apply_all,
    check,
    rebase,
)
from workflows.engine.editing.writing import read_log
from workflows.errors import EditClash, NothingToUndo
from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind
from workflows.services import drafts
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import answer, done_before, keep
from workflows.services.editing.meanwhile import FARTHEST, effective, their_ops, unfolded
from workflows.services.editing.rows import Rows
from workflows.services.editing.stacks import Entry, stacks_of


class _Way(NamedTuple):
    kind: RevisionKind
    entries: tuple[Entry, ...]


def undo(
    principal: Principal, *, workflow: Workflow, client: str = "", key: str | None = None
) -> Change:
    """Take back one's own last edit. Raises NothingToUndo, or EditClash."""
    return _go(principal, workflow, RevisionKind.UNDO, client, key)


def redo(
    principal: Principal, *, workflow: Workflow, client: str = "", key: str | None = None
) -> Change:
    """Do again what was last taken back."""
    return _go(principal, workflow, RevisionKind.REDO, client, key)


def _go(
    principal: Principal, workflow: Workflow, kind: RevisionKind, client: str, key: str | None
) -> Change:
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := done_before(principal, locked, key)) is not None:
            return answer(principal, locked, earlier)
        stacks = stacks_of(locked, principal.actor)
        entries = stacks.done if kind is RevisionKind.UNDO else stacks.undone
        if not entries:
            raise NothingToUndo
        target = log.revisions(locked).get(number=entries[-1].number)
        store = Rows(locked)
        performed = _taken_back(locked, store, target)
        revision = keep(
            principal,
            locked,
            store,
            performed,
            label=target.label,
            client=client,
            key=key,
            kind=kind,
            undoes=target.number,
        )
        return answer(principal, locked, revision, store)


def _taken_back(workflow: Workflow, store: Rows, target: Revision) -> Performed:
    since = log.after(workflow, target.number, FARTHEST)
    if since is None:
        raise EditClash(sentence=_("Too much has happened since. Look into the history instead."))
    ops = _inverse(workflow, target, effective(since))
    _prefetch(store, ops)
    try:
        done, inverse = apply_all(store, ops)
        check(store, done)
    except EditRefused as refused:
        raise EditClash([_standing_in_the_way(refused)]) from refused
    return Performed(done, inverse, (0,) * len(done))


def _inverse(workflow: Workflow, target: Revision, since: Sequence[Revision]) -> Sequence[Op]:
    if not since:
        return read_log(target.inverse)
    back = tuple(unfolded(workflow, target.inverse, target.ops))
    rebased = rebase(back, their_ops(workflow, since))
    if rebased.clashes:
        raise EditClash(rebased.clashes)
    return rebased.ops


def _prefetch(store: Rows, ops: Sequence[Op]) -> None:
    ids = [id_ for op in ops if isinstance(id_ := getattr(op, "id", None), str)]
    if len(ids) > 1:
        store.prefetch(ids, around=ids)


def _standing_in_the_way(refused: EditRefused) -> Clash:
    problem = refused.problems[0]
    return Clash(0, problem.field or "", None, problem.message, "", problem.node, problem.edge)
