"""Ranking of pages without any model, by the keywords of a query and their overlap with the fields of a page.

The Dice coefficient over single terms and pairs is computed field by field, so that a short title counts as much as a
long text; a long text is compared passage by passage. The fields are combined like independent probabilities, so that
two partial matches score higher than one and the score never exceeds 1. BM25 can be added, and semantic similarity as
one more field, whose absence lowers no score.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.core.recall.ranking import Text, rank
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.logic.conversations.summary import split_sentences
from memory.logic.entries.text_similarity import (
    Grams,
    build_grams,
    compute_dice_coefficient,
    extract_keywords,
)
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.pages import KnowledgePage


NO_SIMILARITIES: Mapping[str, float] = {}

# The most that a field alone contributes; a title that equals the query is the answer.
_FIELD_WEIGHTS = {"title": 1.0, "tags": 0.8, "summary": 0.9, "content": 0.8}
_NO_OVERLAP = dict.fromkeys(_FIELD_WEIGHTS, 0.0)
_SIMILARITY_WEIGHT = 0.5  # even the nearest page may be about something else


@dataclass(frozen=True, slots=True)
class RetrieverConfig:
    """The settings of a ranking. A ``bm25_weight`` of 1 makes BM25 half of the score."""

    max_results: int = 20
    min_score: float = 0.1
    bm25_weight: float = 0.0
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A page with its score; ``parts`` are the scores of each field and of BM25."""

    page: KnowledgePage
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    items: tuple[ScoredItem, ...]
    query: str


class MemoryRetriever:
    """A ranking of all pages of a store with one configuration."""

    def __init__(self, store: KnowledgeStore, config: RetrieverConfig = RetrieverConfig()) -> None:
        self._store = store
        self._config = config

    def retrieve(self, query: str) -> RetrievalResult:
        return RetrievalResult(rank_pages(query, self._store.list_pages(), self._config), query)


def rank_pages(
    query: str,
    pages: Sequence[KnowledgePage],
    config: RetrieverConfig = RetrieverConfig(),
    similarities: Mapping[str, float] = NO_SIMILARITIES,
) -> tuple[ScoredItem, ...]:
    """Return the pages with at least ``min_score``, best first, ties by id. ``similarities`` are semantic, by page id."""
    if not extract_keywords(query, config.language):
        return ()
    lexical_scores = (
        _score_lexically(query, pages, config) if config.bm25_weight else [0.0] * len(pages)
    )
    items = []
    for page, lexical in zip(pages, lexical_scores, strict=True):
        # BM25 has read the whole page: without a hit, no field has a term of the query.
        has_no_term = config.bm25_weight and not lexical
        parts = dict(_NO_OVERLAP) if has_no_term else compute_overlap(query, page, config.language)
        items.append(_build_scored_item(page, parts, lexical, config.bm25_weight))
    if similarities:
        items = [_add_similarity(item, similarities.get(item.page.id, 0.0)) for item in items]
    matches = [item for item in items if item.score >= config.min_score]
    matches.sort(key=lambda item: (-item.score, item.page.id))
    return tuple(matches[: config.max_results])


def compute_overlap(
    query: str, page: KnowledgePage, language: str = DEFAULT_LANGUAGE
) -> dict[str, float]:
    """Compute Dice's coefficient of the query with each field, from 0 to 1."""
    grams = build_grams(query, language)
    return {
        "title": _score_best(grams, [page.title], language),
        "tags": _score_best(grams, page.tags, language),
        "summary": _score_best(grams, _list_passages(page.summary), language),
        "content": _score_best(grams, _list_passages(page.content), language),
    }


def combine_scores(parts: Mapping[str, float]) -> float:
    """Combine the scores of the fields like independent probabilities."""
    return 1.0 - math.prod(1.0 - weight * parts[name] for name, weight in _FIELD_WEIGHTS.items())


def _score_best(grams: Grams, texts: Sequence[str], language: str) -> float:
    scores = (compute_dice_coefficient(grams, build_grams(text, language)) for text in texts)
    return max(scores, default=0.0)


def _list_passages(text: str) -> list[str]:
    """List the sentences, and the pairs of neighboring sentences."""
    sentences = split_sentences(text)
    return [*sentences, *map(" ".join, pairwise(sentences))]


def _build_scored_item(
    page: KnowledgePage, parts: dict[str, float], lexical: float, bm25_weight: float
) -> ScoredItem:
    score = (combine_scores(parts) + bm25_weight * lexical) / (1.0 + bm25_weight)
    return ScoredItem(page, score, {**parts, "bm25": lexical} if bm25_weight else parts)


def _add_similarity(item: ScoredItem, similarity: float) -> ScoredItem:
    score = 1.0 - (1.0 - item.score) * (1.0 - _SIMILARITY_WEIGHT * similarity)
    return ScoredItem(item.page, score, {**item.parts, "vector": similarity})


def _score_lexically(
    query: str, pages: Sequence[KnowledgePage], config: RetrieverConfig
) -> list[float]:
    """Score the pages from 0 to 1 as the store scores entries; pages without any term get 0."""
    texts = [
        "\n".join((page.title, page.summary, " ".join(page.tags), page.content)) for page in pages
    ]
    hits = rank(query, list(map(Text, texts)), language=config.language)
    scores = {hit.position: hit.score for hit in hits}
    return [scores.get(position, 0.0) for position in range(len(pages))]
