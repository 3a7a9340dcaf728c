"""The settings of the node that retrieves knowledge: ours, and those of Dify that are carried out."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ValidationError, field_validator
from pydantic import Field as Bounded

from workflows.engine.configuration import ConfigPart, NodeConfig
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.memory_usage import is_knowledge_base
from workflows.engine.nodes.memory.knowledge.model_ranking import RerankModel
from workflows.engine.nodes.memory.model_text import HelperModel


DEFAULT_TOP_K, DEFAULT_MIN_SCORE = 5, 0.1
DEFAULT_VECTOR_WEIGHT, DEFAULT_KEYWORD_WEIGHT = 0.7, 0.3
MAX_KNOWLEDGE_BASES = 50

Reranking = Literal["weighted_score", "reranking_model"]
WEIGHTED_SCORE: Reranking = "weighted_score"
RERANKING_MODEL: Reranking = "reranking_model"

# Forms leave an empty text or 0 where nothing was chosen.
Unset = BeforeValidator(lambda value: None if value in ("", 0) else value)
Weight = Annotated[float, Bounded(ge=0, le=1)]


def _check_knowledge_bases(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not is_knowledge_base(name):
            raise ValueError(f"{name[:100]!r} must begin with global: and hold no variable")
    return names


# Namespaces of the team. They are literal, so that nothing in a run can name another one. A new row of a form is empty.
KnowledgeBases = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda value: [name for name in value if name != ""] if isinstance(value, list) else value
    ),
    AfterValidator(_check_knowledge_bases),
    Bounded(max_length=MAX_KNOWLEDGE_BASES),
]


class VectorSetting(ConfigPart):
    vector_weight: Weight = DEFAULT_VECTOR_WEIGHT


class KeywordSetting(ConfigPart):
    keyword_weight: Weight = DEFAULT_KEYWORD_WEIGHT


class Weights(ConfigPart):
    vector_setting: VectorSetting = VectorSetting()
    keyword_setting: KeywordSetting = KeywordSetting()


class MultipleRetrieval(ConfigPart):
    """How the pages of several knowledge bases become one list."""

    top_k: Annotated[int | None, Unset] = Bounded(default=None, ge=1, le=100)
    score_threshold: float | None = Bounded(default=None, ge=0, le=1)
    score_threshold_enabled: bool | None = None
    reranking_enable: bool | None = None
    reranking_mode: Annotated[Reranking | None, Unset] = None
    reranking_model: RerankModel | None = None
    weights: Weights | None = None

    @property
    def reranking(self) -> Reranking | None:
        """Return how the pages are ranked again. A document that doesn't say whether they are needs what it names."""
        has_model = self.reranking_model is not None and bool(self.reranking_model.model)
        if self.reranking_enable:
            return self.reranking_mode or (
                WEIGHTED_SCORE if self.weights and not has_model else RERANKING_MODEL
            )
        if self.reranking_enable is False:
            return None
        if self.reranking_mode == WEIGHTED_SCORE or not has_model:
            return WEIGHTED_SCORE if self.weights else None
        return RERANKING_MODEL


class SingleRetrieval(ConfigPart):
    model: HelperModel = HelperModel()


class MetadataCondition(ConfigPart):
    name: str = ""
    comparison_operator: str = ""
    value: Json = None


class MetadataConditions(ConfigPart):
    logical_operator: str | None = None
    conditions: tuple[MetadataCondition, ...] = ()

    @field_validator("conditions", mode="before")
    @classmethod
    def _read_empty(cls, value: Any) -> Any:  # as documents have it
        return () if value is None else value


class KnowledgeConfig(NodeConfig):
    knowledge_bases: KnowledgeBases = ()
    scope: str = "global"
    query_variable_selector: tuple[str, ...] = Bounded(
        min_length=2, validation_alias=AliasChoices("query_variable_selector", "query_selector")
    )
    top_k: int | None = Bounded(default=None, ge=1, le=100)
    min_score: float | None = Bounded(default=None, ge=0, le=1)
    tags: tuple[str, ...] = ()
    retrieval_mode: Annotated[Literal["single", "multiple"] | None, Unset] = None
    single_retrieval_config: SingleRetrieval | None = None
    multiple_retrieval_config: MultipleRetrieval | None = None
    metadata_filtering_mode: Annotated[Literal["disabled", "manual", "automatic"] | None, Unset] = (
        None
    )
    metadata_filtering_conditions: MetadataConditions | None = None
    metadata_model_config: HelperModel | None = None

    @property
    def is_of_documents(self) -> bool:
        """Return whether the pages are documents of the team, and not what is remembered of a person or conversation."""
        return bool(self.knowledge_bases) or self.scope == "global"

    @property
    def max_results(self) -> int:
        return self.top_k or self._multiple.top_k or DEFAULT_TOP_K

    @property
    def author_threshold(self) -> float | None:
        """Return the lowest score that the author allows, or None without such a limit."""
        if self.min_score is not None:
            return self.min_score
        multiple = self._multiple
        return None if multiple.score_threshold_enabled is False else multiple.score_threshold

    @property
    def score_threshold(self) -> float:
        threshold = self.author_threshold
        return DEFAULT_MIN_SCORE if threshold is None else threshold

    @property
    def reranking(self) -> Reranking | None:
        # With one knowledge base to search, Dify uses the settings of that one, which don't come with a document.
        return None if self.retrieval_mode == "single" else self._multiple.reranking

    @property
    def rerank_model(self) -> RerankModel:
        return self._multiple.reranking_model or RerankModel()

    @property
    def weights(self) -> Weights:
        return self._multiple.weights or Weights()

    @property
    def conditions(self) -> MetadataConditions:
        return self.metadata_filtering_conditions or MetadataConditions()

    @property
    def _multiple(self) -> MultipleRetrieval:
        return self.multiple_retrieval_config or MultipleRetrieval()


def show_carried_out(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the data for a form: the number and the relevance of pages are shown where Dify's settings state them."""
    try:
        config = KnowledgeConfig.model_validate(dict(data))
    except ValidationError:
        return data
    multiple = config.multiple_retrieval_config or MultipleRetrieval()
    defaults: dict[str, Json] = {}
    if config.top_k is None and multiple.top_k:
        defaults["top_k"] = multiple.top_k
    if config.min_score is None and config.author_threshold is not None:
        defaults["min_score"] = config.author_threshold
    if multiple.reranking != multiple.reranking_mode or not multiple.reranking_enable:
        settings = dict(data.get("multiple_retrieval_config") or {})
        settings |= {"reranking_enable": multiple.reranking is not None}
        mode = multiple.reranking or multiple.reranking_mode
        defaults["multiple_retrieval_config"] = settings | (
            {"reranking_mode": mode} if mode else {}
        )
    return {**data, **defaults}


def read_rerank_model(node: NodeSpec) -> tuple[str, str] | None:
    """Return the provider and the name of the model that is to rank the pages of a node again, or None without one.

    Both are empty if the document names no model.
    """
    if node.kind != "knowledge-retrieval" or not node.data.get("multiple_retrieval_config"):
        return None
    try:
        config = KnowledgeConfig.model_validate(dict(node.data))
    except ValidationError:
        return None  # validation reports it
    model = config.rerank_model
    return (model.provider, model.model) if config.reranking == RERANKING_MODEL else None


def list_retrieval_models(node: NodeSpec) -> list[tuple[str, str]]:
    """Return the provider and the name of each language model that a node asks before its search."""
    if node.kind != "knowledge-retrieval":
        return []
    try:
        config = KnowledgeConfig.model_validate(dict(node.data))
    except ValidationError:
        return []
    single, models = config.single_retrieval_config, []
    if config.retrieval_mode == "single" and single is not None:
        models.append(single.model)
    if config.metadata_filtering_mode == "automatic" and config.metadata_model_config is not None:
        models.append(config.metadata_model_config)
    return [(model.provider, model.name) for model in models if model.provider]
