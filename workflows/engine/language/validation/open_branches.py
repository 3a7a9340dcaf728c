"""Warns of branches that lead nowhere, where a run would end without an output.

Which branches are meant to be open is decided here alone, see ``_find_meant_open``.
"""

from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping
from typing import Final

from workflows.engine.appearance import HandleLabel
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import EdgeSpec, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE, has_fail_branch
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.texts import Phrase, Text, gettext_noop


FAIL_LABEL: Final = gettext_noop("On failure")
MAX_NAMED: Final = 20  # branches of one node
MAX_LABEL: Final = 80  # characters of a branch's label in a message


def find_open_branches(
    graph: Graph, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[Problem]:
    """Yield a warning for each branch that leads nowhere, and one for a node of which none leads anywhere."""
    branching = [
        node
        for node in graph.nodes.values()
        if node.kind in kinds and node.id not in invalid_nodes and _has_branches(node, kinds)
    ]
    meant_open = _find_meant_open(graph, kinds) if branching else frozenset()
    for node in branching:
        if node.id not in meant_open:
            yield from _check_branches(node, kinds[node.kind], graph)


def _has_branches(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> bool:
    return kinds[node.kind].execution is Execution.BRANCH or has_fail_branch(node.data)


def _check_branches(node: NodeSpec, kind: AnyKind, graph: Graph) -> Iterator[Problem]:
    connected = {edge.handle for edge in graph.list_outgoing(node.id)}
    is_branch = kind.execution is Execution.BRANCH
    fail_handles = [FAIL_HANDLE] if has_fail_branch(node.data) else []
    handles = [*(kind.list_handles(node) if is_branch else ()), *fail_handles]
    open_handles = [handle for handle in handles if handle not in connected]
    if is_branch and not connected and len(handles) > 1:
        message = "No branch leads to another node; the run ends here, without an output"
        yield build_warning("branch.open", message, node=node.id)
        return
    labels = kind.label_handles(node.data) if open_handles else {}
    for handle in open_handles[:MAX_NAMED]:
        label = FAIL_LABEL if handle == FAIL_HANDLE else _write_label(labels.get(handle)) or handle
        message = (
            f"The branch {label} leads nowhere; a run that takes it ends there, without an output"
        )
        yield build_warning("branch.open", message, node=node.id)


def _write_label(label: HandleLabel | None) -> str:
    if label is None:
        return ""
    space = " " if label.word and label.text else ""
    text = "".join(map(_format_text, (label.word, space, *label.text)))
    return text.strip()[:MAX_LABEL]


def _format_text(text: Text) -> str:
    return text.text % dict(text.values) if isinstance(text, Phrase) else text


def _find_meant_open(graph: Graph, kinds: Mapping[str, AnyKind]) -> frozenset[str]:
    """Return the nodes whose branches may lead nowhere.

    Inside a container, the next round simply begins. Elsewhere a branch may be open if the run has an output without
    it: it was given before, or is given on a path beside. Where the workflow has no output at all, nothing is missing
    at a branch either; the workflow itself is warned of then.
    """
    nested = {node.id for node in graph.nodes.values() if node.parent is not None}
    outputs = {node.id for node in graph.nodes.values() if _gives_output(node, kinds)} - nested
    if not outputs:
        return frozenset(graph.nodes)
    certain = _find_certain(graph, kinds, outputs)
    certain_targets = defaultdict[tuple[str, str], set[str]](set)
    for edge in graph.edges:
        if edge.target in certain:
            certain_targets[edge.source, edge.handle].add(edge.target)
    begins = [
        edge
        for edge in graph.edges
        if edge.source in outputs
        or certain_targets.get((edge.source, edge.handle), set()) - {edge.target}
    ]
    return graph.find_reachable(edge.target for edge in begins) | nested


def _find_certain(graph: Graph, kinds: Mapping[str, AnyKind], outputs: set[str]) -> frozenset[str]:
    """Return the nodes from which every run comes to one of these, because no branch lies between them."""
    certain, queue = set(outputs), deque(outputs)
    while queue:
        for edge in graph.list_incoming(queue.popleft()):
            if edge.source not in certain and _always_follows(edge, graph, kinds):
                certain.add(edge.source)
                queue.append(edge.source)
    return frozenset(certain)


def _always_follows(edge: EdgeSpec, graph: Graph, kinds: Mapping[str, AnyKind]) -> bool:
    kind = kinds.get(graph.nodes[edge.source].kind)
    is_branch = kind is not None and kind.execution is Execution.BRANCH
    return not is_branch and edge.handle != FAIL_HANDLE


def _gives_output(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> bool:
    kind = kinds.get(node.kind)
    return kind is not None and (kind.provides_results or kind.execution is Execution.RESPONSE)
