"""What an edge carries besides its ends: an id of its own, and what Dify's canvas wants to know."""

from collections.abc import Mapping
from dataclasses import replace

from workflows.engine.editing.apply import item_at
from workflows.engine.editing.context import marks_of
from workflows.engine.editing.records import Wire
from workflows.engine.editing.store import Store
from workflows.engine.language.containers import INSIDE_MARKS
from workflows.engine.language.document import Json


def dressed(store: Store, wire: Wire) -> Wire:
    """With an id, and what Dify's canvas wants to know about the ends."""
    id_ = wire.id or edge_id(wire)
    if not wire.id:
        number = 2
        while store.wire(id_) is not None:
            id_, number = f"{edge_id(wire)}-{number}", number + 1
    source, target = item_at(store, wire.source), item_at(store, wire.target)
    parent = store.item(source.parent) if source.parent else None
    about = wire.extra.get("data")
    kept = {} if not isinstance(about, Mapping) else about
    data: dict[str, Json] = {name: v for name, v in kept.items() if name not in INSIDE_MARKS}
    data |= {"sourceType": source.kind, "targetType": target.kind, **marks_of(parent)}
    return replace(wire, id=id_, extra={**wire.extra, "data": data})


def edge_id(wire: Wire) -> str:
    """As Dify names them, so that two people who draw the same edge draw one."""
    return f"{wire.source}-{wire.handle}-{wire.target}-{wire.target_handle}"
