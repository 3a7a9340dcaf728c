"""Knowledge retrieval: searches the knowledge pages of the workflow, or knowledge bases of the team together.

Words and meaning find the pages. A model is asked only where the author's settings say so: to choose one of several
knowledge bases, to read conditions from the question, or to rank the pages again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.errors import ConditionInvalid, ModelNeeded
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label, read_knowledge_bases
from workflows.engine.language.problems import Problem
from workflows.engine.memory_ports import NamedKnowledgeBase, PageHit
from workflows.engine.model_records import USAGE, describe_usage
from workflows.engine.nodes.memory.knowledge.config import (
    KnowledgeConfig,
)
from workflows.engine.nodes.memory.knowledge.fields import KNOWLEDGE_FIELDS
from workflows.engine.nodes.memory.knowledge.metadata_filters import (
    MetadataFilter,
    build_filter,
    check_conditions,
    list_condition_references,
)
from workflows.engine.nodes.memory.knowledge.model_ranking import CANDIDATES
from workflows.engine.nodes.memory.knowledge.questions import (
    choose_knowledge_base,
    find_conditions,
)
from workflows.engine.nodes.memory.knowledge.reranking import ScoredPage, rank_again
from workflows.engine.nodes.memory.memory_access import (
    build_recalled_event,
    get_knowledge,
    get_query,
    record_shown_hits,
    record_untrusted_hits,
)
from workflows.engine.nodes.memory.model_text import HelperModel
from workflows.engine.ports import Usage
from workflows.engine.texts import Phrase, Text, gettext_noop


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
    leak_check_settings = (
        *(
            {"scope": scope, "query_variable_selector": ["start", "text"], "min_score": 0.0}
            for scope in ("user", "global", "conversation")
        ),
        {
            "knowledge_bases": ["global:default"],
            "query_variable_selector": ["start", "text"],
            "min_score": 0.0,
        },
    )
    needs_memory = True
    default_scope = "global"
    fields = KNOWLEDGE_FIELDS

    def summarize(self, data: Data) -> Iterable[Text]:
        query = data.get("query_variable_selector") or data.get("query_selector")
        names = [text.partition(":")[2] for text in read_knowledge_bases(data)]
        scope_or_base: Text = get_scope_label(data.get("scope") or self.default_scope)
        if names:
            count = len(names) - 1
            more = Phrase(
                gettext_noop("%(name)s and %(count)s more"), {"name": names[0], "count": count}
            )
            scope_or_base = more if count else names[0]
        return [scope_or_base, get_variable_name(query)]

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        if config.metadata_filtering_mode != "manual":
            return []
        try:
            check_conditions(config.conditions)
        except ConditionInvalid as invalid:
            name = "metadata_filtering_conditions"
            return [Problem("condition.invalid", invalid.message, spec.id, name)]
        return []

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        result = gettext_noop("Pages, most relevant first: title, content, score…")
        count = gettext_noop("Number of results")
        notes = gettext_noop("What could not be done as the settings say, such as reranking")
        return (
            Output("result", "array[object]", result),
            Output("count", "number", count),
            Output("notes", "array[string]", notes),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        in_conditions: tuple[Selector, ...] = ()
        if config.metadata_filtering_mode == "manual":
            in_conditions = tuple(list_condition_references(config.conditions))
        return (config.query_variable_selector, *in_conditions)

    async def run(self, prepared: KnowledgeConfig, ctx: NodeContext) -> NodeResult:
        search = _Search(prepared, ctx, get_query(prepared.query_variable_selector, ctx) or "")
        inputs: dict[str, Json] = {"scope": prepared.scope, "query": search.query}
        if prepared.knowledge_bases:
            inputs = {"knowledge_bases": list(prepared.knowledge_bases), "query": search.query}
        ctx.record_inputs({**inputs, "tags": list(prepared.tags)})
        pages = await search.find()
        hits = [page.hit.entry for page in pages]
        record_hits = record_untrusted_hits if prepared.is_of_documents else record_shown_hits
        record_hits(ctx, hits)
        event = build_recalled_event(ctx, prepared.scope, search.query, hits)
        result = [
            _build_result(position, page, search.names)
            for position, page in enumerate(pages, start=1)
        ]
        outputs: dict[str, Json] = {
            "result": result,
            "count": len(result),
            "notes": search.notes,
        }
        if search.helper_usage is not None:
            outputs[USAGE] = describe_usage(search.helper_usage)
        return NodeResult(outputs, events=(event,), usage=search.usage)


@dataclass(slots=True)
class _Search:
    """The search of one step, with what it learned on its way: names, notes, and the tokens of models."""

    config: KnowledgeConfig
    ctx: NodeContext
    query: str
    names: Mapping[str, str] = field(default_factory=dict)  # of knowledge bases, by namespace
    notes: list[str] = field(default_factory=list)
    helper_usage: Usage | None = None  # of the model that chose what to search
    ranking_usage: Usage | None = None

    @property
    def usage(self) -> Usage | None:
        usages = [usage for usage in (self.helper_usage, self.ranking_usage) if usage is not None]
        return sum(usages, Usage()) if usages else None

    async def find(self) -> Sequence[ScoredPage]:
        get_knowledge(self.ctx, self._scope)  # an error without memory, also for an empty query
        if not self.query.strip():
            return []
        bases = await self._list_knowledge_bases()
        if self.config.knowledge_bases and not bases:
            return []
        metadata = await self._build_filter()
        if metadata:
            self.ctx.recorded_inputs["metadata_filter"] = metadata.describe()
        if self.config.retrieval_mode == "single" and len(bases) > 1:
            bases = await self._choose(bases, metadata)
        is_reranked = self.config.reranking is not None
        hits = await self._find_pages(
            bases,
            metadata,
            top_k=max(CANDIDATES, self.config.max_results)
            if is_reranked
            else self.config.max_results,
            min_score=0.0 if is_reranked else self.config.score_threshold,
        )
        ranking = await rank_again(self.config, self.query, hits, self.ctx)
        self.notes += ranking.notes
        self.ranking_usage = ranking.usage
        return ranking.pages

    @property
    def _scope(self) -> str:
        return "global" if self.config.knowledge_bases else self.config.scope

    async def _find_pages(
        self,
        bases: Sequence[NamedKnowledgeBase],
        metadata: MetadataFilter,
        *,
        top_k: int,
        min_score: float,
    ) -> Sequence[PageHit]:
        return await get_knowledge(self.ctx, self._scope).find_pages(
            scope=self._scope,
            identity=self.ctx.identity,
            origin=self.ctx.origin,
            query=self.query,
            top_k=top_k,
            min_score=min_score,
            tags=self.config.tags,
            namespaces=[base.namespace for base in bases],
            accepts=metadata.accepts if metadata else None,
        )

    async def _list_knowledge_bases(self) -> Sequence[NamedKnowledgeBase]:
        """Return the named knowledge bases that exist, and note the others."""
        if not self.config.knowledge_bases:
            return []
        bases = await get_knowledge(self.ctx, self._scope).list_knowledge_bases(
            identity=self.ctx.identity,
            origin=self.ctx.origin,
            namespaces=self.config.knowledge_bases,
        )
        self.names = {base.namespace: base.name for base in bases}
        self.notes += [
            f"The knowledge base {base.namespace} does not exist."
            for base in bases
            if not base.exists
        ]
        return [base for base in bases if base.exists]

    async def _build_filter(self) -> MetadataFilter:
        mode = self.config.metadata_filtering_mode
        if mode == "manual":
            metadata, notes = build_filter(self.config.conditions, self.ctx.pool)
            self.notes += notes
            return metadata
        if mode != "automatic":
            return MetadataFilter()
        model = self.config.metadata_model_config or HelperModel()
        try:
            metadata, usage = await find_conditions(model, self.query, self.ctx)
        except ModelNeeded:
            self.notes.append("not filtered by metadata: this needs a language model")
            return MetadataFilter()
        self._add_usage(usage)
        return metadata

    async def _choose(
        self, bases: Sequence[NamedKnowledgeBase], metadata: MetadataFilter
    ) -> Sequence[NamedKnowledgeBase]:
        """Return the one knowledge base to search, or all if the model named none of them."""
        single = self.config.single_retrieval_config
        try:
            choice, usage = await choose_knowledge_base(
                single.model if single else HelperModel(), self.query, bases, self.ctx
            )
        except ModelNeeded:
            return await self._choose_by_best_page(bases, metadata)
        self._add_usage(usage)
        if choice is None:
            self.notes.append("The model chose no knowledge base, so that all were searched.")
            return bases
        self.ctx.recorded_inputs["chosen"] = choice.namespace
        return [choice]

    async def _choose_by_best_page(
        self, bases: Sequence[NamedKnowledgeBase], metadata: MetadataFilter
    ) -> Sequence[NamedKnowledgeBase]:
        hits = await self._find_pages(bases, metadata, top_k=CANDIDATES, min_score=0.0)
        best = max(hits, key=lambda hit: hit.score, default=None)
        self.notes.append(
            "No language model is connected, so that the knowledge base with the most relevant page was chosen."
        )
        if best is None:
            return bases
        self.ctx.recorded_inputs["chosen"] = best.entry.namespace
        return [base for base in bases if base.namespace == best.entry.namespace]

    def _add_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            former = self.helper_usage
            self.helper_usage = usage if former is None else former + usage


def _build_result(position: int, page: ScoredPage, names: Mapping[str, str]) -> dict[str, Json]:
    """Build a result like a document of Dify's knowledge, so that prompts written for Dify work unchanged."""
    hit = page.hit
    values: dict[str, Any] = dict(hit.page)
    namespace = hit.entry.namespace
    source = dict(hit.source) if hit.source else None
    return {
        "title": values["title"],
        "content": values["content"] or values["summary"],
        "summary": values["summary"],
        "url": str((source or {}).get("url") or ""),
        "icon": "",
        "metadata": {
            "_source": "knowledge",
            "retriever_from": "workflow",
            "dataset_id": namespace,
            "dataset_name": names.get(namespace) or namespace.rpartition(":")[2],
            "document_id": values["id"],
            "document_name": values["title"],
            "segment_position": position,
            "score": page.score,
            "position": position,
            "parts": dict(hit.parts),
            "tags": values["tags"],
            "references": values["references"],
            "updated_at": values["updated_at"],
            "entry_id": hit.entry.id,
            **({"source": source} if source else {}),
        },
    }
