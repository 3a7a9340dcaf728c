"""Recognizes workflow files of other products, which would otherwise be read as documents without nodes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import build_rejection


Tree = Mapping[str, Json]


def check_format(tree: Tree) -> None:
    """Raise DocumentInvalid if the tree is a file of another product."""
    for product, is_of_product in _PRODUCTS:
        if is_of_product(tree):
            message = f"This is a file of {product}. Only documents of Dify and of Mnemoflow can be imported"
            raise build_rejection("foreign", message)


def _is_n8n(tree: Tree) -> bool:
    """Nodes of n8n have a type such as ``n8n-nodes-base.set``, and their edges are under ``connections``."""
    if not isinstance(tree.get("connections"), Mapping):
        return False
    return any(isinstance(node.get("type"), str) for node in _iter_nodes(tree))


def _is_flowise(tree: Tree) -> bool:
    """Nodes of Flowise list the classes they can be used as."""
    return any("baseClasses" in data or "inputParams" in data for data in _iter_node_data(tree))


def _is_langflow(tree: Tree) -> bool:
    """Langflow wraps the graph in ``data``, and each node carries its component's definition."""
    graph = tree.get("data")
    if not isinstance(graph, Mapping) or "workflow" in tree:
        return False
    return any("node" in data for data in _iter_node_data(graph))


def _iter_nodes(tree: Tree) -> Iterator[Tree]:
    nodes = tree.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, Mapping):
            yield node


def _iter_node_data(tree: Tree) -> Iterator[Tree]:
    for node in _iter_nodes(tree):
        data = node.get("data")
        if isinstance(data, Mapping):
            yield data


_PRODUCTS: Final[tuple[tuple[str, Callable[[Tree], bool]], ...]] = (
    ("n8n", _is_n8n),
    ("Flowise", _is_flowise),
    ("Langflow", _is_langflow),
)
