"""Find pages: what the knowledge pages say about a question, with no model asked."""

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict
from pydantic import Field as Bounded

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import MemoryUnavailable
from workflows.engine.events import MemoryRecalled
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
from workflows.engine.memory_ports import FoundPage, KnowledgePort
from workflows.engine.recalling import brief, heed, memory_of, query_of


DEFAULT_TOP_K, DEFAULT_MIN_SCORE = 5, 0.1


class Multiple(BaseModel):
    """Dify's; reranking is a model's affair and there is none here."""

    model_config = ConfigDict(extra="allow", frozen=True)

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
    multiple_retrieval_config: Multiple | None = None

    @property
    def most(self) -> int:
        asked = self.multiple_retrieval_config
        return self.top_k or (asked.top_k if asked else None) or DEFAULT_TOP_K

    @property
    def least_score(self) -> float:
        asked = self.multiple_retrieval_config
        found = asked.score_threshold if self.min_score is None and asked else self.min_score
        return DEFAULT_MIN_SCORE if found is None else found


class KnowledgeRetrieval(NodeKind[KnowledgeConfig, KnowledgeConfig]):
    name = "knowledge-retrieval"
    title = gettext_noop("Find pages")
    description = gettext_noop("Looks something up in the knowledge pages.")
    group = "memory"
    config_model = KnowledgeConfig
    needs_memory = True
    fields = (
        Field("scope", gettext_noop("Whose pages"), Widget.CHOICE, default="global", choices=(
            ("global", gettext_noop("Everyone")),
            ("user", gettext_noop("This person")),
            ("conversation", gettext_noop("This conversation")),
        )),
        Field("query_variable_selector", gettext_noop("Search for"), Widget.SELECTOR,
              required=True),
        Field("top_k", gettext_noop("At most"), Widget.NUMBER, default=DEFAULT_TOP_K,
              low=1, high=100),
        Field("min_score", gettext_noop("At least this relevant"), Widget.NUMBER,
              default=DEFAULT_MIN_SCORE, low=0, high=1),
        Field("tags", gettext_noop("Only with one of these tags"), Widget.STRINGS,
              example=["release"]),
    )  # fmt: skip

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("result", "array[object]",
                   gettext_noop("Pages, best first: title, content, score…")),
            Output("count", "number", gettext_noop("How many there are")),
        )  # fmt: skip

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return (self.configure(spec).query_variable_selector,)

    async def run(self, prepared: KnowledgeConfig, ctx: NodeContext) -> NodeResult:
        query = query_of(prepared.query_variable_selector, ctx) or ""
        ctx.give({"scope": prepared.scope, "query": query, "tags": list(prepared.tags)})
        memory = memory_of(ctx, prepared.scope)
        if not isinstance(memory, KnowledgePort):
            raise MemoryUnavailable("This memory keeps no knowledge pages")
        found = await memory.find_pages(
            scope=prepared.scope,
            identity=ctx.identity,
            origin=ctx.origin,
            query=query,
            top_k=prepared.most,
            min_score=prepared.least_score,
            tags=prepared.tags,
        )
        hits = [one.entry for one in found]
        heed(ctx, hits)
        event = MemoryRecalled(
            node=ctx.node_id,
            scope=prepared.scope,
            namespace=hits[0].namespace if hits else "",
            query=query,
            entries=[brief(hit) for hit in hits],
        )
        result = [_result(place, one) for place, one in enumerate(found, start=1)]
        return NodeResult({"result": result, "count": len(result)}, events=(event,))


def _result(place: int, found: FoundPage) -> dict[str, Json]:
    """As a document of Dify's knowledge, so that a prompt written for one takes the other."""
    page: dict[str, Any] = dict(found.page)
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
            "score": found.score,
            "position": place,
            "parts": dict(found.parts),
            "tags": page["tags"],
            "references": page["references"],
            "updated_at": page["updated_at"],
            "entry_id": found.entry.id,
        },
    }
