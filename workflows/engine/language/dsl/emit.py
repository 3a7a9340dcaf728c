"""Builds what the trees of both dialects have, and writes a tree as YAML text that every reader parses to the same values."""

import re
from typing import Any, Final

import yaml

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import EdgeSpec, Json, NodeSpec, Note
from workflows.engine.language.dsl.reading import drop_keys, get_text


# Strings that some YAML 1.1 or 1.2 reader parses as a number, a boolean or a merge key.
_AMBIGUOUS: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0[oOxXbB][0-9a-fA-F_]+"
    r"|[yYnN]|<<|=|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
)
# Strings that a literal block keeps exactly: plain lines, no trailing spaces, no unusual line ends.
_BLOCK: Final = re.compile(r"(?!\s)[^\t\r\x85\u2028\u2029\ufeff]*\n[^\t\r\x85\u2028\u2029\ufeff]*")


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


def build_ends(edge: EdgeSpec) -> dict[str, Json]:
    """Return the source and the target, without an end that the edge has lost."""
    ends = {"source": edge.source, "target": edge.target}
    return {name: end for name, end in ends.items() if end}


def to_yaml(tree: Json) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**30)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        # No aliases: our reader rejects them, and they are hard to read.
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if _AMBIGUOUS.fullmatch(text):
        style = "'"
    elif "\n" in text and _BLOCK.fullmatch(text) and not re.search(r" +(?:\n|$)", text):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
