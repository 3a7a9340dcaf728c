"""Recall: returns memories as a list of entries, and as text for a prompt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import Field as Bounded
from pydantic import ValidationError

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import (
    FINDS_FORMER,
    INCLUDE_PROFILE,
    INCLUDE_RECENT,
    MAX_RECENCY_DAYS,
    MIN_SCORE,
    RECENCY,
    get_scope_label,
)
from workflows.engine.nodes.memory.history_context import to_text
from workflows.engine.nodes.memory.knowledge.model_ranking import (
    RerankModel,
    count_candidates,
    rank_texts,
)
from workflows.engine.nodes.memory.memory_access import (
    SCOPE_FIELD,
    get_query,
    recall_entries,
    to_entry,
)
from workflows.engine.nodes.memory.profile import exclude_profile, recall_profile
from workflows.engine.nodes.memory.quoting import join_blocks, render_profile, render_quotes
from workflows.engine.ports import MemoryHit, Usage
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


TEXT_OUTPUT: Final = "text"


class Reranking(ConfigPart):
    """Says whether a model puts what is recalled for a query into a better order, and which one."""

    enabled: bool = False
    model: RerankModel = RerankModel()


class RecallConfig(NodeConfig):
    scope: str
    key: str | None = None
    query_selector: tuple[str, ...] | None = None
    top_k: int = Bounded(default=5, ge=1)
    filter: dict[str, Any] | None = None
    min_score: float | None = Bounded(default=None, ge=0, le=1)
    recency_days: float | None = Bounded(default=None, gt=0, le=MAX_RECENCY_DAYS)
    include_recent: bool = False
    include_profile: bool = False
    finds_former: bool = True
    reranking: Reranking = Reranking()


def read_recall_reranking(node: NodeSpec) -> tuple[str, str] | None:
    """Return the provider and the name of the model that is to rank what a node recalls, or None without one."""
    settings = node.data.get("reranking")
    if node.kind != MemoryRecall.name or not isinstance(settings, Mapping):
        return None
    try:
        reranking = Reranking.model_validate(dict(settings))
    except ValidationError:
        return None  # validation reports it
    return (reranking.model.provider, reranking.model.model) if reranking.enabled else None


class MemoryRecall(NodeKind[RecallConfig, RecallConfig]):
    name = "memory-recall"
    title = gettext_noop("Recall")
    description = gettext_noop("Recalls memories by query or key")
    group = "memory"
    palette_order = 10
    icon = "recall"
    family = "memory"
    dialects = ("xworkflow",)
    config_model = RecallConfig
    leak_check_settings = tuple(
        {"scope": scope, "top_k": 50, **selection}
        for scope in ("user", "conversation", "global", "run")
        for selection in ({}, {"query_selector": ["start", "text"]}, {"key": "k"})
    )
    needs_memory = True
    memory_preview = "recall"
    recalled_outputs = ("results",)
    context_output = TEXT_OUTPUT
    fields = (
        SCOPE_FIELD,
        Field("query_selector", gettext_noop("Query variable"), Widget.SELECTOR,
              presets_message=True,
              help=gettext_noop("Without a variable, the most recent entries are returned.")),
        Field("key", gettext_noop("Key (exact match)"), is_advanced=True,
              help=gettext_noop("Looks up one key instead of searching.")),
        Field("top_k", gettext_noop("Max results (Top K)"), Widget.NUMBER, default=5, low=1, high=100),
        INCLUDE_PROFILE,
        INCLUDE_RECENT,
        Field("filter", gettext_noop("Metadata filter"), Widget.METADATA_FILTER,
              is_advanced=True,
              example={"category": "fact"}),
        replace(MIN_SCORE, is_advanced=True),
        replace(RECENCY, is_advanced=True),
        replace(FINDS_FORMER, is_advanced=True),
        Field("reranking", gettext_noop("Rerank"), Widget.SECTION, is_advanced=True, fields=(
            Field("enabled", gettext_noop("Rerank"), Widget.SWITCH),
            Field("model", gettext_noop("Reranking model"), Widget.RERANK_MODEL,
                  shown_when=("enabled", (True,)),
                  example={"provider": "jina", "model": "jina-reranker-v2-base-multilingual"},
                  help=gettext_noop("A model of a connected provider that scores documents. Empty: the team's default.")),
        ), help=gettext_noop("A model puts what is recalled for a query into a better order. If it fails, the order stays.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        key = as_text(data.get("key")) or get_variable_name(data.get("query_selector"))
        return [get_scope_label(data.get("scope")), key]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        text = gettext_noop(
            "The profile, and memories as quoted lines with their dates, for a prompt; or empty"
        )
        results = gettext_noop("Entries, most relevant first: key, value, score…")
        return (
            Output(TEXT_OUTPUT, "string", text),
            Output("results", "array[object]", results),
            Output("count", "number", gettext_noop("Number of results")),
            Output("found", "boolean", gettext_noop("Whether anything relevant was found")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).query_selector
        return (selector,) if selector else ()

    async def run(self, prepared: RecallConfig, ctx: NodeContext) -> NodeResult:
        query = get_query(prepared.query_selector, ctx)
        ctx.record_inputs({"scope": prepared.scope, "query": query, "key": prepared.key})
        profile, events = await recall_profile(ctx) if prepared.include_profile else ((), ())
        ranker = _Ranker(prepared.reranking.model, query or "", prepared.top_k, ctx)
        is_ranked = prepared.reranking.enabled and bool(query) and not prepared.key
        hits, event = await recall_entries(
            ctx,
            scope=prepared.scope,
            key=prepared.key or None,
            query=query,
            filter=prepared.filter or None,
            top_k=prepared.top_k,
            recency_days=prepared.recency_days,
            min_score=prepared.min_score,
            include_recent=prepared.include_recent,
            finds_former=prepared.finds_former,
            ranker=ranker if is_ranked else None,
        )
        outputs: dict[str, Json] = {
            TEXT_OUTPUT: join_blocks(
                render_profile(profile), render_quotes(exclude_profile(hits, profile))
            ),
            "results": [to_entry(hit) for hit in hits],
            "count": len(hits),
            "found": len(hits) > event.recent_count,
        }
        return NodeResult(outputs, events=(*events, event), usage=ranker.usage)


@dataclass(slots=True)
class _Ranker:
    """Ranks what was recalled, and knows afterwards what that cost."""

    model: RerankModel
    query: str
    count: int
    ctx: NodeContext
    usage: Usage | None = None

    @property
    def candidates(self) -> int:
        return count_candidates(self.count)

    async def rank(self, hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
        """Return the best hits, best first. If the model fails, the step notes it, and their order stays."""
        texts = [to_text(hit.value) for hit in hits]
        ranking = await rank_texts(self.model, self.query, texts, self.count, self.ctx)
        if ranking.failure:
            self.ctx.recorded_inputs["note"] = ranking.note
            return hits[: self.count]
        self.usage = ranking.usage
        return [hits[index] for index, _score in ranking.scores][: self.count]
