"""Completes an edge with its id and the data that Dify's canvas stores about its ends."""

from collections.abc import Mapping
from dataclasses import replace

from workflows.engine.editing.apply import require_item
from workflows.engine.editing.context import build_markers
from workflows.engine.editing.records import Wire
from workflows.engine.editing.store import Store
from workflows.engine.language.containers import INSIDE_MARKS
from workflows.engine.language.document import Json


def complete_edge(store: Store, wire: Wire) -> Wire:
    """Return the edge with an id and the data about its ends for Dify's canvas."""
    id_ = wire.id or build_edge_id(wire)
    if not wire.id:
        number = 2
        while store.get_wire(id_) is not None:
            id_, number = f"{build_edge_id(wire)}-{number}", number + 1
    source, target = require_item(store, wire.source), require_item(store, wire.target)
    parent = store.get_item(source.parent) if source.parent else None
    edge_data = wire.extra.get("data")
    known_data = {} if not isinstance(edge_data, Mapping) else edge_data
    data: dict[str, Json] = {name: v for name, v in known_data.items() if name not in INSIDE_MARKS}
    data |= {"sourceType": source.kind, "targetType": target.kind, **build_markers(parent)}
    return replace(wire, id=id_, extra={**wire.extra, "data": data})


def build_edge_id(wire: Wire) -> str:
    """Return the id as Dify builds it, so that the same edge drawn by two members has one id."""
    return f"{wire.source}-{wire.handle}-{wire.target}-{wire.target_handle}"
