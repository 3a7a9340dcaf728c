"""Memory context: long-term memory on a topic and the newest working memory, as one text for a prompt.

Memory is optional here: if it fails or is missing, the text is empty, an event reports it, and the run continues.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field as Bounded

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import EngineFault
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import (
    FINDS_FORMER,
    MAX_RECENCY_DAYS,
    MIN_SCORE,
    RECENCY,
    get_scope_label,
)
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.nodes.memory.history_context import (
    MAX_WORKING_ENTRIES,
    Record,
    choose_query,
    choose_wording,
    merge_hits,
    render_markdown,
    to_text,
)
from workflows.engine.nodes.memory.memory_access import (
    build_recalled_event,
    get_memory,
    list_left_out,
    record_shown_hits,
    to_event_entry,
)
from workflows.engine.ports import MemoryHit
from workflows.engine.runtime.events import MemoryRetrievalError
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


log = logging.getLogger(__name__)

WORKFLOW: Final = "workflow"  # the scope
CONTEXT_OUTPUT: Final = "history_context"
# The inputs that may be the query, in order of preference.
QUERY_FIELDS: Final = ("topic", "content", "document")
TIMEOUT_SECONDS: Final = 20.0  # for all requests to memory


class RetrievalConfig(NodeConfig):
    scope: str = WORKFLOW
    topic_selector: tuple[str, ...] | None = None
    content_selector: tuple[str, ...] | None = None
    document_selector: tuple[str, ...] | None = None
    group_id_selector: tuple[str, ...] | None = None
    top_k: int = Bounded(default=10, ge=1, le=100)
    min_score: float | None = Bounded(default=None, ge=0, le=1)
    recency_days: float | None = Bounded(default=None, gt=0, le=MAX_RECENCY_DAYS)
    language: str = ""
    finds_former: bool = True

    @property
    def inputs(self) -> dict[str, Selector]:
        """Return the selectors of the inputs that are passed through, by their names in the outputs."""
        names = (*QUERY_FIELDS, "group_id")
        selectors = {name: getattr(self, f"{name}_selector") for name in names}
        return {name: selector for name, selector in selectors.items() if selector}


class MemoryRetrieval(NodeKind[RetrievalConfig, RetrievalConfig]):
    name = "memory-retrieval"
    title = gettext_noop("Memory context")
    description = gettext_noop(
        "Retrieves memories on a topic as text for a prompt; continues without memory"
    )
    group = "memory"
    palette_order = 30
    icon = "context"
    family = "memory"
    config_model = RetrievalConfig
    leak_check_settings = tuple(
        {"scope": scope, "topic_selector": ["start", "text"]}
        for scope in (WORKFLOW, "user", "conversation", "global")
    )
    needs_memory = True
    memory_preview = "history"
    default_scope = WORKFLOW
    recalled_outputs = (CONTEXT_OUTPUT,)
    context_output = CONTEXT_OUTPUT
    fields = (
        Field("topic_selector", gettext_noop("Topic"), Widget.SELECTOR,
              help=gettext_noop("The search query. If empty, the content is used, then the document."),
              example=["start", "topic"]),
        Field("content_selector", gettext_noop("Content"), Widget.SELECTOR, is_advanced=True),
        Field("document_selector", gettext_noop("Document"), Widget.SELECTOR, is_advanced=True),
        Field("scope", gettext_noop("Scope"), Widget.CHOICE, default=WORKFLOW, choices=(
            (WORKFLOW, gettext_noop("Workflow")),
            ("conversation", gettext_noop("Conversation")),
            ("user", gettext_noop("User")),
            ("global", gettext_noop("Global")),
        )),
        Field("group_id_selector", gettext_noop("Group"), Widget.SELECTOR, is_advanced=True,
              help=gettext_noop("Leave empty for the group of the run. Another group must be one in which the same user has run this workflow."),
              shown_when=("scope", (None, "", "workflow"))),
        Field("top_k", gettext_noop("Max long-term entries"), Widget.NUMBER, default=10,
              low=1, high=100,
              help=gettext_noop("The ten most recent working memory entries are always added first.")),
        replace(MIN_SCORE, is_advanced=True),
        replace(RECENCY, is_advanced=True),
        replace(FINDS_FORMER, is_advanced=True),
        Field("language", gettext_noop("Heading language"), Widget.CHOICE, default="", is_advanced=True, choices=(
            ("", gettext_noop("Same as the query")),
            ("en", "English"),
            ("zh-hans", "简体中文"),
        )),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        names = [get_variable_name(data.get(f"{name}_selector")) for name in QUERY_FIELDS]
        return [get_scope_label(data.get("scope") or self.default_scope), *names]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        inputs = self.configure(spec).inputs
        records = gettext_noop("Markdown records, most relevant first, or empty")
        unchanged = (Output(name, help=gettext_noop("Unchanged input")) for name in inputs)
        return (Output(CONTEXT_OUTPUT, "string", records), *unchanged)

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(self.configure(spec).inputs.values())

    async def run(self, prepared: RetrievalConfig, ctx: NodeContext) -> NodeResult:
        selectors = prepared.inputs
        inputs = {name: ctx.pool.get_or_none(selectors[name]) for name in selectors}
        query = choose_query(*(inputs.get(name) for name in QUERY_FIELDS))
        ctx.record_inputs({"scope": prepared.scope, "query": query, **inputs})
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                retrieved = await _retrieve(prepared, ctx, query, _get_group_id(inputs))
        except Exception as fault:
            # Any exception, because memory is optional here; the log has its traceback.
            failed = MemoryRetrievalError(ctx.node_id, _describe_fault(fault))
            log.warning("memory_retrieval_failed", exc_info=fault, extra={"node": ctx.node_id})
            return NodeResult({**inputs, CONTEXT_OUTPUT: ""}, events=(failed,))
        records = retrieved.records
        scores = {record.hit.id: record.score for record in records}
        hits = list_shown([record.hit for record in records])
        record_shown_hits(ctx, hits)
        wording = choose_wording(prepared.language, query, *(to_text(hit.value) for hit in hits))
        context = render_markdown(records, wording)
        entries = [{**to_event_entry(hit), "score": scores.get(hit.id)} for hit in hits]
        event = build_recalled_event(ctx, prepared.scope, query or None, hits)
        event = replace(
            event, entries=entries, withheld=retrieved.withheld, left_out=retrieved.left_out
        )
        return NodeResult({**inputs, CONTEXT_OUTPUT: context}, events=(event,))


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The records, what was left out, and the reason why memory withholds entries, if it does."""

    records: list[Record[MemoryHit]]
    left_out: list[dict[str, Json]]
    withheld: str | None = None


async def _retrieve(
    config: RetrievalConfig, ctx: NodeContext, query: str, group_id: str | None
) -> Retrieved:
    """Return the records of working and, with a query, long-term memory."""
    memory = get_memory(ctx, config.scope)
    withheld: str | None = None
    left_out: list[dict[str, Json]] = []

    async def recall_tier(tier: str, text: str | None, limit: int) -> Sequence[MemoryHit]:
        nonlocal withheld
        hits = await memory.recall(
            scope=config.scope,
            identity=ctx.identity,
            origin=ctx.origin,
            query_text=text,
            filter={"tier": tier},
            top_k=limit,
            group_id=group_id,
            recency_days=config.recency_days if text else None,
            min_score=config.min_score if text else None,
            include_former=None if config.finds_former else False,
            without_lessons=ctx.answers_chat,
        )
        withheld = getattr(hits, "withheld", None)
        left_out.extend(list_left_out(hits))
        # The author's metadata may have a key "tier", too.
        return [hit for hit in hits if getattr(hit, "tier", tier) == tier]

    working = await recall_tier("working", None, MAX_WORKING_ENTRIES)
    long_term = await recall_tier("long_term", query, config.top_k) if query else ()
    return Retrieved(merge_hits(working, long_term), left_out, withheld)


def _get_group_id(inputs: dict[str, Json]) -> str | None:
    value = inputs.get("group_id")
    return as_text(value) or None if value is not None else None


def _describe_fault(fault: Exception) -> str:
    """Return a message about the fault for users, without the details, which are only logged."""
    if isinstance(fault, EngineFault):
        return fault.message
    if isinstance(fault, TimeoutError):
        return f"Memory did not respond within {TIMEOUT_SECONDS:g} s"
    if hasattr(fault, "is_recoverable"):  # errors of the memory package
        return str(fault) or (type(fault).__doc__ or "").strip()
    return "Memory could not be reached"
