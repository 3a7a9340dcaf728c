"""Ranking of pages without any model, by the keywords of a query and their overlap with the fields of a page.

The Dice coefficient over single terms and pairs is computed field by field, so that a short title counts as much as a
long text; a long text is compared passage by passage. The fields are combined like independent probabilities, so that
two partial matches score higher than one and the score never exceeds 1. BM25 can be added, and semantic similarity as
one more field, whose absence lowers no rank.

With BM25, which only compares pages with each other, this is the order of the pages. Their score is then that of
``memory.core.recall.relevance``: the share of the query that a page meets.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.core.recall.ranking import Hit, Text, rank_texts
from memory.core.recall.similarity import Nearness
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


NO_NEARNESS: Mapping[str, Nearness] = {}

# The most that a field alone contributes; a title that equals the query is the answer.
_FIELD_WEIGHTS = {"title": 1.0, "tags": 0.8, "summary": 0.9, "content": 0.8}
_NO_OVERLAP = dict.fromkeys(_FIELD_WEIGHTS, 0.0)
_FAR = Nearness(0.0, 0.0)
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
    """A page with its score and its rank, by which pages are sorted.

    ``parts`` has the overlap with each field and, with BM25, what the score and the rank consist of.
    """

    page: KnowledgePage
    score: float
    parts: Mapping[str, float]
    rank: float


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
    nearness: Mapping[str, Nearness] = NO_NEARNESS,
) -> tuple[ScoredItem, ...]:
    """Return the pages with at least ``min_score``, best first, ties by id. ``nearness`` is semantic, by page id."""
    if not extract_keywords(query, config.language):
        return ()
    if config.bm25_weight:
        items = _rank_by_words(query, pages, config)
    else:
        items = [_build_item(page, compute_overlap(query, page, config.language)) for page in pages]
    if nearness:
        items = [_add_nearness(item, nearness.get(item.page.id, _FAR)) for item in items]
    matches = [item for item in items if item.score >= config.min_score]
    matches.sort(key=lambda item: (-item.rank, item.page.id))
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


def _build_item(page: KnowledgePage, overlap: Mapping[str, float]) -> ScoredItem:
    score = combine_scores(overlap)
    return ScoredItem(page, score, overlap, score)


def _rank_by_words(
    query: str, pages: Sequence[KnowledgePage], config: RetrieverConfig
) -> list[ScoredItem]:
    """Score the pages as the store scores entries, and rank them by overlap and BM25."""
    texts = [
        "\n".join((page.title, page.summary, " ".join(page.tags), page.content)) for page in pages
    ]
    hits = rank_texts(query, list(map(Text, texts)), language=config.language)
    hits_by_position = {hit.position: hit for hit in hits}
    items = []
    for position, page in enumerate(pages):
        hit = hits_by_position.get(position)
        # BM25 has read the whole page: without a hit, no field has a term of the query.
        overlap = compute_overlap(query, page, config.language) if hit else _NO_OVERLAP
        items.append(_add_bm25(_build_item(page, overlap), hit, config.bm25_weight))
    return items


def _add_bm25(item: ScoredItem, hit: Hit | None, weight: float) -> ScoredItem:
    lexical_rank, score = (hit.rank, hit.score) if hit else (0.0, 0.0)
    rank = (item.rank + weight * lexical_rank) / (1.0 + weight)
    parts = {**item.parts, "bm25": lexical_rank, "words": score, "rank": rank}
    return ScoredItem(item.page, score, parts, rank)


def _add_nearness(item: ScoredItem, nearness: Nearness) -> ScoredItem:
    rank = 1.0 - (1.0 - item.rank) * (1.0 - _SIMILARITY_WEIGHT * nearness.among_texts)
    score = max(item.score, nearness.to_question)
    parts = {**item.parts, "vector": nearness.to_question, "rank": rank}
    return ScoredItem(item.page, score, parts, rank)
