"""Finds every problem of a document, each at its node, field or edge.

Errors keep a workflow from running; with warnings only it runs, but perhaps not as its author expects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from workflows.engine.kinds import AnyKind
from workflows.engine.language.disabled_nodes import (
    find_disabled_problems,
    remove_disabled,
)
from workflows.engine.language.document import Document
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, Severity, build_warning, select_errors
from workflows.engine.language.validation.configuration import (
    excuse_empty_ends,
    find_configuration_problems,
)
from workflows.engine.language.validation.features import find_feature_problems
from workflows.engine.language.validation.lists import find_list_problems
from workflows.engine.language.validation.open_branches import find_open_branches
from workflows.engine.language.validation.references import find_reference_problems
from workflows.engine.language.validation.sent_memories import find_sent_memories
from workflows.engine.language.validation.structure import (
    find_size_problems,
    find_structure_problems,
)
from workflows.engine.language.validation.untrusted_writes import find_review_problems
from workflows.engine.language.validation.variables import find_variable_problems


__all__ = ["Problem", "Severity", "build_warning", "select_errors", "validate", "validate_node"]


def validate(document: Document, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    """Return all problems in a stable order, errors before warnings."""
    if too_large := find_size_problems(document):
        return too_large  # checking it would take long and repeat the same problem
    disabled_problems = [*find_disabled_problems(document, kinds)]
    document, disabled = remove_disabled(document, kinds)
    graph = Graph.from_document(document)
    config_problems = excuse_empty_ends(find_configuration_problems(document, kinds), document)
    invalid_nodes = {
        problem.node for problem in config_problems if problem.is_error and problem.node
    }
    problems = [
        *find_structure_problems(document, graph, kinds, invalid_nodes),
        *find_open_branches(graph, kinds, invalid_nodes),
        *config_problems,
        *find_variable_problems(document),
        *find_feature_problems(document),
        *find_reference_problems(document, graph, kinds, invalid_nodes, disabled=disabled),
        *find_list_problems(document, graph, kinds, invalid_nodes),
        *find_review_problems(document, kinds, invalid_nodes),
        *find_sent_memories(document, graph, kinds, invalid_nodes),
        *disabled_problems,
    ]
    return _sort_problems(problems)


def validate_node(document: Document, kinds: Mapping[str, AnyKind], node_id: str) -> list[Problem]:
    """Return the problems of one node's configuration and references, which its form shows."""
    graph = Graph.from_document(document)
    if node_id not in graph.nodes:
        return []
    alone = replace(document, nodes=(graph.nodes[node_id],))
    config_problems = excuse_empty_ends(find_configuration_problems(alone, kinds), document)
    invalid_nodes = {node_id} if select_errors(config_problems) else set()
    problems = [
        *config_problems,
        *find_reference_problems(document, graph, kinds, invalid_nodes, only_node=node_id),
        *find_list_problems(document, graph, kinds, invalid_nodes, only_node=node_id),
        *find_review_problems(document, kinds, invalid_nodes, only_node=node_id),
        *find_sent_memories(document, graph, kinds, invalid_nodes, only_node=node_id),
    ]
    return _sort_problems(problems)


def _sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: not problem.is_error)
