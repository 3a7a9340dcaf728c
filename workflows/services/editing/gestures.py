"""Edit a draft by operations. A gesture in the editor is one edit, which is one transaction and one revision."""

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
from workflows.engine.language.dsl.limits import MAX_BYTES, measure_tree
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
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.operation_context import build_context
from workflows.services.editing.rebase import rebase_ops
from workflows.services.editing.undo_stacks import build_stacks, build_stacks_after_edit
from workflows.services.editor import draft_rows, drafts


Choice = Literal["mine", "theirs"]

# Characters. A longer paste contains so many ids that the whole draft is read at once.
LARGE_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Edit:
    """A performed edit that is not recorded yet. ``base_revision`` is the one its author saw, None for the current."""

    store: DraftStore
    result: EditResult
    label: str = ""
    base_revision: int | None = None
    kind: RevisionKind = RevisionKind.EDIT
    undoes: int | None = None


def edit(
    principal: Principal,
    *,
    workflow: Workflow,
    ops: Sequence[Op],
    base_revision: int | None = None,
    idempotency_key: str | None = None,
    label: str = "",
    client: str = "",
    choices: Mapping[int, Choice] | None = None,
) -> Change:
    """Perform the operations on the draft as it is now.

    ``base_revision`` is the one that the author saw; an older one is rebased. ``choices`` decide conflicts by operation
    index. Raises EditConflict with the undecided conflicts, EditRefused for operations that can't be performed.
    """

    def perform_ops(locked: Workflow) -> Edit | None:
        base = locked.revision if base_revision is None else base_revision
        _check_base(locked, base)
        rebased_ops = rebase_ops(
            principal, locked, ops, base_revision=base, client=client, choices=choices or {}
        )
        store = open_store(locked, rebased_ops)
        result = perform(store, rebased_ops, build_context(), grows=True)
        return Edit(store, result, label, base) if result.ops else None

    return edit_once(
        principal, workflow, perform_ops, client=client, idempotency_key=idempotency_key
    )


def edit_once(
    principal: Principal,
    workflow: Workflow,
    perform_edit: Callable[[Workflow], Edit | None],
    *,
    client: str,
    idempotency_key: str | None,
) -> Change:
    """Perform an edit of the locked draft as one revision. Repeating an ``idempotency_key`` returns the same change.

    ``perform_edit`` returns None if it would change nothing. Raises EditRefused if the draft becomes too large.
    """
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := _find_recorded(principal, locked, idempotency_key)) is not None:
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
            base_revision=performed.base_revision,
            client=client,
            idempotency_key=idempotency_key,
            kind=performed.kind,
            undoes=performed.undoes,
            changed=sorted(performed.store.header_dirty),
        )
        detail = {"revision": revision.number, "operations": len(performed.result.ops)}
        audit_lines.record(principal, locked, "workflow.changed", **detail)
        return build_change(principal, locked, revision, performed.store)


def open_store(workflow: Workflow, ops: Sequence[Op]) -> DraftStore:
    """Return a store of the draft, with the parts that the operations name read in few statements."""
    store = DraftStore(workflow)
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
    principal: Principal,
    workflow: Workflow,
    revision: Revision | None,
    store: DraftStore | None = None,
) -> Change:
    """Return the change with its parts as they are now. ``store`` performed it, None if it was recorded earlier."""
    if store is not None and revision is not None and revision.kind == RevisionKind.EDIT:
        stacks = build_stacks_after_edit(revision)
    else:
        stacks = build_stacks(workflow, principal.actor)
    store = store or DraftStore(workflow)
    change = Change(workflow, revision, stacks.undo_label, stacks.redo_label)
    touched = change.touched_parts
    store.prefetch(touched.nodes)
    items, edges = store.find_items(touched.nodes), store.find_edges(touched.edges)
    return attach_parts(store, change, items, edges)


def attach_parts(
    store: DraftStore, change: Change, items: tuple[Item, ...], edges: tuple[EdgeRecord, ...]
) -> Change:
    """Return the change with these parts, and with the problems and pins that the editor shows on them."""
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


def _find_recorded(
    principal: Principal, workflow: Workflow, idempotency_key: str | None
) -> Revision | None:
    """Return the revision with this key, or None. A client that missed the response repeats its request."""
    if not idempotency_key:
        return None
    revision = log.list_revisions(workflow).filter(key=idempotency_key).first()
    if revision is not None and revision.actor != principal.actor:
        raise InvalidValue(_("This idempotency key was used by someone else."), field="key")
    return revision


def _check_base(workflow: Workflow, base: int) -> None:
    if base > workflow.revision:
        message = f"The draft is at revision {workflow.revision}; revision {base} doesn't exist yet"
        raise EditRefused((Problem("edit.base", message, field="base"),))


def _list_problems(store: DraftStore, items: Iterable[Item]) -> tuple[Problem, ...]:
    """Return the problems in the configuration of these nodes, without those that concern the whole graph.

    References, paths and cycles are checked by ``drafts.validate_draft``, which reads the whole draft.
    """
    nodes = tuple(build_node(item) for item in items if not item.is_note)
    document = Document(Mode(store.workflow.mode), nodes, ())
    return tuple(find_configuration_problems(document, load_kinds()))


def check_size(store: DraftStore) -> None:
    """Raise EditRefused if the flushed draft is too large to be read as a snapshot or an export, and set its new size.

    The workflow stores an upper bound of the draft's size, to which each edit adds its growth. Only a draft whose bound
    exceeds the limit is read and measured. An edit that doesn't grow the draft always passes, so that it can be
    shortened.
    """
    previous_bound = store.workflow.most_characters
    if not store.growth and previous_bound is not None:
        return
    bound = None if previous_bound is None else max(previous_bound + store.growth, 0)
    if store.has_grown and (bound is None or bound > MAX_BYTES):
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
