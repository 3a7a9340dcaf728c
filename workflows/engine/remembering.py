"""Which memories a document asks for, read from its nodes without running them."""

from collections.abc import Iterator

from workflows.engine.document import Document, NodeSpec


RECALLING = "enhanced_memory"  # the field of a node that recalls into its prompt
DEFAULT_SCOPE = "conversation"  # of enhanced_memory, as the seed has it
# Of kinds of nodes that need not name one.
KIND_SCOPES = {
    "memory-retrieval": "workflow",
    "conversation-memory": "conversation",
    "knowledge-retrieval": "global",
    "knowledge-write": "global",
}


def scopes_of(document: Document) -> frozenset[str]:
    """The scope words of its memory nodes, and of nodes that recall into their prompt."""
    return frozenset(scope for node in document.nodes for scope in _scopes(node))


def _scopes(node: NodeSpec) -> Iterator[str]:
    scope = node.data.get("scope") or KIND_SCOPES.get(node.kind)
    remembers = node.kind.startswith("memory-") or node.kind in KIND_SCOPES
    if remembers and isinstance(scope, str):
        yield scope
    enhanced = node.data.get(RECALLING)
    if isinstance(enhanced, dict) and enhanced.get("enabled"):
        yield str(enhanced.get("scope") or DEFAULT_SCOPE)
