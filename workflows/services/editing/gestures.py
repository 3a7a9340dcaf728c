"""Gestures: every edit of a draft by operations, each as one transaction and one revision."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.editing import EditRefused, EditResult, Op, perform
from workflows.engine.editing.errors import build_refusal
from workflows.engine.editing.ops import Delete, Paste, Reparent, Tidy, Variable
from workflows.engine.editing.records import EdgeRecord, Item, build_node
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.dsl.strict import MAX_BYTES, measure_tree
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation.configuration import find_configuration_problems
from workflows.errors import InvalidValue
from workflows.execution.kinds import load_kinds
from workflows.models import Pin, Revision, Workflow
from workflows.models.documents import to_json
from workflows.models.editing import RevisionKind
from workflows.services import audit_lines
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.operation_context import build_context
from workflows.services.editing.rebase import rebase_ops
from workflows.services.editing.rows import Rows
from workflows.services.editing.undo_stacks import build_stacks, build_stacks_after_edit
from workflows.services.editor import draft_rows, drafts


Choice = Literal["mine", "theirs"]

# Characters. A longer paste contains so many ids that the whole draft is read at once.
LARGE_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Edit:
    """A performed edit, to be written and recorded. ``base``: the revision that its author saw, if it is not the last."""

    store: Rows
    result: EditResult
    label: str = ""
    base: int | None = None
    kind: RevisionKind = RevisionKind.EDIT
    undoes: int | None = None


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
    """Perform the operations on the draft as it is now.

    An older ``base`` is rebased; a conflict raises EditConflict unless ``resolve`` decides it. Repeating a ``key`` does
    nothing and returns the same change. Raises EditRefused for operations that can't be performed.
    """

    def perform_ops(locked: Workflow) -> Edit | None:
        since = locked.revision if base is None else base
        _check_base(locked, since)
        rebased_ops = rebase_ops(
            principal, locked, ops, base=since, client=client, resolve=resolve or {}
        )
        store = open_store(locked, rebased_ops)
        result = perform(store, rebased_ops, build_context(), grows=True)
        return Edit(store, result, label, since) if result.ops else None

    return edit_once(principal, workflow, perform_ops, client=client, key=key)


def edit_once(
    principal: Principal,
    workflow: Workflow,
    perform_edit: Callable[[Workflow], Edit | None],
    *,
    client: str,
    key: str | None,
) -> Change:
    """Perform an edit of the locked draft as one revision. Repeating a ``key`` returns the recorded change.

    ``perform_edit`` returns None if the draft is in that state already. Raises EditRefused if the draft becomes too
    large.
    """
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := _find_previous(principal, locked, key)) is not None:
            return build_change(principal, locked, earlier)
        performed = perform_edit(locked)
        if performed is None:
            return build_change(principal, locked, None)
        performed.store.flush()
        check_size(performed.store)
        revision = log.record(
            principal,
            locked,
            ops=performed.result.ops,
            inverse=performed.result.inverse,
            label=performed.label,
            base=performed.base,
            client=client,
            key=key,
            kind=performed.kind,
            undoes=performed.undoes,
            changed=sorted(performed.store.header_dirty),
        )
        detail = {"revision": revision.number, "operations": len(performed.result.ops)}
        audit_lines.note(principal, locked, "workflow.changed", **detail)
        return build_change(principal, locked, revision, performed.store)


def open_store(workflow: Workflow, ops: Sequence[Op]) -> Rows:
    """Return the store with the parts named by the operations preloaded in few statements."""
    store = Rows(workflow)
    needs_all = any(
        (isinstance(op, Tidy) and not op.ids)
        or (isinstance(op, Paste) and len(op.text) > LARGE_TEXT)
        for op in ops
    )
    if needs_all:
        store.load_all()
        return store
    container_ids = [op.id for op in ops if isinstance(op, Delete | Reparent)]
    container_ids += [id_ for op in ops if isinstance(op, Tidy) for id_ in op.ids]
    ids = [op.id for op in ops if not isinstance(op, Variable) and hasattr(op, "id")]
    if len(ids) + len(container_ids) > 1:
        store.prefetch(ids, around=container_ids)
    return store


def build_change(
    principal: Principal, workflow: Workflow, revision: Revision | None, store: Rows | None = None
) -> Change:
    """Return the change with the parts that it touched as they are now, their problems, and what can be undone next."""
    if store is not None and revision is not None and revision.kind == RevisionKind.EDIT:
        stacks = build_stacks_after_edit(revision)
    else:
        stacks = build_stacks(workflow, principal.actor)
    store = store or Rows(workflow)
    change = Change(workflow, revision, stacks.undo_label, stacks.redo_label)
    touched = change.touched_parts
    store.prefetch(touched.nodes)
    items, edges = store.find_items(touched.nodes), store.find_edges(touched.edges)
    return attach_parts(store, change, items, edges)


def attach_parts(
    store: Rows, change: Change, items: tuple[Item, ...], edges: tuple[EdgeRecord, ...]
) -> Change:
    """Return the change with these parts and the other data that their cards show."""
    checked = tuple(item.id for item in items if not item.is_note)
    pins = Pin.objects.unscoped().filter(workflow=change.workflow, node_key__in=checked).order_by()
    return replace(
        change,
        items=items,
        edges=edges,
        problems=_list_problems(store, items),
        checked=checked,
        pinned=tuple(pins.values_list("node_key", flat=True)) if checked else (),
    )


def _find_previous(principal: Principal, workflow: Workflow, key: str | None) -> Revision | None:
    """Return the revision recorded under this key: a client that missed the response repeats its request."""
    if not key:
        return None
    revision = log.list_revisions(workflow).filter(key=key).first()
    if revision is not None and revision.actor != principal.actor:
        raise InvalidValue(_("This idempotency key was used by someone else."), field="key")
    return revision


def _check_base(workflow: Workflow, base: int) -> None:
    if base > workflow.revision:
        message = f"The draft is at revision {workflow.revision}; revision {base} doesn't exist yet"
        raise EditRefused((Problem("edit.base", message, field="base"),))


def _list_problems(store: Rows, items: Iterable[Item]) -> tuple[Problem, ...]:
    """Check the configuration of these nodes, without reading the rest of the draft.

    Problems that concern the whole graph (references, paths, cycles) are in the full list, which
    has a separate route.
    """
    nodes = tuple(build_node(item) for item in items if not item.is_note)
    document = Document(Mode(store.workflow.mode), nodes, ())
    return tuple(find_configuration_problems(document, load_kinds()))


def check_size(store: Rows) -> None:
    """Raise EditRefused after a flush if the draft has grown too large to be read again as a snapshot or an export.

    The cost depends on the touched parts: the workflow stores an upper bound of its draft's size, to which an edit adds
    its growth, and only a draft that may be too large is serialized and counted. Changes that don't grow the draft
    always pass, so that it can be shortened.
    """
    previous_bound = store.workflow.most_characters
    if not store.growth and previous_bound is not None:
        return
    bound = None if previous_bound is None else max(previous_bound + store.growth, 0)
    if store.grown and (bound is None or bound > MAX_BYTES):
        bound = measure_tree(to_json(draft_rows.read_rows(store.workflow)))
        if bound > MAX_BYTES:
            message = (
                f"A workflow can have at most {MAX_BYTES:,} characters; with this change it would have {bound:,}. "
                "Shorten texts or remove something first"
            )
            raise build_refusal("too_large", message)
    if bound != previous_bound:
        store.workflow.most_characters = bound
        store.header_dirty.add("most_characters")
