"""The memory scopes that a document uses, read from its nodes without running them."""

from collections.abc import Iterator, Mapping

from workflows.engine.kinds import AnyKind, Field, Widget, gettext_noop
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.texts import Phrase, Text


RECALL_FIELD = "enhanced_memory"  # the field of a node that recalls into its prompt
TOOLS_FIELD = "memory_tools"  # the field of a node whose model may use memory by itself
KNOWLEDGE_FIELD = "knowledge_bases"  # the field of a node that searches knowledge bases of the team
MEMORY_FIELDS = (RECALL_FIELD, TOOLS_FIELD)
DEFAULT_SCOPE = "conversation"  # of enhanced_memory without a scope, as in the original application
INITIAL_SCOPE = "user"  # of new nodes
SHARED_SCOPE = "global"
PROFILE_SCOPE = "user"  # the profile is one of a person, whatever the scope of the node
# The memory tools of agents that change memory.
WRITING_TOOLS = frozenset(
    {"remember", "forget", "write_page", "add_source", "link_pages", "compile_page"}
)

# The memory scopes that a form offers. A workflow's memory needs a group, which the form of a run asks for.
SCOPES = (
    ("conversation", gettext_noop("Conversation")),
    ("user", gettext_noop("User")),
    ("global", gettext_noop("Global")),
    ("workflow", gettext_noop("Workflow")),
    ("run", gettext_noop("Run")),
)
SCOPE_HELP = gettext_noop(
    "User: one memory per user, shared by all workflows of the team. Global: shared by all users of this workflow. Workflow: one memory per group ID that a run passes. Conversation: one memory per conversation."
)
SCOPE_HINTS = (
    ("conversation", gettext_noop("One memory per conversation.")),
    ("user", gettext_noop("One memory per user, across all workflows.")),
    ("global", gettext_noop("Shared by all users of this workflow.")),
    ("workflow", gettext_noop("One memory per group ID that a run passes.")),
    ("run", gettext_noop("Notes of a run, deleted when it ends.")),
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
        "From 0 to 1. Leaves out memories that match less of the query: 0.5 requires half of it. Leave empty to keep what is relevant to the query, or enter 0 to keep every match."
    ),
)

INCLUDE_RECENT = Field(
    "include_recent",
    gettext_noop("Add recent memories"),
    Widget.SWITCH,
    help=gettext_noop(
        "If the search finds fewer than the maximum, the most recent memories are added, so that a small memory is used as a whole."
    ),
)

PROFILE_FIELD = "include_profile"
INCLUDE_PROFILE = Field(
    PROFILE_FIELD,
    gettext_noop("Include the profile"),
    Widget.SWITCH,
    initial=True,
    help=gettext_noop(
        "What the prompt always gets about the person: name, language, standing instructions, and what they pinned. At most 300 tokens."
    ),
)

FORMER_FIELD = "finds_former"
FINDS_FORMER = Field(
    FORMER_FIELD,
    gettext_noop("Former memories for questions about the past"),
    Widget.SWITCH,
    default=True,
    help=gettext_noop(
        "A question such as “Where did I live before?” also finds what no longer holds, with the day until which it held. Turn this off to keep to what holds now."
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


def recalls_memory(document: Document, kinds: Mapping[str, AnyKind]) -> bool:
    """Return whether a node of the document is shown memories, or its model may look for them."""
    return any(is_shown_memories(node, kinds.get(node.kind)) for node in document.nodes)


def is_shown_memories(node: NodeSpec, kind: AnyKind | None) -> bool:
    """Return whether a node is shown memories, or its model may look for them."""
    if kind is not None and kind.recalled_outputs:
        return True
    settings, tools = node.data.get(RECALL_FIELD), node.data.get(TOOLS_FIELD)
    is_given = isinstance(settings, dict) and bool(settings.get("enabled"))
    return is_given or (
        isinstance(tools, dict)
        and any(scopes and name not in WRITING_TOOLS for name, scopes in tools.items())
    )


def list_shared_writers(document: Document, kinds: Mapping[str, AnyKind]) -> tuple[NodeSpec, ...]:
    """Return the nodes that write memory which all users of the workflow share."""
    return tuple(node for node in document.nodes if _writes_shared(node, kinds.get(node.kind)))


def list_knowledge_bases(document: Document) -> frozenset[str]:
    """Return the knowledge bases that the document's nodes name. Only these may a run read besides its own.

    The names are literal: a reference in one of them is never replaced, so no value in a run can add another one.
    """
    return frozenset(
        namespace for node in document.nodes for namespace in read_knowledge_bases(node.data)
    )


def read_knowledge_bases(data: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the knowledge bases in the data of a node, without anything that can't be one."""
    names = data.get(KNOWLEDGE_FIELD)
    texts = names if isinstance(names, list | tuple) else ()
    return tuple(text for text in texts if isinstance(text, str) and is_knowledge_base(text))


def is_knowledge_base(text: str) -> bool:
    """Return whether a text is a namespace of the scope global, and not a template."""
    prefix, _separator, name = text.partition(":")
    return prefix == "global" and bool(name.strip()) and "{{" not in name


def _writes_shared(node: NodeSpec, kind: AnyKind | None) -> bool:
    if kind is not None and kind.needs_memory and kind.has_effect:
        return bool((node.data.get("scope") or kind.default_scope) == SHARED_SCOPE)
    tools = node.data.get(TOOLS_FIELD)
    scopes_of_writing = (
        [scopes for name, scopes in tools.items() if name in WRITING_TOOLS]
        if isinstance(tools, dict)
        else []
    )
    return any(
        isinstance(each, list | tuple) and SHARED_SCOPE in each for each in scopes_of_writing
    )


def _iter_scopes(node: NodeSpec, kind: AnyKind | None) -> Iterator[str]:
    if kind is not None and kind.needs_memory:
        scope = node.data.get("scope") or kind.default_scope
        if scope and isinstance(scope, str):
            yield scope
        if node.data.get(PROFILE_FIELD) is True:
            yield PROFILE_SCOPE
    if read_knowledge_bases(node.data):
        yield "global"
    memory_tools = node.data.get(TOOLS_FIELD)
    if isinstance(memory_tools, dict):
        for scopes in memory_tools.values():
            yield from map(str, scopes if isinstance(scopes, list | tuple) else ())
    recall_settings = node.data.get(RECALL_FIELD)
    if isinstance(recall_settings, dict) and recall_settings.get("enabled"):
        yield str(recall_settings.get("scope") or DEFAULT_SCOPE)
        if recall_settings.get(PROFILE_FIELD) is True:
            yield PROFILE_SCOPE
