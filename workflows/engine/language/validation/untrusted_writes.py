"""Warns of nodes whose memory writes have to wait for a review, because their content is untrusted."""

from collections.abc import Container, Iterator, Mapping

from workflows.engine.kinds import AnyKind
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, build_warning


# The setting that accepts external content; the warning is shown at this field.
TRUST_FIELD = "trusts_outside"


def find_review_problems(
    document: Document,
    kinds: Mapping[str, AnyKind],
    invalid_nodes: Container[str],
    only_node: str | None = None,
) -> Iterator[Problem]:
    """Yield a warning for each node whose writes have to wait for a review, or for one node only."""
    flow = ContentFlow(document.nodes, kinds, document.edges)
    # Untrusted source → the nodes that it reaches, so that a warning can name its source.
    reach_by_source = {
        source_id: flow.propagate(frozenset({source_id})) for source_id in sorted(flow.sources)
    }
    for node in document.nodes if reach_by_source else ():
        kind = kinds.get(node.kind)
        if kind is None or only_node not in (None, node.id) or node.id in invalid_nodes:
            continue
        for source_id, reached in reach_by_source.items():
            if kind.needs_review(node, reached):
                message = f"{source_id} brings in external content, which stays in quarantine until it is approved"
                yield build_warning("memory.waits", message, node=node.id, field=TRUST_FIELD)
                break
