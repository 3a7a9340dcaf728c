"""The changes of a draft since a revision, for an editor that was disconnected."""

from dataclasses import dataclass

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.models import Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import attach_parts
from workflows.services.editing.rows import Rows
from workflows.services.editing.undo_stacks import Stacks, build_stacks


MOST = 200


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """The changes since a revision. ``reload``: the operations don't suffice; load the draft anew."""

    revision: int
    changes: tuple[Change, ...] = ()
    reload: bool = False


def get_undo_stacks(principal: Principal, *, workflow: Workflow) -> Stacks:
    """Return what this principal can undo and redo now."""
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        return build_stacks(workflow, principal.actor)


def list_changes(principal: Principal, *, workflow: Workflow, after: int) -> ChangesSince:
    """Return the changes after a revision, in order.

    A part that several of them touched is attached to the last of them alone.
    """
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        current = Workflow.objects.unscoped().get(pk=workflow.pk)
        revisions = log.list_revisions_after(current, after, MOST)
        if revisions is None:
            return ChangesSince(current.revision, reload=True)
        stacks = build_stacks(current, principal.actor)
        changes = [
            Change(current, revision, stacks.undo_label, stacks.redo_label)
            for revision in revisions
        ]
        if any(change.touched_parts.is_replaced for change in changes):
            return ChangesSince(current.revision, reload=True)
        store = Rows(current)
        store.prefetch(id_ for change in changes for id_ in change.touched_parts.nodes)
        return ChangesSince(current.revision, tuple(_attach_each_part_once(store, changes)))


def get_revision(principal: Principal, *, workflow: Workflow) -> int:
    permissions.check_view(principal, workflow)
    return (
        Workflow.objects.visible_to(principal)
        .values_list("revision", flat=True)
        .get(pk=workflow.pk)
    )


def _attach_each_part_once(store: Rows, changes: list[Change]) -> list[Change]:
    attached: set[str] = set()
    complete: list[Change] = []
    for change in reversed(changes):
        nodes = [id_ for id_ in change.touched_parts.nodes if id_ not in attached]
        edges = [id_ for id_ in change.touched_parts.edges if id_ not in attached]
        attached.update(nodes, edges)
        items = tuple(item for id_ in nodes if (item := store.get_item(id_)) is not None)
        wires = tuple(wire for id_ in edges if (wire := store.get_wire(id_)) is not None)
        complete.append(attach_parts(store, change, items, wires) if items or wires else change)
    complete.reverse()
    return complete
