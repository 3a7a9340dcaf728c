"""The memory scopes that a document uses, read from its nodes without running them."""

from collections.abc import Iterator, Mapping

from workflows.engine.kinds import AnyKind, Field, Widget, gettext_noop
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.texts import Phrase, Text


RECALL_FIELD = "enhanced_memory"  # the field of a node that recalls into its prompt
TOOLS_FIELD = "memory_tools"  # the field of a node whose model may use memory by itself
MEMORY_FIELDS = (RECALL_FIELD, TOOLS_FIELD)
DEFAULT_SCOPE = "conversation"  # of enhanced_memory without a scope, as in the original application
INITIAL_SCOPE = "user"  # of new nodes

# The memory scopes that a form offers. A workflow's memory needs a group, which the form of a run asks for.
SCOPES = (
    ("conversation", gettext_noop("Conversation")),
    ("user", gettext_noop("User")),
    ("global", gettext_noop("Global")),
    ("workflow", gettext_noop("Workflow (by group)")),
    ("run", gettext_noop("Run")),
)
# The maximum half-life is a hundred years, as in ``memory.core.provider``.
MAX_RECENCY_DAYS = 36_500
RECENCY = Field(
    "recency_days",
    gettext_noop("Recency half-life (days)"),
    Widget.NUMBER,
    low=1,
    high=MAX_RECENCY_DAYS,
    help=gettext_noop(
        "Newer memories rank higher. Days after which the recency bonus is halved; leave empty to ignore age."
    ),
)
MIN_SCORE = Field(
    "min_score",
    gettext_noop("Minimum relevance"),
    Widget.NUMBER,
    low=0,
    high=1,
    help=gettext_noop(
        "From 0 to 1. Leaves out memories that match less of the query: 0.5 requires half of it. Leave empty to keep every match."
    ),
)

INCLUDE_RECENT = Field(
    "include_recent",
    gettext_noop("Add recent memories"),
    Widget.SWITCH,
    initial=True,
    help=gettext_noop(
        "If the search finds fewer than the maximum, the most recent memories are added, so that a small memory is used as a whole."
    ),
)


def get_scope_label(scope: Json) -> Text:
    """Return the label of a memory scope. A plug-in's scope is its own label."""
    label = next((label for word, label in SCOPES if word == scope), None)
    return Phrase(label) if label else str(scope or "")


def list_memory_scopes(document: Document, kinds: Mapping[str, AnyKind]) -> frozenset[str]:
    """Return the scopes of the document's memory nodes, and of its nodes that recall into their prompt."""
    return frozenset(
        scope for node in document.nodes for scope in _iter_scopes(node, kinds.get(node.kind))
    )


def _iter_scopes(node: NodeSpec, kind: AnyKind | None) -> Iterator[str]:
    if kind is not None and kind.needs_memory:
        scope = node.data.get("scope") or kind.default_scope
        if scope and isinstance(scope, str):
            yield scope
    memory_tools = node.data.get(TOOLS_FIELD)
    if isinstance(memory_tools, dict):
        for scopes in memory_tools.values():
            yield from map(str, scopes if isinstance(scopes, list | tuple) else ())
    recall_settings = node.data.get(RECALL_FIELD)
    if isinstance(recall_settings, dict) and recall_settings.get("enabled"):
        yield str(recall_settings.get("scope") or DEFAULT_SCOPE)
