"""The fields of the form of the node that retrieves knowledge."""

from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.nodes.memory.knowledge.config import (
    DEFAULT_KEYWORD_WEIGHT,
    DEFAULT_MIN_SCORE,
    DEFAULT_TOP_K,
    DEFAULT_VECTOR_WEIGHT,
    RERANKING_MODEL,
    WEIGHTED_SCORE,
)
from workflows.engine.nodes.memory.memory_access import PAGE_SCOPES
from workflows.engine.texts import gettext_noop


_TEAM_MODEL: Final = {"provider": "default", "name": "", "mode": "chat"}

_RANKING_FIELDS: Final = (
    Field("reranking_enable", gettext_noop("Rerank"), Widget.SWITCH),
    Field("reranking_mode", gettext_noop("Rerank by"), Widget.CHOICE, default=WEIGHTED_SCORE,
          choices=(
              (WEIGHTED_SCORE, gettext_noop("Weights of words and meaning")),
              (RERANKING_MODEL, gettext_noop("Reranking model")),
          )),
    Field("weights", gettext_noop("Weights"), Widget.WEIGHTS,
          shown_when=("reranking_mode", (WEIGHTED_SCORE,)),
          default={"vector_setting": {"vector_weight": DEFAULT_VECTOR_WEIGHT},
                   "keyword_setting": {"keyword_weight": DEFAULT_KEYWORD_WEIGHT}},
          help=gettext_noop("From 0 to 1. Without a search by meaning, words alone count.")),
    Field("reranking_model", gettext_noop("Reranking model"), Widget.RERANK_MODEL,
          shown_when=("reranking_mode", (RERANKING_MODEL,)),
          example={"provider": "jina", "model": "jina-reranker-v2-base-multilingual"},
          help=gettext_noop("A model of a connected provider that scores documents. Empty: the team's default.")),
)  # fmt: skip

KNOWLEDGE_FIELDS: Final = (
    Field("query_variable_selector", gettext_noop("Query variable"), Widget.SELECTOR,
          required=True, presets_message=True),
    Field("knowledge_bases", gettext_noop("Knowledge bases"), Widget.KNOWLEDGE_BASES,
          help=gettext_noop("They are searched together. Without any, the pages of the scope are searched."),
          example=["global:handbook"]),
    Field("scope", gettext_noop("Scope"), Widget.CHOICE, default="global", choices=PAGE_SCOPES,
          shown_when=("knowledge_bases", (None, []))),
    Field("top_k", gettext_noop("Max results (Top K)"), Widget.NUMBER, default=DEFAULT_TOP_K,
          low=1, high=100),
    Field("min_score", gettext_noop("Minimum relevance"), Widget.NUMBER,
          default=DEFAULT_MIN_SCORE, low=0, high=1,
          help=gettext_noop("From 0 to 1. Leaves out pages that match less of the query.")),
    Field("tags", gettext_noop("Tag filter"), Widget.STRINGS,
          example=["release"], is_advanced=True),
    Field("multiple_retrieval_config", gettext_noop("Rerank"), Widget.SECTION,
          fields=_RANKING_FIELDS, is_advanced=True,
          help=gettext_noop("Puts the pages that words and meaning find into a better order.")),
    Field("retrieval_mode", gettext_noop("Search in"), Widget.CHOICE, default="multiple",
          is_advanced=True,
          choices=(
              ("multiple", gettext_noop("All chosen knowledge bases")),
              ("single", gettext_noop("The one that a model chooses")),
          )),
    Field("single_retrieval_config", gettext_noop("Model that chooses"), Widget.SECTION,
          shown_when=("retrieval_mode", ("single",)), is_advanced=True,
          fields=(Field("model", gettext_noop("Model"), Widget.MODEL, default=_TEAM_MODEL),),
          help=gettext_noop("By name, description and titles of pages. Without a language model, the knowledge base with the most relevant page is searched.")),
    Field("metadata_filtering_mode", gettext_noop("Metadata filter"), Widget.CHOICE,
          default="disabled", is_advanced=True,
          choices=(
              ("disabled", gettext_noop("Off")),
              ("manual", gettext_noop("Conditions")),
              ("automatic", gettext_noop("Conditions that a model reads from the query")),
          )),
    Field("metadata_filtering_conditions", gettext_noop("Conditions"), Widget.PAGE_CONDITIONS,
          shown_when=("metadata_filtering_mode", ("manual",)), is_advanced=True,
          help=gettext_noop("On the title, source, tags, dates and uploader of a page, or on a field of its header."),
          example={"logical_operator": "and", "conditions": [
              {"name": "tags", "comparison_operator": "contains", "value": "release"}]}),
    Field("metadata_model_config", gettext_noop("Model that reads the conditions"), Widget.MODEL,
          shown_when=("metadata_filtering_mode", ("automatic",)), is_advanced=True,
          default=_TEAM_MODEL),
)  # fmt: skip
