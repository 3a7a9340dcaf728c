"""Which nodes rank with a model, and where their settings name it."""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes.memory.knowledge.config import read_rerank_model
from workflows.engine.nodes.memory.memory_recall import MemoryRecall, read_recall_reranking


# The kind of a node → how its model is read, and the field that names it.
_READERS: Final[Mapping[str, tuple[Callable[[NodeSpec], tuple[str, str] | None], str]]] = {
    "knowledge-retrieval": (read_rerank_model, "multiple_retrieval_config.reranking_model"),
    MemoryRecall.name: (read_recall_reranking, "reranking.model"),
}


def find_reranker(node: NodeSpec) -> tuple[str, str] | None:
    """Return the provider and the name of the model that ranks in a node, both empty for the team's default; or None."""
    reader = _READERS.get(node.kind)
    return reader[0](node) if reader else None


def get_reranker_field(node: NodeSpec) -> str:
    """Return the path of the setting that names the model of a node with one."""
    return _READERS[node.kind][1]
