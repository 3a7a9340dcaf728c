"""Recall: what memory knows, as a list of entries."""

from typing import Any

from pydantic import Field as Bounded

from workflows.engine.document import NodeSpec, Selector
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
from workflows.engine.recalling import as_entry, query_of, recall
from workflows.engine.remembering import DEFAULT_SCOPE, MAX_RECENCY_DAYS, RECENCY, SCOPES


class RecallConfig(NodeConfig):
    scope: str
    key: str | None = None
    query_selector: tuple[str, ...] | None = None
    top_k: int = Bounded(default=5, ge=1)
    filter: dict[str, Any] | None = None
    recency_days: float | None = Bounded(default=None, gt=0, le=MAX_RECENCY_DAYS)


class MemoryRecall(NodeKind[RecallConfig, RecallConfig]):
    name = "memory-recall"
    title = gettext_noop("Recall")
    description = gettext_noop("Looks something up in memory.")
    group = "memory"
    config_model = RecallConfig
    needs_memory = True
    fields = (
        Field("scope", gettext_noop("Whose memory"), Widget.CHOICE, required=True,
              default=DEFAULT_SCOPE, choices=SCOPES),
        Field("query_selector", gettext_noop("Search for"), Widget.SELECTOR,
              help=gettext_noop("Without a variable the newest entries are taken.")),
        Field("key", gettext_noop("Exactly this key"),
              help=gettext_noop("Instead of searching; not a template.")),
        Field("top_k", gettext_noop("At most"), Widget.NUMBER, default=5, low=1, high=100),
        Field("filter", gettext_noop("Only with this metadata"), Widget.OBJECT,
              example={"category": "fact"}),
        RECENCY,
    )  # fmt: skip

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output(
                "results", "array[object]", gettext_noop("Entries, best first: key, value, score…")
            ),
            Output("count", "number", gettext_noop("How many there are")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).query_selector
        return (selector,) if selector else ()

    async def run(self, prepared: RecallConfig, ctx: NodeContext) -> NodeResult:
        query = query_of(prepared.query_selector, ctx)
        ctx.give({"scope": prepared.scope, "query": query, "key": prepared.key})
        hits, event = await recall(
            ctx,
            scope=prepared.scope,
            key=prepared.key or None,
            query=query,
            filter=prepared.filter or None,
            top_k=prepared.top_k,
            recency_days=prepared.recency_days,
        )
        return NodeResult(
            {"results": [as_entry(hit) for hit in hits], "count": len(hits)},
            events=(event,),
        )
