"""Builds the parts of a document's tree that both dialects have."""

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import Json, NodeSpec, Note
from workflows.engine.language.dsl.reading import drop_keys, get_text


def get_canvas_type(kind: str) -> str:
    """Return the type that Dify's canvas gives to a node of the kind."""
    return f"custom-{kind}" if kind in ENTRY_KINDS else "custom"


def build_node_data(node: NodeSpec) -> dict[str, Json]:
    """Return the node's data with its kind and title, as every dialect needs them."""
    data = dict(node.data)
    if data.get("type") != node.kind:
        data = {"type": node.kind, **drop_keys(data, "type")}  # first, for readers of the file
    if get_text(data.get("title")) != node.title:
        data["title"] = node.title
    return data


def build_size(part: NodeSpec | Note) -> dict[str, Json]:
    """Return the width and the height, if the document has them."""
    size = {"width": part.width, "height": part.height}
    return {name: value for name, value in size.items() if value is not None}
