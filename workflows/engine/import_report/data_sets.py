"""The data sets of another installation that a node names, and the knowledge bases that were bases for them."""

from collections.abc import Callable, Iterable
from typing import Final

from workflows.engine.language.document import Json, NodeSpec


KNOWLEDGE_RETRIEVAL: Final = "knowledge-retrieval"
DATA_SETS: Final = "dataset_ids"  # of Dify
KNOWLEDGE_BASES: Final = "knowledge_bases"  # the texts of namespaces

FindKnowledgeBase = Callable[[str], str]  # of a data set, or ""


def list_data_sets(node: NodeSpec) -> list[str]:
    """Return the ids of the data sets that a node searched in the installation that it comes from."""
    return _list_texts(node, DATA_SETS)


def list_knowledge_bases(node: NodeSpec) -> list[str]:
    return _list_texts(node, KNOWLEDGE_BASES)


def has_knowledge_base_for(node: NodeSpec, data_set: str, find: FindKnowledgeBase) -> bool:
    """Return whether a knowledge base was bases for the data set: its own, or one that is for no other data set."""
    bases = set(list_knowledge_bases(node))
    other_bases = {find(other) for other in list_data_sets(node) if other != data_set}
    return find(data_set) in bases or not bases <= other_bases


def arrange_knowledge_bases(
    node: NodeSpec, new: Iterable[str], find: FindKnowledgeBase
) -> list[Json]:
    """Return the node's knowledge bases and these, each once: in the order of its data sets, then the other_bases."""
    bases = dict.fromkeys((*list_knowledge_bases(node), *new))
    ordered = [name for name in map(find, list_data_sets(node)) if name in bases]
    return [*dict.fromkeys((*ordered, *bases))]


def _list_texts(node: NodeSpec, setting: str) -> list[str]:
    values = node.data.get(setting)
    if node.kind != KNOWLEDGE_RETRIEVAL or not isinstance(values, list | tuple):
        return []
    return [*dict.fromkeys(map(str, values))]
