"""Finds the knowledge bases and the reranking models that a document names and the team lacks."""

from collections.abc import Iterator
from uuid import UUID

from workflows import memory_app
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.memory_usage import (
    KNOWLEDGE_FIELD,
    list_knowledge_bases,
    read_knowledge_bases,
)
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.memory.knowledge.config import read_rerank_model
from workflows.llm.config import normalize_name
from workflows.llm.directory import ModelDirectory
from workflows.services.models.mappings import join_name


RERANK_FIELD = "multiple_retrieval_config.reranking_model"


def find_knowledge_problems(
    team_id: UUID, directory: ModelDirectory | None, document: Document
) -> Iterator[Problem]:
    """Yield a warning for each node whose knowledge base doesn't exist, or whose reranking model is not connected.

    A run goes on without them, and its step says so.
    """
    namespaces = list_knowledge_bases(document)
    missing = (
        memory_app.list_missing_bases(team_id, namespaces)
        if namespaces and memory_app.is_on()
        else ()
    )
    for node in document.nodes:
        for namespace in read_knowledge_bases(node.data):
            if namespace in missing:
                message = f"The knowledge base {namespace[:100]} does not exist; choose another one"
                yield build_warning("knowledge.missing", message, node.id, KNOWLEDGE_FIELD)
        yield from _find_rerank_problems(node, directory)


def _find_rerank_problems(node: NodeSpec, directory: ModelDirectory | None) -> Iterator[Problem]:
    reference = read_rerank_model(node)
    if reference is None or directory is None or directory.find_reranker(*reference) is not None:
        return
    name = join_name(normalize_name(reference[0]), reference[1])[:200]
    if not reference[1]:
        message = "No reranking model is chosen; the order by words and meaning is kept"
    else:
        message = (
            f"The reranking model {name} is not connected; the order by words and meaning is kept"
        )
    yield build_warning("rerank.missing", message, node.id, RERANK_FIELD)
