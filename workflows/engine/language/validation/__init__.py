"""Everything wrong with a document, at once, each problem at its node, field or edge.

Errors keep a workflow from running; warnings say that it runs, perhaps not as its author thinks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from workflows.engine.kinds import AnyKind
from workflows.engine.language.disabled_nodes import bypass_problems, disabled_ids, without_disabled
from workflows.engine.language.document import Document
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, Severity, errors_of, warning
from workflows.engine.language.validation.configuration import configuration_problems
from workflows.engine.language.validation.references import reference_problems
from workflows.engine.language.validation.structure import size_problems, structure_problems
from workflows.engine.language.validation.variables import variable_problems
from workflows.engine.language.validation.waiting import list_review_problems


__all__ = ["Problem", "Severity", "errors_of", "validate", "validate_node", "warning"]


def validate(document: Document, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    """Problems in a stable order: errors first, then by what they are about."""
    too_large = size_problems(document)
    if too_large:
        return too_large  # walking it would take long, and say the same thing many times
    bypassed = [*bypass_problems(document, kinds)]
    off = disabled_ids(document, kinds)
    if off:
        document = without_disabled(document, kinds)
    graph = Graph.of(document)
    configured = configuration_problems(document, kinds)
    broken = {problem.node for problem in configured if problem.is_error and problem.node}
    found = [
        *structure_problems(document, graph, kinds, broken),
        *configured,
        *variable_problems(document),
        *reference_problems(document, graph, kinds, broken, off=off),
        *list_review_problems(document, kinds, broken),
        *bypassed,
    ]
    return _errors_first(found)


def validate_node(document: Document, kinds: Mapping[str, AnyKind], node_id: str) -> list[Problem]:
    """Problems of one node's configuration and references: what its form shows."""
    graph = Graph.of(document)
    if node_id not in graph.nodes:
        return []
    alone = replace(document, nodes=(graph.nodes[node_id],))
    configured = configuration_problems(alone, kinds)
    broken = {node_id} if errors_of(configured) else set()
    found = [
        *configured,
        *reference_problems(document, graph, kinds, broken, only=node_id),
        *list_review_problems(document, kinds, broken, only=node_id),
    ]
    return _errors_first(found)


def _errors_first(found: Iterable[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(found), key=lambda problem: not problem.is_error)
