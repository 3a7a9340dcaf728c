"""Ranks found pages again: by the author's weights of words and meaning, or by a model that reads query and pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflows.engine.kinds import NodeContext
from workflows.engine.memory_ports import PageHit
from workflows.engine.nodes.memory.knowledge.config import (
    WEIGHTED_SCORE,
    KnowledgeConfig,
    Weights,
)
from workflows.engine.nodes.memory.knowledge.model_ranking import rank_texts
from workflows.engine.ports import Usage


@dataclass(frozen=True, slots=True)
class ScoredPage:
    hit: PageHit
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The pages, best first. ``notes`` tell what of the settings could not be carried out."""

    pages: Sequence[ScoredPage]
    notes: Sequence[str] = ()
    usage: Usage | None = None


async def rank_again(
    config: KnowledgeConfig, query: str, hits: Sequence[PageHit], ctx: NodeContext
) -> Ranking:
    """Rank the candidates as the settings say, and keep those that are relevant enough, up to the wanted number.

    If the model fails, the order by words and meaning is kept, and the notes say why.
    """
    if config.reranking is None or not hits:
        ranking = Ranking([ScoredPage(hit, hit.score) for hit in hits])
    elif config.reranking == WEIGHTED_SCORE:
        ranking = rank_by_weights(config.weights, hits)
        ranking = _keep_relevant(ranking, config.score_threshold)
    else:
        ranking = await _rank_by_model(config, query, hits, ctx)
    return Ranking(ranking.pages[: config.max_results], ranking.notes, ranking.usage)


def rank_by_weights(weights: Weights, hits: Sequence[PageHit]) -> Ranking:
    """Rank by the weighted mean of the shares of the query that words and meaning match."""
    vector = weights.vector_setting.vector_weight
    keyword = weights.keyword_setting.keyword_weight
    notes = []
    if not any("vector" in hit.parts for hit in hits):
        if vector:
            notes.append("There is no search by meaning here, so that words alone were weighted.")
        vector, keyword = 0.0, 1.0
    if not vector + keyword:
        notes.append("Both weights are 0, so that the order of words and meaning was kept.")
        return Ranking(_keep_order(hits, 0.0), notes)
    pages = [
        ScoredPage(
            hit,
            (vector * hit.parts.get("vector", 0.0) + keyword * hit.parts.get("words", hit.score))
            / (vector + keyword),
        )
        for hit in hits
    ]
    return Ranking(sorted(pages, key=lambda page: -page.score), notes)


async def _rank_by_model(
    config: KnowledgeConfig, query: str, hits: Sequence[PageHit], ctx: NodeContext
) -> Ranking:
    texts, count = [*map(_build_text, hits)], config.max_results
    result = await rank_texts(config.rerank_model, query, texts, count, ctx)
    if result.failure:
        return Ranking(_keep_order(hits, config.score_threshold), [result.note])
    pages = [ScoredPage(hits[index], score) for index, score in result.scores]
    return _keep_relevant(Ranking(pages, usage=result.usage), config.author_threshold)


def _build_text(hit: PageHit) -> str:
    page = hit.page
    return f"{page['title']}\n{page['content'] or page['summary']}"


def _keep_order(hits: Sequence[PageHit], threshold: float) -> list[ScoredPage]:
    return [ScoredPage(hit, hit.score) for hit in hits if hit.score >= threshold]


def _keep_relevant(ranking: Ranking, threshold: float | None) -> Ranking:
    if threshold is None:
        return ranking
    pages = [page for page in ranking.pages if page.score >= threshold]
    return Ranking(pages, ranking.notes, ranking.usage)
