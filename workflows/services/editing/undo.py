"""Undo and redo: the inverse of a revision, fitted to what came after it, as a new revision.

Each person takes back what is theirs. Where somebody else has since changed the same thing, that is
said, and nothing is forced: whoever asks decides whose holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.rebase import NOBODY
from workflows.errors import EditClash, NothingToUndo
from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import Choice, answer, done_before, keep
from workflows.services.editing.rebase import (
    FARTHEST,
    effective,
    insisted,
    their_ops,
    unfolded,
)
from workflows.services.editing.rows import Rows
from workflows.services.editing.undo_stacks import Entry, stacks_of
from workflows.services.editor import drafts


class _Way(NamedTuple):
    kind: RevisionKind
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """Of the clashes that stood in the way of taking back ``undoes``: by index, whose value holds."""

    undoes: int
    resolve: Mapping[int, Choice]


def undo(
    principal: Principal,
    *,
    workflow: Workflow,
    client: str = "",
    key: str | None = None,
    decided: Decided | None = None,
) -> Change:
    """Take back one's own last edit. Raises NothingToUndo, or EditClash."""
    return _go(principal, workflow, RevisionKind.UNDO, client, key, decided)


def redo(
    principal: Principal,
    *,
    workflow: Workflow,
    client: str = "",
    key: str | None = None,
    decided: Decided | None = None,
) -> Change:
    """Do again what was last taken back."""
    return _go(principal, workflow, RevisionKind.REDO, client, key, decided)


def _go(
    principal: Principal,
    workflow: Workflow,
    kind: RevisionKind,
    client: str,
    key: str | None,
    decided: Decided | None,
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
        if decided is not None and decided.undoes != target.number:
            raise EditClash(sentence=_("You made another edit in the meantime. Try again."))
        store = Rows(locked)
        try:
            performed = _taken_back(locked, store, target, decided.resolve if decided else {})
        except EditClash as clash:
            clash.undoes = target.number
            raise
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


def _taken_back(
    workflow: Workflow, store: Rows, target: Revision, resolve: Mapping[int, Choice]
) -> Performed:
    since = log.after(workflow, target.number, FARTHEST)
    if since is None:
        raise EditClash(
            sentence=_("There are too many later edits to undo this. Use History instead.")
        )
    ops = _inverse(workflow, target, effective(since), resolve)
    _prefetch(store, ops)
    try:
        done, inverse = apply_all(store, ops)
        check(store, done)
    except EditRefused as refused:
        if "theirs" in resolve.values() and "mine" not in resolve.values():
            # As it is, then; what was done before it can be taken back.
            return Performed((), (), ())
        raise EditClash([_standing_in_the_way(refused)]) from refused
    return Performed(done, inverse, (0,) * len(done))


def _inverse(
    workflow: Workflow,
    target: Revision,
    since: Sequence[Revision],
    resolve: Mapping[int, Choice],
) -> Sequence[Op]:
    if not since:
        return read_log(target.inverse)
    back = tuple(unfolded(workflow, target.inverse, target.ops))
    rebased = rebase(back, their_ops(workflow, since))
    clashes = {clash.op: clash for clash in rebased.clashes}
    asked = _once(rebased.clashes)
    if {clash.op for clash in asked.values()} - resolve.keys():
        raise EditClash(tuple(asked.values()))
    parts: dict[int, list[Op]] = {}  # what each operation comes to, in their order
    for fitted, origin in zip(rebased.ops, rebased.origins, strict=True):
        parts.setdefault(origin, []).append(fitted)
    for index, clash in clashes.items():
        if resolve[asked[_place(clash)].op] == "mine":
            parts[index] = insisted(back[index], clash, None, since)
    return [op for index in sorted(parts) for op in parts[index]]


def _once(clashes: Sequence[Clash]) -> dict[object, Clash]:
    """By place: a title that is written in two ways is one question."""
    return {_place(clash): clash for clash in reversed(clashes)}


def _place(clash: Clash) -> object:
    return clash.node, clash.edge, clash.field


def _prefetch(store: Rows, ops: Sequence[Op]) -> None:
    ids = [id_ for op in ops if isinstance(id_ := getattr(op, "id", None), str)]
    if len(ids) > 1:
        store.prefetch(ids, around=ids)


def _standing_in_the_way(refused: EditRefused) -> Clash:
    problem = refused.problems[0]
    return Clash(0, problem.field or "", None, problem.message, NOBODY, problem.node, problem.edge)
