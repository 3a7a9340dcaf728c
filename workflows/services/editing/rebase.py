"""Rebase an edit of an older revision of the draft over the later edits of other members.

Inside a savepoint, the draft is rolled back to the state that the author saw, and the operations are performed there to
record their exact effect. This effect is rebased over the later operations, and the operations that still apply are
then performed on the current draft.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import dropwhile

from django.db import transaction

from accounts.access import Principal
from workflows.engine.editing import (
    Conflict,
    EditRefused,
    EditResult,
    Op,
    Rebased,
    apply_all,
    diff,
    perform,
    rebase,
)
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Add, ChangeRule, Connect, Feature, Replace, Set
from workflows.engine.editing.paths import get_value
from workflows.engine.editing.rebase import GONE, Author, ConcurrentOp
from workflows.engine.language.problems import Problem
from workflows.errors import EditConflict
from workflows.models import Revision, Snapshot, Workflow
from workflows.models.documents import from_json
from workflows.services.editing import log
from workflows.services.editing.changes import get_author_name
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.operation_context import build_context


# An editor that is further behind must load the draft again.
MAX_REVISIONS_BEHIND = 1_000
# The fields of the workflow's own row that operations change.
HEADER_FIELDS = ("name", "description", "mode", "dialect", "dialect_version", "features", "extra")


class _RollBack(Exception):
    """Raised at the end of a savepoint in order to roll it back."""


@dataclass(frozen=True, slots=True)
class _Replay:
    """The effect of operations on the draft that the author saw. ``lists`` set the changed lists as a whole, by index."""

    performed: EditResult
    lists: Mapping[int, Op]


def rebase_ops(
    principal: Principal,
    workflow: Workflow,
    ops: Sequence[Op],
    *,
    base_revision: int,
    client: str,
    choices: Mapping[int, str],
) -> list[Op]:
    """Return the operations to perform on the current draft. ``choices`` decide conflicts by operation index.

    Raises EditConflict with the undecided conflicts, or EditRefused if the author's revision is too old.
    """
    if base_revision == workflow.revision:
        return list(ops)
    revisions = log.list_revisions_after(workflow, base_revision, MAX_REVISIONS_BEHIND)
    if revisions is None:
        message = f"Revision {base_revision} is too old; reload the draft"
        raise EditRefused((Problem("edit.base", message, field="base"),))
    # The tab has seen its own revisions before the first foreign one, even if it sent an older base revision.
    later_revisions = list(
        dropwhile(lambda revision: _is_own(revision, principal, client), revisions)
    )
    if not later_revisions:
        return list(ops)
    replay = _replay(workflow, ops, later_revisions)
    # The tab's own later revisions cause no conflict, because the tab made its queued edits in this order.
    other_revisions = [
        revision
        for revision in drop_undone(later_revisions)
        if not _is_own(revision, principal, client)
    ]
    rebased = rebase(replay.performed.ops, list_later_ops(workflow, other_revisions))
    return _apply_choices(ops, replay, rebased, later_revisions, choices)


def drop_undone(revisions: Sequence[Revision]) -> list[Revision]:
    """Return the revisions without each pair of a revision and its undo."""
    effective: dict[int, Revision] = {}
    for revision in revisions:
        if revision.undoes is not None and revision.undoes in effective:
            del effective[revision.undoes]
        else:
            effective[revision.number] = revision
    return list(effective.values())


def list_later_ops(workflow: Workflow, revisions: Sequence[Revision]) -> list[ConcurrentOp]:
    """Return the operations of these revisions with their authors, as ``engine.editing.rebase`` takes them."""
    return [
        ConcurrentOp(op, Author(get_author_name(revision), revision.author_id))
        for revision in revisions
        for op in expand_replacements(workflow, revision.ops, revision.inverse)
    ]


def expand_replacements(
    workflow: Workflow, ops: Sequence[object], inverse: Sequence[object]
) -> Iterator[Op]:
    """Yield the operations. Instead of a replacement of the whole document, yield the equivalent operations."""
    forward_ops, inverse_ops = read_log(ops), read_log(inverse)  # type: ignore[arg-type]  # the log's JSON
    previous_ops = [op for op in reversed(inverse_ops) if isinstance(op, Replace)]
    for op in forward_ops:
        if not isinstance(op, Replace):
            yield op
            continue
        previous = previous_ops.pop(0)
        before, after = (
            _load_document(workflow, replacement.snapshot) for replacement in (previous, op)
        )
        yield from diff(before, after)


def _load_document(workflow: Workflow, digest: str):  # type: ignore[no-untyped-def]
    stored = Snapshot.objects.unscoped().get(team_id=workflow.team_id, hash=digest)
    return from_json(stored.document)


def _is_own(revision: Revision, principal: Principal, client: str) -> bool:
    return bool(client) and (revision.client, revision.actor) == (client, principal.actor)


def _replay(workflow: Workflow, ops: Sequence[Op], later_revisions: Sequence[Revision]) -> _Replay:
    """Perform the operations on the draft before the later revisions, in a savepoint that is rolled back."""
    try:
        with _roll_back_revisions(workflow, later_revisions) as store:
            return _perform(store, ops)
    except EditRefused:
        pass  # the operations refer to parts that were added later, so their author knew the later revisions
    with _roll_back_revisions(workflow, ()) as store:
        return _perform(store, ops)


def _perform(store: DraftStore, ops: Sequence[Op]) -> _Replay:
    performed = perform(store, ops, build_context())
    lists = {
        index: whole_list
        for index, op in enumerate(ops)
        if (whole_list := _build_whole_list(store, op)) is not None
    }
    return _Replay(performed, lists)


@contextmanager
def _roll_back_revisions(
    workflow: Workflow, later_revisions: Sequence[Revision]
) -> Iterator[DraftStore]:
    """Provide the draft as it was before these revisions; leaving the block restores the current draft."""
    header = {name: getattr(workflow, name) for name in HEADER_FIELDS}
    try:
        with transaction.atomic():
            store = DraftStore(workflow)
            for revision in reversed(later_revisions):
                apply_all(store, read_log(revision.inverse))
            yield store
            raise _RollBack
    except _RollBack:
        pass
    finally:
        for name, value in header.items():
            setattr(workflow, name, value)


def _build_whole_list(store: DraftStore, op: Op) -> Op | None:
    """Return an operation that sets the outermost list around a changed item as the author left it, or None."""
    if not isinstance(op, Set | Feature):
        return None
    index_position = next((i for i, step in enumerate(op.path) if isinstance(step, int)), None)
    if not index_position:
        return None
    path = op.path[:index_position]
    if isinstance(op, Feature):
        return Feature(path, get_value(store.get_features(), path), ChangeRule.PUT)
    item = store.get_item(op.id)
    return None if item is None else Set(op.id, path, get_value(item.data, path), ChangeRule.PUT)


def _apply_choices(
    ops: Sequence[Op],
    replay: _Replay,
    rebased: Rebased,
    later_revisions: Sequence[Revision],
    choices: Mapping[int, str],
) -> list[Op]:
    """Return the operations that still apply, and those in conflict whose author's value was chosen.

    Raises EditConflict with the undecided conflicts.
    """
    origins = replay.performed.origins
    conflicts: dict[int, Conflict] = {}
    for conflict in rebased.conflicts:
        index = origins[conflict.op]
        conflicts.setdefault(index, replace(conflict, op=index))
    undecided = [conflict for index, conflict in conflicts.items() if index not in choices]
    if undecided:
        raise EditConflict(undecided)
    applicable = {origins[index] for index in rebased.origins}
    result: list[Op] = []
    for index, op in enumerate(ops):
        if index in conflicts:
            if choices[index] == "mine":
                whole_list = replay.lists.get(index)
                result += build_override(op, conflicts[index], whole_list, later_revisions)
        elif index in applicable:
            result.append(op)
    return result


def build_override(
    op: Op, conflict: Conflict, whole_list: Op | None, later_revisions: Sequence[Revision]
) -> list[Op]:
    """Return the operations that enforce the author's value.

    A list whose items have moved is replaced by the author's ``whole_list``. A deleted node is restored first.
    """
    restore_ops = (
        _build_restore_ops(conflict.node, later_revisions)
        if conflict.theirs == GONE and conflict.node
        else []
    )
    return [*restore_ops, whole_list if conflict.shifts and whole_list is not None else op]


def _build_restore_ops(node: str, later_revisions: Sequence[Revision]) -> list[Op]:
    """Return the operations that add a node again with its edges, from the inverse of its latest deletion."""
    for revision in reversed(later_revisions):
        inverse = read_log(revision.inverse)
        if any(isinstance(op, Add) and op.item.id == node for op in inverse):
            return [
                op
                for op in inverse
                if (isinstance(op, Add) and op.item.id == node)
                or (isinstance(op, Connect) and node in (op.edge.source, op.edge.target))
            ]
    return []
