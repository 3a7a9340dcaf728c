"""Finds the knowledge bases and the reranking models that a document names and the team lacks."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from accounts.tenancy import reading
from workflows import memory_app
from workflows.engine.import_report.data_sets import has_knowledge_base_for, list_data_sets
from workflows.engine.import_report.rerankers import find_reranker, get_reranker_field
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.memory_usage import (
    KNOWLEDGE_FIELD,
    list_knowledge_bases,
    read_knowledge_bases,
)
from workflows.engine.language.problems import Problem, build_warning
from workflows.llm.config import normalize_name
from workflows.llm.directory import ModelDirectory
from workflows.models import KnowledgeMapping
from workflows.services.models.mappings import join_name


def find_knowledge_problems(
    team_id: UUID, directory: ModelDirectory | None, document: Document
) -> Iterator[Problem]:
    """Yield a warning for each knowledge base that doesn't exist, data set without one, and missing reranking model.

    A run goes on without them, and its step says so.
    """
    namespaces = list_knowledge_bases(document)
    missing = (
        memory_app.list_missing_bases(team_id, namespaces)
        if namespaces and memory_app.is_on()
        else ()
    )
    mappings = load_mappings(team_id, [*_iter_data_sets(document)])
    for node in document.nodes:
        yield from _find_data_set_problems(node, mappings)
        for namespace in read_knowledge_bases(node.data):
            if namespace in missing:
                message = f"The knowledge base {namespace[:100]} does not exist; choose another one"
                yield build_warning("knowledge.missing", message, node.id, KNOWLEDGE_FIELD)
        yield from _find_rerank_problems(node, directory)


def load_mappings(team_id: UUID, data_sets: Iterable[str]) -> Mapping[str, str]:
    """Return the knowledge base that the team has chosen for each of these data sets of other installations."""
    ids = list(dict.fromkeys(data_sets))
    if not ids:
        return {}
    with reading([team_id]):
        rows = KnowledgeMapping.objects.unscoped().filter(team_id=team_id, data_set__in=ids)
        return dict(rows.values_list("data_set", "knowledge_base"))


def _iter_data_sets(document: Document) -> Iterator[str]:
    for node in document.nodes:
        yield from list_data_sets(node)


def _find_data_set_problems(node: NodeSpec, mappings: Mapping[str, str]) -> Iterator[Problem]:
    for data_set in list_data_sets(node):
        if not has_knowledge_base_for(node, data_set, lambda each: mappings.get(each, each)):
            message = f"The knowledge base {data_set[:100]} of another installation is not here; choose one of yours"
            yield build_warning("knowledge.data_set", message, node.id, KNOWLEDGE_FIELD)


def _find_rerank_problems(node: NodeSpec, directory: ModelDirectory | None) -> Iterator[Problem]:
    reference = find_reranker(node)
    if reference is None or directory is None or directory.find_reranker(*reference) is not None:
        return
    name = join_name(normalize_name(reference[0]), reference[1])[:200]
    if not reference[1]:
        message = "No reranking model is chosen; the order by words and meaning is kept"
    else:
        message = (
            f"The reranking model {name} is not connected; the order by words and meaning is kept"
        )
    yield build_warning("rerank.missing", message, node.id, get_reranker_field(node))
