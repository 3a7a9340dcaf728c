"""Which memories a document asks for, read from its nodes without running them."""

from collections.abc import Iterator

from workflows.engine.document import Document, NodeSpec
from workflows.engine.kinds import Field, Widget, gettext_noop


RECALLING = "enhanced_memory"  # the field of a node that recalls into its prompt
DEFAULT_SCOPE = "conversation"  # of enhanced_memory, as the seed has it
# Of kinds of nodes that need not name one.
KIND_SCOPES = {
    "memory-retrieval": "workflow",
    "conversation-memory": "conversation",
    "knowledge-retrieval": "global",
    "knowledge-write": "global",
}

# Whose memory a form offers. A workflow's own needs a group, which the form of a run asks for.
SCOPES = (
    ("conversation", gettext_noop("This conversation")),
    ("user", gettext_noop("This person")),
    ("global", gettext_noop("Everyone")),
    ("workflow", gettext_noop("This workflow, for its group")),
    ("run", gettext_noop("This run")),
)
# Half a life of a hundred years is none; as ``memory.core.provider`` has it.
MAX_RECENCY_DAYS = 36_500
RECENCY = Field(
    "recency_days",
    gettext_noop("Prefer what is newer"),
    Widget.NUMBER,
    low=1,
    high=MAX_RECENCY_DAYS,
    help=gettext_noop(
        "Days after which a memory counts half as much for being new. Empty: age doesn't matter."
    ),
)


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
