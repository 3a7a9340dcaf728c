"""History: what working and long-term memory hold on a topic, as one text for a prompt.

Meant as an extra, never as a need: a memory that fails or isn't there leaves the text empty, says so in
an event, and the run goes on.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import Field as Bounded

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import WorkflowFault
from workflows.engine.events import MemoryRecalled, MemoryRetrievalError
from workflows.engine.history_context import (
    WORKING_ENTRIES,
    Record,
    markdown,
    merge,
    query_of,
    text_of,
    wording_for,
)
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.ports import MemoryHit
from workflows.engine.recalling import brief, heed, memory_of
from workflows.engine.remembering import KIND_SCOPES, MAX_RECENCY_DAYS, RECENCY
from workflows.engine.rendering import as_text


log = logging.getLogger(__name__)

NAME: Final = "memory-retrieval"
CONTEXT: Final = "history_context"
# In this order they are what is searched for.
ASKING: Final = ("topic", "content", "document")
PATIENCE: Final = 20.0  # seconds; a memory that never answers has failed


class RetrievalConfig(NodeConfig):
    scope: str = KIND_SCOPES[NAME]
    topic_selector: tuple[str, ...] | None = None
    content_selector: tuple[str, ...] | None = None
    document_selector: tuple[str, ...] | None = None
    group_id_selector: tuple[str, ...] | None = None
    top_k: int = Bounded(default=10, ge=1, le=100)
    recency_days: float | None = Bounded(default=None, gt=0, le=MAX_RECENCY_DAYS)
    language: str = ""

    @property
    def inputs(self) -> dict[str, Selector]:
        """What is passed through, by its name in the outputs."""
        named = {name: getattr(self, f"{name}_selector") for name in (*ASKING, "group_id")}
        return {name: selector for name, selector in named.items() if selector}


class MemoryRetrieval(NodeKind[RetrievalConfig, RetrievalConfig]):
    name = NAME
    title = gettext_noop("History")
    description = gettext_noop(
        "Puts what memory holds on a topic into one text for a prompt; without memory the run goes on."
    )
    group = "memory"
    config_model = RetrievalConfig
    needs_memory = True
    context_output = CONTEXT
    fields = (
        Field("topic_selector", gettext_noop("Topic"), Widget.SELECTOR,
              help=gettext_noop("What to search for. Where it is empty, the content; then the document."),
              example=["start", "topic"]),
        Field("content_selector", gettext_noop("Content"), Widget.SELECTOR),
        Field("document_selector", gettext_noop("Document"), Widget.SELECTOR),
        Field("scope", gettext_noop("Whose memory"), Widget.CHOICE, default=KIND_SCOPES[NAME], choices=(
            ("workflow", gettext_noop("This workflow, for its group")),
            ("conversation", gettext_noop("This conversation")),
            ("user", gettext_noop("This person")),
            ("global", gettext_noop("Everyone")),
        )),
        Field("group_id_selector", gettext_noop("Group"), Widget.SELECTOR,
              help=gettext_noop("Empty: the group the run is for. Another one needs a grant."),
              shown_when=("scope", (None, "", "workflow"))),
        Field("top_k", gettext_noop("Long-term entries at most"), Widget.NUMBER, default=10,
              low=1, high=100,
              help=gettext_noop("The ten newest of working memory come before them.")),
        RECENCY,
        Field("language", gettext_noop("Language of the headings"), Widget.CHOICE, default="", choices=(
            ("", gettext_noop("As what is searched for")),
            ("en", "English"),
            ("zh-hans", "简体中文"),
        )),
    )  # fmt: skip

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        passed = self.configure(spec).inputs
        return (
            Output(
                CONTEXT, "string", gettext_noop("Markdown: a record each, best first; or empty")
            ),
            *(Output(name, help=gettext_noop("As it came in")) for name in passed),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(self.configure(spec).inputs.values())

    async def run(self, prepared: RetrievalConfig, ctx: NodeContext) -> NodeResult:
        inputs = {name: ctx.pool.get_or_none(at) for name, at in prepared.inputs.items()}
        query = query_of(*(inputs.get(name) for name in ASKING))
        ctx.give({"scope": prepared.scope, "query": query, **inputs})
        try:
            async with asyncio.timeout(PATIENCE):
                records, withheld = await _retrieve(prepared, ctx, query, _group(inputs))
        except Exception as fault:
            # Whatever it was: memory is an extra here. What isn't expected is loud in the log.
            failed = MemoryRetrievalError(ctx.node_id, _told(fault))
            log.warning("memory_retrieval_failed", exc_info=fault, extra={"node": ctx.node_id})
            return NodeResult({**inputs, CONTEXT: ""}, events=(failed,))
        heed(ctx, [record.hit for record in records])
        values = [text_of(record.hit.value) for record in records]
        context = markdown(records, wording_for(prepared.language, query, *values))
        recalled = replace(_recalled(prepared, ctx, query, records), withheld=withheld)
        return NodeResult({**inputs, CONTEXT: context}, events=(recalled,))


async def _retrieve(
    config: RetrievalConfig, ctx: NodeContext, query: str, group_id: str | None
) -> tuple[list[Record[MemoryHit]], str | None]:
    """Working memory first, and the rest by what is asked; of nothing asked there is nothing to find.
    With them why memory gave nothing, where it says so."""
    memory = memory_of(ctx, config.scope)
    withheld: str | None = None

    async def ask(tier: str, text: str | None, most: int) -> Sequence[MemoryHit]:
        nonlocal withheld
        found = await memory.recall(
            scope=config.scope,
            identity=ctx.identity,
            origin=ctx.origin,
            query_text=text,
            filter={"tier": tier},
            top_k=most,
            group_id=group_id,
            recency_days=config.recency_days if text else None,
        )
        withheld = getattr(found, "withheld", None)
        # An author's own metadata may be called "tier", too.
        return [hit for hit in found if getattr(hit, "tier", tier) == tier]

    working = await ask("working", None, WORKING_ENTRIES)
    long_term = await ask("long_term", query, config.top_k) if query else ()
    return merge(working, long_term), withheld


def _group(inputs: dict[str, Json]) -> str | None:
    given = inputs.get("group_id")
    return as_text(given) or None if given is not None else None


def _recalled(
    config: RetrievalConfig, ctx: NodeContext, query: str, records: Sequence[Record[MemoryHit]]
) -> MemoryRecalled:
    return MemoryRecalled(
        node=ctx.node_id,
        scope=config.scope,
        namespace=records[0].hit.namespace if records else "",
        query=query or None,
        entries=[{**brief(record.hit), "score": record.score} for record in records],
    )


def _told(fault: Exception) -> str:
    """In words where they are meant for people; what broke inside stays in the log."""
    if isinstance(fault, WorkflowFault):
        return fault.message
    if isinstance(fault, TimeoutError):
        return f"Memory did not answer within {PATIENCE:g} s"
    if hasattr(fault, "is_recoverable"):  # memory's own family
        return str(fault) or (type(fault).__doc__ or "").strip()
    return "Memory could not be asked"
