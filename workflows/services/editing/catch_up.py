"""Read the changes of a draft since a revision, for an editor that was disconnected."""

from dataclasses import dataclass

from accounts.access import Principal
from accounts.tenancy import reading
from workflows import permissions
from workflows.models import Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.gestures import attach_parts
from workflows.services.editing.undo_stacks import UndoStacks, build_stacks


MAX_CHANGES = 200


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """The changes since a revision. If ``reload`` is true, they are not listed and the draft must be loaded again."""

    revision: int
    changes: tuple[Change, ...] = ()
    reload: bool = False


def get_undo_stacks(principal: Principal, *, workflow: Workflow) -> UndoStacks:
    """Return the principal's own edits that can be undone and redone now."""
    permissions.check_view(principal, workflow)
    with reading([workflow.team_id]):
        return build_stacks(workflow, principal.actor)


def list_changes(principal: Principal, *, workflow: Workflow, after: int) -> ChangesSince:
    """Return the changes after a revision, in order. A part that several of them touched is attached to the last one.

    ``reload`` is true instead if there are more than MAX_CHANGES changes, or if one replaced the whole draft.
    """
    permissions.check_view(principal, workflow)
    with reading([workflow.team_id]):
        current = Workflow.objects.unscoped().get(pk=workflow.pk)
        revisions = log.list_revisions_after(current, after, MAX_CHANGES)
        if revisions is None:
            return ChangesSince(current.revision, reload=True)
        stacks = build_stacks(current, principal.actor)
        changes = [
            Change(current, revision, stacks.undo_label, stacks.redo_label)
            for revision in revisions
        ]
        if any(change.touched_parts.is_replaced for change in changes):
            return ChangesSince(current.revision, reload=True)
        store = DraftStore(current)
        store.prefetch(id_ for change in changes for id_ in change.touched_parts.nodes)
        return ChangesSince(current.revision, tuple(_attach_each_part_once(store, changes)))


def get_revision_number(principal: Principal, *, workflow: Workflow) -> int:
    """Return the draft's revision as it is in the database now."""
    permissions.check_view(principal, workflow)
    rows = Workflow.objects.visible_to(principal).values_list("revision", flat=True)
    return rows.get(pk=workflow.pk)


def _attach_each_part_once(store: DraftStore, changes: list[Change]) -> list[Change]:
    attached: set[str] = set()
    changes_with_parts: list[Change] = []
    for change in reversed(changes):
        touched = change.touched_parts
        nodes = store.find_items(id_ for id_ in touched.nodes if id_ not in attached)
        edges = store.find_edges(id_ for id_ in touched.edges if id_ not in attached)
        attached.update(touched.nodes, touched.edges)
        changes_with_parts.append(
            attach_parts(store, change, nodes, edges) if nodes or edges else change
        )
    changes_with_parts.reverse()
    return changes_with_parts
