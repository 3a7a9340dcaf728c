"""One gesture: one transaction, one revision. The door for every edit of a draft by operations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.editing import EditRefused, Op, Performed, perform
from workflows.engine.editing.ops import Delete, Paste, Reparent, Tidy, Variable
from workflows.engine.editing.records import Item, Wire
from workflows.engine.language.problems import Problem
from workflows.errors import InvalidValue
from workflows.models import Pin, Revision, Workflow
from workflows.models.editing import RevisionKind
from workflows.services import audit_lines
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.operation_context import context
from workflows.services.editing.rebase import fitted
from workflows.services.editing.rows import Rows
from workflows.services.editing.sizes import check_size
from workflows.services.editing.undo_stacks import after_edit, stacks_of
from workflows.services.editing.validation import problems_of
from workflows.services.editor import drafts


Choice = Literal["mine", "theirs"]

LARGE_TEXT = 20_000  # a paste this long looks for so many ids that the draft is read at once


def edit(
    principal: Principal,
    *,
    workflow: Workflow,
    ops: Sequence[Op],
    base: int | None = None,
    key: str | None = None,
    label: str = "",
    client: str = "",
    resolve: Mapping[int, Choice] | None = None,
) -> Change:
    """Do what is asked, on the draft as it is now.

    A stale ``base`` is rebased; a clash raises EditClash unless ``resolve`` says whose holds. The same
    ``key`` again does nothing and gets the same answer. Raises EditRefused for what can't be done.
    """
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := done_before(principal, locked, key)) is not None:
            return answer(principal, locked, earlier)
        since = locked.revision if base is None else base
        _check_base(locked, since)
        wanted = fitted(principal, locked, ops, since, client, resolve or {})
        store = prepared(locked, wanted)
        performed = perform(store, wanted, context(), grows=True)
        if not performed.ops:
            return answer(principal, locked, None)
        revision = keep(
            principal, locked, store, performed, base=since, key=key, label=label, client=client
        )
        return answer(principal, locked, revision, store)


def prepared(workflow: Workflow, ops: Sequence[Op]) -> Rows:
    """The store, with what the operations name read in few statements."""
    store = Rows(workflow)
    whole = any(
        (isinstance(op, Tidy) and not op.ids)
        or (isinstance(op, Paste) and len(op.text) > LARGE_TEXT)
        for op in ops
    )
    if whole:
        store.load_all()
        return store
    near = [op.id for op in ops if isinstance(op, Delete | Reparent)]
    near += [id_ for op in ops if isinstance(op, Tidy) for id_ in op.ids]
    named = [op.id for op in ops if not isinstance(op, Variable) and hasattr(op, "id")]
    if len(named) + len(near) > 1:
        store.prefetch(named, around=near)
    return store


def keep(
    principal: Principal,
    workflow: Workflow,
    store: Rows,
    performed: Performed,
    **about: object,
) -> Revision:
    """Write the rows, the log and the audit line. Raises EditRefused where the draft becomes too large."""
    store.flush()
    check_size(store)
    revision = log.record(
        principal,
        workflow,
        ops=performed.ops,
        inverse=performed.inverse,
        changed=sorted(store.header_dirty),
        **about,  # type: ignore[arg-type]  # as ``record`` takes them
    )
    audit_lines.note(
        principal,
        workflow,
        "workflow.changed",
        revision=revision.number,
        operations=len(performed.ops),
    )
    return revision


def done_before(principal: Principal, workflow: Workflow, key: str | None) -> Revision | None:
    """What was done under this key: a client whose answer was lost asks again."""
    if not key:
        return None
    found = log.revisions(workflow).filter(key=key).first()
    if found is not None and found.actor != principal.actor:
        raise InvalidValue(_("This idempotency key was used by someone else."), field="key")
    return found


def answer(
    principal: Principal, workflow: Workflow, revision: Revision | None, store: Rows | None = None
) -> Change:
    if store is not None and revision is not None and revision.kind == RevisionKind.EDIT:
        stacks = after_edit(revision)
    else:
        stacks = stacks_of(workflow, principal.actor)
    return looked_at(
        store or Rows(workflow),
        Change(workflow, revision, stacks.undo_label, stacks.redo_label),
    )


def looked_at(store: Rows, change: Change) -> Change:
    """With what it touched as it is now, and what is wrong there."""
    touched = change.touched
    store.prefetch(touched.nodes)
    items = tuple(item for id_ in touched.nodes if (item := store.item(id_)) is not None)
    wires = tuple(wire for id_ in touched.edges if (wire := store.wire(id_)) is not None)
    return drawn(store, change, items, wires)


def drawn(store: Rows, change: Change, items: tuple[Item, ...], wires: tuple[Wire, ...]) -> Change:
    """With these, and what else a card shows."""
    problems = problems_of(store, items)
    checked = tuple(item.id for item in items if not item.is_note)
    pins = Pin.objects.unscoped().filter(workflow=change.workflow, node_key__in=checked).order_by()
    return replace(
        change,
        items=items,
        wires=wires,
        problems=problems,
        checked=checked,
        pinned=tuple(pins.values_list("node_key", flat=True)) if checked else (),
    )


def _check_base(workflow: Workflow, base: int) -> None:
    if base > workflow.revision:
        message = f"The draft is at revision {workflow.revision}; revision {base} doesn't exist yet"
        raise EditRefused((Problem("edit.base", message, field="base"),))
