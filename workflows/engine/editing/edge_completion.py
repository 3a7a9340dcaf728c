"""Completes an edge with its id and the data that Dify's canvas stores about its ends."""

from collections.abc import Mapping
from dataclasses import replace

from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import build_markers
from workflows.engine.editing.records import EdgeRecord
from workflows.engine.editing.store import Store
from workflows.engine.language.containers import CONTENT_MARKERS
from workflows.engine.language.document import Json


def complete_edge(store: Store, edge: EdgeRecord) -> EdgeRecord:
    """Return the edge with the data about its ends, and with an id unless it has one."""
    # Built as Dify builds it, so that the same edge drawn by two members has one id.
    id_ = base_id = f"{edge.source}-{edge.handle}-{edge.target}-{edge.target_handle}"
    number = 2
    while not edge.id and store.get_edge(id_) is not None:
        id_, number = f"{base_id}-{number}", number + 1
    source, target = require_item(store, edge.source), require_item(store, edge.target)
    parent = store.get_item(source.parent) if source.parent else None
    previous = edge.extra.get("data")
    data: dict[str, Json] = dict(previous) if isinstance(previous, Mapping) else {}
    data = {name: value for name, value in data.items() if name not in CONTENT_MARKERS}
    data |= {"sourceType": source.kind, "targetType": target.kind, **build_markers(parent)}
    return replace(edge, id=edge.id or id_, extra={**edge.extra, "data": data})
