"""A gesture that was made on an older draft, fitted to what others did since.

The draft is put back to what the author saw, inside a savepoint, to learn what exactly was meant
there; that is rebased over the others' operations. What holds is asked again on the draft as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.db import transaction

from accounts.access import Principal
from workflows.engine.editing import (
    Clash,
    EditRefused,
    Op,
    Performed,
    Rebased,
    apply_all,
    diff,
    perform,
    rebase,
)
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Add, Connect, Feature, How, Replace, Set
from workflows.engine.editing.paths import look
from workflows.engine.editing.rebase import GONE, Theirs, Who
from workflows.engine.language.problems import Problem
from workflows.errors import EditClash
from workflows.models import Revision, Snapshot, Workflow
from workflows.models.documents import from_json
from workflows.services.editing import log
from workflows.services.editing.changes import author_name
from workflows.services.editing.operation_context import context
from workflows.services.editing.rows import Rows


FARTHEST = 1_000  # revisions; whoever was away longer loads the draft anew


class _Back(Exception):
    """Leaves the savepoint."""


@dataclass(frozen=True, slots=True)
class _Meant:
    """What the gesture came to on the draft its author saw, and the lists it left there."""

    performed: Performed
    lists: Mapping[int, Op]


def fitted(
    principal: Principal,
    workflow: Workflow,
    ops: Sequence[Op],
    base: int,
    client: str,
    resolve: Mapping[int, str],
) -> list[Op]:
    """The operations to do on the draft as it is. Raises EditClash with what nobody has decided."""
    if base == workflow.revision:
        return list(ops)
    since = log.after(workflow, base, FARTHEST)
    if since is None:
        message = f"Revision {base} is too old; reload the draft"
        raise EditRefused((Problem("edit.base", message, field="base"),))
    theirs = _of_others(since, principal, client)
    if not theirs:
        return list(ops)
    meant = _meant(workflow, ops, theirs)
    # What this tab sent between theirs is no clash: what it had waiting was made in this order.
    others = [each for each in effective(theirs) if not _is_own(each, principal, client)]
    rebased = rebase(meant.performed.ops, their_ops(workflow, others))
    return _decided(ops, meant, rebased, theirs, resolve)


def effective(revisions: Sequence[Revision]) -> list[Revision]:
    """Without those that were taken back meanwhile, nor what took them back."""
    left: dict[int, Revision] = {}
    for revision in revisions:
        if revision.undoes is not None and revision.undoes in left:
            del left[revision.undoes]
        else:
            left[revision.number] = revision
    return list(left.values())


def their_ops(workflow: Workflow, revisions: Sequence[Revision]) -> list[Theirs]:
    return [
        Theirs(op, Who(author_name(revision), revision.author_id))
        for revision in revisions
        for op in unfolded(workflow, revision.ops, revision.inverse)
    ]


def unfolded(workflow: Workflow, ops: Sequence[object], inverse: Sequence[object]) -> Iterator[Op]:
    """Operations, where a whole document was put in as what that changed."""
    forth, back = read_log(ops), read_log(inverse)  # type: ignore[arg-type]  # the log's JSON
    formers = [op for op in reversed(back) if isinstance(op, Replace)]
    for op in forth:
        if not isinstance(op, Replace):
            yield op
            continue
        former = formers.pop(0)
        before, after = (_document(workflow, each.snapshot) for each in (former, op))
        yield from diff(before, after)


def _document(workflow: Workflow, digest: str):  # type: ignore[no-untyped-def]
    stored = Snapshot.objects.unscoped().get(team_id=workflow.team_id, hash=digest)
    return from_json(stored.document)


def _of_others(since: Sequence[Revision], principal: Principal, client: str) -> list[Revision]:
    """Without what this very tab did first: it knew of that, whatever base it named."""
    left = list(since)
    while left and _is_own(left[0], principal, client):
        left.pop(0)
    return left


def _is_own(revision: Revision, principal: Principal, client: str) -> bool:
    return bool(client) and (revision.client, revision.actor) == (client, principal.actor)


def _meant(workflow: Workflow, ops: Sequence[Op], theirs: Sequence[Revision]) -> _Meant:
    try:
        with _as_of(workflow, theirs) as store:
            return _tried(store, ops)
    except EditRefused:
        pass  # it names what came later, so its author knew of that
    with _as_of(workflow, ()) as store:
        return _tried(store, ops)


def _tried(store: Rows, ops: Sequence[Op]) -> _Meant:
    performed = perform(store, ops, context())
    lists = {
        index: whole
        for index, op in enumerate(ops)
        if (whole := _whole_list(store, op)) is not None
    }
    return _Meant(performed, lists)


@contextmanager
def _as_of(workflow: Workflow, theirs: Sequence[Revision]) -> Iterator[Rows]:
    """The draft before these revisions, as long as the block lasts."""
    former = {name: getattr(workflow, name) for name in _HEADER}
    try:
        with transaction.atomic():
            store = Rows(workflow)
            for revision in reversed(theirs):
                apply_all(store, read_log(revision.inverse))
            yield store
            raise _Back
    except _Back:
        pass
    finally:
        for name, value in former.items():
            setattr(workflow, name, value)


_HEADER = ("name", "description", "mode", "dialect", "dialect_version", "features", "extra")


def _whole_list(store: Rows, op: Op) -> Op | None:
    """For a change somewhere in a list: the outermost list as the author left it."""
    if not isinstance(op, Set | Feature):
        return None
    cut = next((i for i, step in enumerate(op.path) if isinstance(step, int)), None)
    if not cut:
        return None
    path = op.path[:cut]
    if isinstance(op, Feature):
        return Feature(path, look(store.features(), path), How.PUT)
    item = store.item(op.id)
    return None if item is None else Set(op.id, path, look(item.data, path), How.PUT)


def _decided(
    ops: Sequence[Op],
    meant: _Meant,
    rebased: Rebased,
    theirs: Sequence[Revision],
    resolve: Mapping[int, str],
) -> list[Op]:
    """Operations whose meaning holds, and of those that clash what the author has chosen."""
    origins = meant.performed.origins
    clashes: dict[int, Clash] = {}
    for clash in rebased.clashes:
        index = origins[clash.op]
        clashes.setdefault(index, replace(clash, op=index))
    open_ = [clash for index, clash in clashes.items() if index not in resolve]
    if open_:
        raise EditClash(open_)
    holding = {origins[index] for index in rebased.origins}
    wanted: list[Op] = []
    for index, op in enumerate(ops):
        if index in clashes:
            if resolve[index] == "mine":
                wanted += insisted(op, clashes[index], meant.lists.get(index), theirs)
        elif index in holding:
            wanted.append(op)
    return wanted


def insisted(op: Op, clash: Clash, whole: Op | None, theirs: Sequence[Revision]) -> list[Op]:
    """Mine: over a list that moved, the list as I left it; at a node that is gone, the node as well."""
    back = _brought_back(clash.node, theirs) if clash.theirs == GONE and clash.node else []
    return [*back, whole if clash.shifts and whole is not None else op]


def _brought_back(node: str, theirs: Sequence[Revision]) -> list[Op]:
    for revision in reversed(theirs):
        inverse = read_log(revision.inverse)
        if any(isinstance(op, Add) and op.item.id == node for op in inverse):
            return [
                op
                for op in inverse
                if (isinstance(op, Add) and op.item.id == node)
                or (isinstance(op, Connect) and node in (op.wire.source, op.wire.target))
            ]
    return []
