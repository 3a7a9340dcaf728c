"""Read nodes and edges by their ids, for an editor whose optimistic change was rejected."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.access import Principal
from accounts.tenancy import reading
from workflows import permissions
from workflows.models import Workflow
from workflows.services.editing.changes import Change
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.gestures import attach_parts


MAX_IDS = 100  # per request


@dataclass(frozen=True, slots=True)
class Parts:
    """The current parts, attached to a change without a revision, and the requested ids that don't exist."""

    change: Change
    missing: tuple[str, ...]


def read_parts(principal: Principal, workflow: Workflow, ids: Sequence[str]) -> Parts:
    """Return the parts with these ids, the edges of the nodes and the content of the containers among them."""
    permissions.check_view(principal, workflow)
    with reading([workflow.team_id]):
        store = DraftStore(workflow)
        store.prefetch((), around=ids)
        items = {item.id: item for item in store.find_items(ids)}
        container_ids = list(items)
        while container_ids:
            children = [child for id_ in container_ids for child in store.list_children(id_)]
            container_ids = [child.id for child in children if child.id not in items]
            items |= {child.id: child for child in children}
        edges = {edge.id: edge for id_ in items for edge in store.list_node_edges(id_)}
        edges |= {edge.id: edge for edge in store.find_edges(ids)}
        missing = tuple(id_ for id_ in ids if id_ not in items and id_ not in edges)
        change = attach_parts(
            store, Change(workflow, None), tuple(items.values()), tuple(edges.values())
        )
        return Parts(change, missing)
