"""Nodes and edges by their ids, as the draft has them now: for an editor that showed them otherwise too soon."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.models import Workflow
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import drawn
from workflows.services.editing.rows import Rows


MOST = 100  # ids asked for at once


@dataclass(frozen=True, slots=True)
class Parts:
    now: Change
    gone: tuple[str, ...]


def parts_of(principal: Principal, workflow: Workflow, ids: Sequence[str]) -> Parts:
    """With what goes along when one is deleted: a node's edges, and what lies in a container."""
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        store = Rows(workflow)
        store.prefetch((), around=ids)
        items = {item.id: item for id_ in ids if (item := store.item(id_)) is not None}
        inside = list(items)
        while inside:
            found = [child for id_ in inside for child in store.children(id_)]
            inside = [child.id for child in found if child.id not in items]
            items |= {child.id: child for child in found}
        wires = {wire.id: wire for id_ in items for wire in store.wires_at(id_)}
        wires |= {id_: wire for id_ in ids if (wire := store.wire(id_)) is not None}
        gone = tuple(id_ for id_ in ids if id_ not in items and id_ not in wires)
        now = drawn(store, Change(workflow, None), tuple(items.values()), tuple(wires.values()))
        return Parts(now, gone)
