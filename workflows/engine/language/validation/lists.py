"""Checks that the nodes which read a list, such as iterations, don't read a variable that can't be one."""

from collections.abc import Container, Iterator, Mapping

from workflows.engine.configuration import Field, Widget
from workflows.engine.kinds import AnyKind
from workflows.engine.language.dependencies import build_type_finder
from workflows.engine.language.document import Document
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import ELEMENTS, ValueType


_MAYBE_LISTS = frozenset({*ELEMENTS, ValueType.ANY, ValueType.NONE})


def find_list_problems(
    document: Document,
    graph: Graph,
    kinds: Mapping[str, AnyKind],
    invalid_nodes: Container[str],
    only_node: str | None = None,
) -> Iterator[Problem]:
    """Yield a problem for each list field with a variable that is of another type in every run."""
    find_type = build_type_finder(document, graph, kinds)
    for node in graph.nodes.values() if only_node is None else [graph.nodes[only_node]]:
        kind = kinds.get(node.kind)
        for field in kind.fields if kind is not None and node.id not in invalid_nodes else ():
            selector = node.data.get(field.name)
            if not _needs_list(field) or not isinstance(selector, list | tuple):
                continue
            value_type = find_type(tuple(map(str, selector)))
            if value_type not in _MAYBE_LISTS:
                message = (
                    f"{'.'.join(map(str, selector))} is of type {value_type}; a list is required"
                )
                yield Problem("reference.not_a_list", message, node=node.id, field=field.name)


def _needs_list(field: Field) -> bool:
    return (
        field.widget is Widget.SELECTOR
        and field.required
        and bool(field.accepted_types)
        and all(name in ELEMENTS for name in field.accepted_types)
    )
