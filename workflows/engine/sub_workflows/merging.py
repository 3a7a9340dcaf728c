"""Merged workflows: an agent names them, and calls their functions as ``workflow.function``.

The run of a workflow with merged ones keeps its memory in a stream of its own, which none of them reads alone.
"""

from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Document, Json, NodeSpec


AGENT: Final = "agent"
FIELD: Final = "merge"


def list_merged(document: Document) -> tuple[str, ...]:
    """Return the slugs or ids of the workflows that the document's agents merge, each once, in their order."""
    slugs = (slug for node in document.nodes for slug in list_merged_by(node))
    return tuple(dict.fromkeys(slugs))


def list_merged_by(node: NodeSpec) -> tuple[str, ...]:
    """Return the slugs or ids of the workflows that the node merges; none if it is not an agent."""
    value = node.data.get(FIELD) if node.kind == AGENT else None
    items = value if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(item.strip() for item in items if _is_slug(item)))


def add_merged_names(document: Document, system: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the system variables with the names of the merged workflows, unless the caller has chosen the stream."""
    merged, own = list_merged(document), system.get("workflow_id")
    if not merged or not own or system.get("stream_name") or system.get("workflow_names"):
        return system
    return {**system, "workflow_names": [own, *merged]}


def _is_slug(item: Json) -> bool:
    return isinstance(item, str) and bool(item.strip())
