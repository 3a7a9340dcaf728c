"""Knowledge retrieval: searches the knowledge pages, without asking a model."""

from collections.abc import Iterable
from typing import Any

from pydantic import AliasChoices
from pydantic import Field as Bounded

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.memory_ports import PageHit
from workflows.engine.nodes.memory.memory_access import (
    PAGE_SCOPES,
    build_recalled_event,
    get_knowledge,
    get_query,
    record_untrusted_hits,
)
from workflows.engine.texts import Text, gettext_noop


DEFAULT_TOP_K, DEFAULT_MIN_SCORE = 5, 0.1


class DifyRetrievalConfig(ConfigPart):
    """Dify's settings, without reranking, which is ignored because it needs a model."""

    top_k: int | None = Bounded(default=None, ge=1, le=100)
    score_threshold: float | None = Bounded(default=None, ge=0, le=1)


class KnowledgeConfig(NodeConfig):
    scope: str = "global"
    query_variable_selector: tuple[str, ...] = Bounded(
        min_length=2, validation_alias=AliasChoices("query_variable_selector", "query_selector")
    )
    top_k: int | None = Bounded(default=None, ge=1, le=100)
    min_score: float | None = Bounded(default=None, ge=0, le=1)
    tags: tuple[str, ...] = ()
    multiple_retrieval_config: DifyRetrievalConfig | None = None

    @property
    def max_results(self) -> int:
        dify = self.multiple_retrieval_config
        return self.top_k or (dify.top_k if dify else None) or DEFAULT_TOP_K

    @property
    def score_threshold(self) -> float:
        dify = self.multiple_retrieval_config
        threshold = dify.score_threshold if self.min_score is None and dify else self.min_score
        return DEFAULT_MIN_SCORE if threshold is None else threshold


class KnowledgeRetrieval(NodeKind[KnowledgeConfig, KnowledgeConfig]):
    name = "knowledge-retrieval"
    title = gettext_noop("Knowledge retrieval")
    description = gettext_noop("Searches the knowledge base")
    group = "memory"
    palette_order = 60
    icon = "book"
    family = "memory"
    dialects = ("dify",)
    config_model = KnowledgeConfig
    leak_check_settings = tuple(
        {"scope": scope, "query_variable_selector": ["start", "text"], "min_score": 0.0}
        for scope in ("user", "global", "conversation")
    )
    needs_memory = True
    default_scope = "global"
    fields = (
        Field("scope", gettext_noop("Scope"), Widget.CHOICE, default="global", choices=PAGE_SCOPES),
        Field("query_variable_selector", gettext_noop("Query variable"), Widget.SELECTOR,
              required=True),
        Field("top_k", gettext_noop("Max results (Top K)"), Widget.NUMBER, default=DEFAULT_TOP_K,
              low=1, high=100),
        Field("min_score", gettext_noop("Minimum relevance"), Widget.NUMBER,
              default=DEFAULT_MIN_SCORE, low=0, high=1,
              help=gettext_noop("From 0 to 1. Leaves out pages that match less of the query.")),
        Field("tags", gettext_noop("Tag filter"), Widget.STRINGS,
              example=["release"]),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        query = data.get("query_variable_selector") or data.get("query_selector")
        return [get_scope_label(data.get("scope") or self.default_scope), get_variable_name(query)]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        result = gettext_noop("Pages, most relevant first: title, content, score…")
        count = gettext_noop("Number of results")
        return (Output("result", "array[object]", result), Output("count", "number", count))

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return (self.configure(spec).query_variable_selector,)

    async def run(self, prepared: KnowledgeConfig, ctx: NodeContext) -> NodeResult:
        query = get_query(prepared.query_variable_selector, ctx) or ""
        ctx.record_inputs({"scope": prepared.scope, "query": query, "tags": list(prepared.tags)})
        pages = await get_knowledge(ctx, prepared.scope).find_pages(
            scope=prepared.scope,
            identity=ctx.identity,
            origin=ctx.origin,
            query=query,
            top_k=prepared.max_results,
            min_score=prepared.score_threshold,
            tags=prepared.tags,
        )
        hits = [page.entry for page in pages]
        record_untrusted_hits(ctx, hits)
        event = build_recalled_event(ctx, prepared.scope, query, hits)
        result = [_build_result(position, page) for position, page in enumerate(pages, start=1)]
        return NodeResult({"result": result, "count": len(result)}, events=(event,))


def _build_result(position: int, hit: PageHit) -> dict[str, Json]:
    """Build a result like a document of Dify's knowledge, so that prompts written for Dify work unchanged."""
    page: dict[str, Any] = dict(hit.page)
    return {
        "title": page["title"],
        "content": page["content"] or page["summary"],
        "summary": page["summary"],
        "url": "",
        "icon": "",
        "metadata": {
            "_source": "knowledge",
            "document_id": page["id"],
            "document_name": page["title"],
            "score": hit.score,
            "position": position,
            "parts": dict(hit.parts),
            "tags": page["tags"],
            "references": page["references"],
            "updated_at": page["updated_at"],
            "entry_id": hit.entry.id,
        },
    }
