"""The memory tools of an agent, with the rights of the run: whatever a model writes, it reaches no other person's memory.

A model chooses among the scopes that the author allows; the server builds the namespace from what it knows about the
run. What an agent stores after it has read untrusted content is quarantined where such content needs a review, and what
it would forget then, a person has to allow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import (
    WEB,
    is_untrusted_memory,
    needs_scope_review,
)
from workflows.engine.language.document import Json
from workflows.engine.language.values import to_json
from workflows.engine.nodes.agent.agent_config import MemoryToolName
from workflows.engine.nodes.agent.tool_use.memory_call import (
    WAITS,
    Action,
    Arguments,
    MemoryCall,
    ToolEntry,
)
from workflows.engine.nodes.agent.tool_use.tool_results import ToolOutcome, build_error
from workflows.engine.nodes.agent.tool_use.wiki_tools import WIKI_TOOLS
from workflows.engine.nodes.memory.consent import find_meant
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.nodes.memory.knowledge.config import DEFAULT_MIN_SCORE
from workflows.engine.nodes.memory.memory_access import (
    QUARANTINE,
    build_quarantined_event,
    build_recalled_event,
    build_rejected_event,
    build_written_event,
    get_knowledge,
    get_memory,
    hold_for_review,
    would_replace_trusted,
)
from workflows.engine.nodes.memory.quoting import render_memories
from workflows.engine.ports import MemoryHit, Origin
from workflows.engine.runtime.events import Event, MemoryForgotten
from workflows.engine.tool_calls import ToolResult, ToolSpec


_STAYS: Final = (
    "After content from outside was read, it isn't replaced. Store this under another key."
)
DEFAULT_TOP_K: Final = 5
MAX_TOP_K: Final = 20
MEMORY_SOURCE: Final = "memory"  # of these tools, in the record of a call
# In place of a scope: the knowledge bases that the author names.
KNOWLEDGE: Final = "knowledge"


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A memory tool with the scopes that the author allows; the first one is the default."""

    spec: ToolSpec
    scopes: tuple[str, ...]
    action: Action
    ctx: NodeContext
    has_read_untrusted: Callable[[], bool]
    knowledge_bases: tuple[str, ...] = ()  # that the author names
    is_independent: bool = False  # a call may read what the one before it stored
    version: str = ""
    is_outside: bool = False

    @property
    def needs_approval(self) -> bool:
        """Return whether a person has to allow a call: one that nobody reviews, after the model has read untrusted content."""
        return self.spec.name in _UNREVIEWED and self.has_read_untrusted()

    @property
    def description(self) -> Mapping[str, Json]:
        return {"source": MEMORY_SOURCE, "provider": "", "tool": self.spec.name}

    def complete(self, arguments: Arguments) -> Arguments:
        return arguments

    async def find_meant(self, arguments: Arguments, origin: Origin) -> Sequence[MemoryHit]:
        """Return the memory with the key of the arguments, if memory shows one."""
        scope, key = str(arguments.get("scope") or self.scopes[0]), arguments.get("key")
        if scope not in self.scopes or not key:
            return ()
        try:
            return await find_meant(self.ctx, scope, origin, key=str(key).strip())
        except Exception as fault:
            if not _is_refusal(fault):
                raise
            return ()  # the call itself will say what is wrong

    async def call(self, arguments: Arguments, origin: Origin) -> ToolOutcome:
        """Call the tool. What memory refuses is told to the model."""
        scope = str(arguments.get("scope") or self.scopes[0])
        if scope not in self.scopes:
            return build_error(f"The scope must be one of: {', '.join(self.scopes)}.")
        is_knowledge = scope == KNOWLEDGE
        call = MemoryCall(
            "global" if is_knowledge else scope,
            arguments,
            self.ctx,
            origin,
            self.has_read_untrusted(),
            self.knowledge_bases if is_knowledge else (),
        )
        try:
            return await self.action(call)
        except EngineFault as fault:
            return build_error(fault.message)
        except Exception as fault:
            if not _is_refusal(fault):
                raise
            return _reject(fault, call)


def _is_refusal(fault: Exception) -> bool:
    """Return whether the engine or memory, whose own errors the engine does not import, refuses the call."""
    return isinstance(fault, EngineFault) or hasattr(fault, "is_recoverable")


def build_memory_tools(
    allowed: Mapping[MemoryToolName, Sequence[str]],
    ctx: NodeContext,
    has_read_untrusted: Callable[[], bool],
    knowledge_bases: tuple[str, ...] = (),
) -> Iterator[MemoryTool]:
    """Yield the tools that the author allows in at least one scope, and the search of the named knowledge bases."""
    for name, (description, properties, required, action) in _TOOLS.items():
        scopes = tuple(allowed.get(name, ()))
        if name == "search_pages" and knowledge_bases:
            scopes = (KNOWLEDGE, *scopes)
        if not scopes:
            continue
        scope_rule = {"scope": {"type": "string", "enum": list(scopes), "description": _SCOPE_TEXT}}
        schema = {
            "type": "object",
            "properties": {**properties, **(scope_rule if len(scopes) > 1 else {})},
            "required": list(required),
        }
        yield MemoryTool(
            ToolSpec(name, description, schema),
            scopes,
            action,
            ctx,
            has_read_untrusted,
            knowledge_bases,
        )


async def _recall(call: MemoryCall) -> ToolOutcome:
    query = str(call.arguments["query"])
    hits = await get_memory(call.ctx, call.scope).recall(
        **call.address,
        query_text=query,
        top_k=_get_top_k(call.arguments),
        # The model chose the words itself, and they are no question: all that is found may be shown to it.
        min_score=_get_min_score(call.arguments) or 0.0,
    )
    hits = list_shown(hits)
    event = build_recalled_event(call.ctx, call.scope, query, hits)
    text = render_memories(hits, with_relevance=True) if hits else "Nothing was found."
    data = [{"key": hit.key, "value": hit.value, "score": hit.score} for hit in hits]
    return ToolOutcome(
        ToolResult(text, data), untrusted_keys=_list_untrusted(hits), events=(event,)
    )


async def _remember(call: MemoryCall) -> ToolOutcome:
    key, value = str(call.arguments["key"]).strip(), call.arguments["value"]
    if not key:
        return build_error("The key is empty.")
    metadata: dict[str, Json] = {}
    tier = "long_term"
    if call.has_read_untrusted:
        metadata["origin"] = WEB
        if needs_scope_review(call.scope, trusted=False):
            tier = hold_for_review(metadata)
        elif await would_replace_trusted(call.ctx, call.address, key, value):
            return build_error(f"There is an entry {key} already. {_STAYS}")
    hit = await get_memory(call.ctx, call.scope).store(
        **call.address, key=key, value=value, metadata=metadata, tier=tier
    )
    if getattr(hit, "tier", tier) == QUARANTINE:
        event: Event = build_quarantined_event(hit, call.ctx.node_id, call.scope, key)
        return ToolOutcome(ToolResult(f"{key} was stored. {WAITS}"), events=(event,))
    event = build_written_event(hit, call.ctx.node_id, call.scope)
    return ToolOutcome(ToolResult(f"{hit.key} was stored."), events=(event,))


async def _forget(call: MemoryCall) -> ToolOutcome:
    key = str(call.arguments["key"]).strip()
    if not key:
        return build_error("The key is empty; nothing was forgotten.")
    memory = get_memory(call.ctx, call.scope)
    count = await memory.delete(**call.address, key=key)
    event = MemoryForgotten(call.ctx.node_id, call.scope, count, key)
    if count:
        text = f"{key} was forgotten. The person sees this below the answer and can undo it."
        return ToolOutcome(ToolResult(text), events=(event,))
    similar = await memory.recall(**call.address, query_text=key, top_k=DEFAULT_TOP_K)
    text = f"There is no entry {key}. Nothing was forgotten."
    if similar:
        lines = "\n".join(to_json({"key": hit.key, "value": hit.value}) for hit in similar)
        text += f" If one of these is meant, forget it by its key; if several could be, ask which:\n{lines}"
    data = [{"key": hit.key, "value": hit.value} for hit in similar]
    return ToolOutcome(
        ToolResult(text, data, is_error=True),
        untrusted_keys=_list_untrusted(similar),
        events=(event,),
    )


async def _search_pages(call: MemoryCall) -> ToolOutcome:
    query = str(call.arguments["query"])
    min_score = _get_min_score(call.arguments)
    pages = await get_knowledge(call.ctx, call.scope).find_pages(
        **call.address,
        query=query,
        top_k=_get_top_k(call.arguments),
        min_score=DEFAULT_MIN_SCORE if min_score is None else min_score,
        namespaces=call.knowledge_bases,
    )
    hits = [page.entry for page in pages]
    data = [
        {name: page.page.get(name) for name in ("id", "title", "summary", "content", "tags")}
        | {"score": round(page.score, 2)}
        for page in pages
    ]
    untrusted_keys = _list_untrusted(hits)
    text = to_json(data, indent=2) if pages else "No page was found."
    return ToolOutcome(
        ToolResult(text, data),
        is_untrusted=bool(untrusted_keys),
        untrusted_keys=untrusted_keys,
        events=(build_recalled_event(call.ctx, call.scope, query, hits),),
    )


async def _write_page(call: MemoryCall) -> ToolOutcome:
    names = ("title", "summary", "content", "tags", "references", "sources")
    page = {name: call.arguments[name] for name in names if name in call.arguments}
    if call.has_read_untrusted:
        hold = needs_scope_review(call.scope, trusted=False)
        page |= {"origin": WEB, "hold": hold, "spares_trusted": True}
    results = await get_knowledge(call.ctx, call.scope).write_pages(
        **call.address, pages=[page], mode=str(call.arguments.get("mode") or "merge")
    )
    events: list[Event] = []
    texts: list[str] = []
    for result in results:
        title = str(result.page["title"])
        if result.held_for:
            events.append(
                build_quarantined_event(result.entry, call.ctx.node_id, call.scope, title)
            )
            texts.append(f"The page {title} was stored. {WAITS}")
        else:
            events.append(build_written_event(result.entry, call.ctx.node_id, call.scope))
            texts.append(f"The page {title} was written.")
    return ToolOutcome(ToolResult("\n".join(texts)), events=tuple(events))


def _reject(fault: Exception, call: MemoryCall) -> ToolOutcome:
    key = str(call.arguments.get("key") or call.arguments.get("title") or "")
    event = build_rejected_event(fault, call.ctx, call.scope, key)
    result = ToolResult(str(fault), is_error=True)
    return ToolOutcome(result, events=(event,) if event is not None else ())


def _list_untrusted(hits: Sequence[MemoryHit]) -> tuple[str, ...]:
    return tuple(hit.key for hit in hits if is_untrusted_memory(hit.metadata))


def _get_top_k(arguments: Arguments) -> int:
    top_k = arguments.get("top_k")
    return min(max(int(top_k), 1), MAX_TOP_K) if isinstance(top_k, int | float) else DEFAULT_TOP_K


def _get_min_score(arguments: Arguments) -> float | None:
    min_score = arguments.get("min_score")
    return min(max(float(min_score), 0.0), 1.0) if isinstance(min_score, int | float) else None


_SCOPE_TEXT: Final = (
    "Whose memory: conversation (this chat), user (this person), global (everyone who uses this"
    " application), workflow, run, or knowledge (the team's knowledge bases)."
)
_QUERY: Final[dict[str, Json]] = {"type": "string", "description": "What to look for."}
_TOP_K: Final[dict[str, Json]] = {
    "type": "integer",
    "description": f"How many results, at most {MAX_TOP_K}.",
}
_MIN_SCORE: Final[dict[str, Json]] = {
    "type": "number",
    "minimum": 0,
    "maximum": 1,
    "description": "Only results that match at least this share of the query, from 0 to 1.",
}
_KEY: Final[dict[str, Json]] = {"type": "string", "description": "A short name of the memory."}

# The tools that nobody reviews. What the others store after untrusted content waits for a review.
_UNREVIEWED: Final[frozenset[MemoryToolName]] = frozenset({"forget"})

# Name → description, parameters, required parameters, action.
_TOOLS: Final[Mapping[MemoryToolName, ToolEntry]] = {
    "recall": (
        "Search memory for what is known from earlier.",
        {"query": _QUERY, "top_k": _TOP_K, "min_score": _MIN_SCORE},
        ("query",),
        _recall,
    ),
    "remember": (
        "Store a fact in memory for later. The same key again replaces the fact.",
        {"key": _KEY, "value": {"type": "string", "description": "The fact, in one sentence."}},
        ("key", "value"),
        _remember,
    ),
    "forget": (
        "Remove a fact from memory by its key.",
        {"key": _KEY},
        ("key",),
        _forget,
    ),
    "search_pages": (
        "Search the pages of the knowledge base.",
        {"query": _QUERY, "top_k": _TOP_K, "min_score": _MIN_SCORE},
        ("query",),
        _search_pages,
    ),
    "write_page": (
        "Write a page of the knowledge base. Content on the same subject is merged into its page.",
        {
            "title": {"type": "string"},
            "summary": {"type": "string", "description": "One sentence."},
            "content": {"type": "string", "description": "Markdown."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "references": {
                "type": "array",
                "items": {"type": "string"},
                "description": "IDs of related pages. In the content, link them as [[Title]].",
            },
            "sources": {
                "type": "array",
                "items": {"type": "string"},
                "description": "IDs of the sources that the content comes from.",
            },
            "mode": {"type": "string", "enum": ["merge", "replace"]},
        },
        ("title", "content"),
        _write_page,
    ),
    **WIKI_TOOLS,
}
