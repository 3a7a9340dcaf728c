"""Warns of nodes that send outside what a model wrote which was shown memories and text from outside.

Such text may tell the model to put memories into what it writes. An agent's calls are checked during the run; a graph
sends what its author has connected, and the author may not have thought of it.
"""

from collections.abc import Container, Iterator, Mapping

from workflows.engine.kinds import AnyKind
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.document import Document
from workflows.engine.language.graph import Graph
from workflows.engine.language.memory_usage import is_shown_memories
from workflows.engine.language.problems import Problem, build_warning


def find_sent_memories(
    document: Document,
    graph: Graph,
    kinds: Mapping[str, AnyKind],
    invalid_nodes: Container[str],
    only_node: str | None = None,
) -> Iterator[Problem]:
    """Yield a warning for each node that may send memories outside without a person in between, or for one node only."""
    senders = [
        node.id
        for node in document.nodes
        if only_node in (None, node.id)
        and node.id not in invalid_nodes
        and (kind := kinds.get(node.kind))
        and kind.sends_outside(node)
    ]
    writers = _list_writers(document, kinds) if senders else {}
    for sender in senders:
        upstream = graph.find_upstream(sender)
        for writer, reached in writers.items():
            if sender in reached and not _is_asked_between(graph, kinds, writer, upstream):
                message = (
                    f"{writer} is shown memories and text from outside, which may make it write them, and this sends"
                    " what it writes: let a person check it with Human input, or turn its memory off"
                )
                yield build_warning("memory.sent", message, node=sender)
                break


def _list_writers(document: Document, kinds: Mapping[str, AnyKind]) -> Mapping[str, frozenset[str]]:
    """Map each node whose model is shown both memories and text from outside to the nodes that its words reach."""
    flow = ContentFlow(document.nodes, kinds, document.edges)
    recalling = frozenset(
        node.id for node in document.nodes if is_shown_memories(node, kinds.get(node.kind))
    )
    if not flow.sources or not recalling:
        return {}
    shown_both = flow.propagate(flow.sources) & flow.propagate(recalling)
    return {
        node.id: flow.propagate(frozenset({node.id}))
        for node in document.nodes
        if node.id in shown_both and _asks_model(kinds[node.kind])
    }


def _asks_model(kind: AnyKind) -> bool:
    return any(field.name == "model" for field in kind.fields)


def _is_asked_between(
    graph: Graph, kinds: Mapping[str, AnyKind], writer: str, upstream: frozenset[str]
) -> bool:
    """Return whether a person is asked after the model has written, and before it is sent."""
    behind = graph.find_reachable([writer])
    return any(
        kinds[graph.nodes[node].kind].waits_for_people
        for node in behind & upstream
        if graph.nodes[node].kind in kinds
    )
