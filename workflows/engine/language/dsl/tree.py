"""Small tools readers and writers share."""

from collections.abc import Mapping

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.dsl.loaded import text_or, without


def canvas_type(kind: str) -> str:
    """Return Dify's outer type of a node, which is for its canvas only."""
    return f"custom-{kind}" if kind in ENTRY_KINDS else "custom"


def node_data(node: NodeSpec) -> dict[str, Json]:
    """The node's data with its kind and title in it, as every dialect wants them."""
    data = dict(node.data)
    if data.get("type") != node.kind:
        data = {"type": node.kind, **without(data, "type")}  # first, for who reads the file
    if text_or(data.get("title")) != node.title:
        data["title"] = node.title
    return data


def merged(tree: Mapping[str, Json], extra: Mapping[str, Json]) -> dict[str, Json]:
    """What was read and not understood wins: it says the same thing as the author did."""
    return {**tree, **extra}
