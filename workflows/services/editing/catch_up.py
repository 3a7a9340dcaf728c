"""What happened to a draft since a revision, for an editor that was away."""

from dataclasses import dataclass

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.models import Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import drawn
from workflows.services.editing.rows import Rows
from workflows.services.editing.undo_stacks import Stacks, stacks_of


MOST = 200


@dataclass(frozen=True, slots=True)
class Since:
    """``reload``: operations don't tell it all; the draft is to be loaded anew."""

    revision: int
    changes: tuple[Change, ...] = ()
    reload: bool = False


def undoable(principal: Principal, *, workflow: Workflow) -> Stacks:
    """What this principal could undo and redo now."""
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        return stacks_of(workflow, principal.actor)


def changes_after(principal: Principal, *, workflow: Workflow, after: int) -> Since:
    """In order. What a later one of them touched again is drawn with the later one alone."""
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        current = Workflow.objects.unscoped().get(pk=workflow.pk)
        found = log.after(current, after, MOST)
        if found is None:
            return Since(current.revision, reload=True)
        stacks = stacks_of(current, principal.actor)
        changes = [Change(current, each, stacks.undo_label, stacks.redo_label) for each in found]
        if any(change.touched.everything for change in changes):
            return Since(current.revision, reload=True)
        store = Rows(current)
        store.prefetch(id_ for change in changes for id_ in change.touched.nodes)
        return Since(current.revision, tuple(_drawn_once(store, changes)))


def revision_now(principal: Principal, *, workflow: Workflow) -> int:
    permissions.check_view(principal, workflow)
    return (
        Workflow.objects.visible_to(principal)
        .values_list("revision", flat=True)
        .get(pk=workflow.pk)
    )


def _drawn_once(store: Rows, changes: list[Change]) -> list[Change]:
    seen: set[str] = set()
    told: list[Change] = []
    for change in reversed(changes):
        nodes = [id_ for id_ in change.touched.nodes if id_ not in seen]
        edges = [id_ for id_ in change.touched.edges if id_ not in seen]
        seen.update(nodes, edges)
        items = tuple(item for id_ in nodes if (item := store.item(id_)) is not None)
        wires = tuple(wire for id_ in edges if (wire := store.wire(id_)) is not None)
        told.append(drawn(store, change, items, wires) if items or wires else change)
    told.reverse()
    return told
