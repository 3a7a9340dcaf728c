"""Finding pages without any model: keywords, and how much of a page overlaps with them.

Dice over single terms and pairs, field by field, so that a short title isn't drowned in a long
text; a long text is compared passage by passage. Fields add up like independent hints: two half
answers are more than one and never more than certain. BM25 can join in, and nearness in
meaning as one more hint, which takes nothing from who has none.
"""

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


NOTHING_NEAR: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class RetrieverConfig:
    """``bm25_weight`` 0 leaves it out; 1 makes it half of the score."""

    max_results: int = 20
    min_score: float = 0.1
    bm25_weight: float = 0.0
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """``parts``: what each field, and BM25, gave before they were added up."""

    page: KnowledgePage
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    items: tuple[ScoredItem, ...]
    query: str


class MemoryRetriever:
    def __init__(
        self,
        store: KnowledgeStore,
        config: RetrieverConfig = RetrieverConfig(),
    ) -> None:
        self._store = store
        self._config = config

    def retrieve(self, query: str) -> RetrievalResult:
        return RetrievalResult(rank_pages(query, self._store.pages(), self._config), query)


def rank_pages(
    query: str,
    pages: Sequence[KnowledgePage],
    config: RetrieverConfig = RetrieverConfig(),
    near: Mapping[str, float] = NOTHING_NEAR,
) -> tuple[ScoredItem, ...]:
    """Best first, ties by id; what scores under ``min_score`` is left out. ``near``: in meaning, 0 to 1, by page."""
    if not extract_keywords(query, config.language):
        return ()
    lexical = _lexical(query, pages, config) if config.bm25_weight else [0.0] * len(pages)
    scored = []
    for page, best in zip(pages, lexical, strict=True):
        # BM25 has read all of it: where it found no word, no part has one, and needn't be cut up.
        is_apart = config.bm25_weight and not best
        parts = dict(_NOTHING) if is_apart else overlap(query, page, config.language)
        scored.append(_fused(page, parts, best, config.bm25_weight))
    if near:
        scored = [_hinted(item, near.get(item.page.id, 0.0)) for item in scored]
    found = [item for item in scored if item.score >= config.min_score]
    found.sort(key=lambda item: (-item.score, item.page.id))
    return tuple(found[: config.max_results])


def overlap(query: str, page: KnowledgePage, language: str = DEFAULT_LANGUAGE) -> dict[str, float]:
    """Dice of the question with each field, 0 to 1."""
    asked = build_grams(query, language)
    return {
        "title": compute_dice_coefficient(asked, build_grams(page.title, language)),
        "tags": max(
            (compute_dice_coefficient(asked, build_grams(tag, language)) for tag in page.tags),
            default=0.0,
        ),
        "summary": _best(asked, page.summary, language),
        "content": _best(asked, page.content, language),
    }


def combined(parts: Mapping[str, float]) -> float:
    missed = 1.0
    for name, weight in _WEIGHTS.items():
        missed *= 1.0 - weight * parts[name]
    return 1.0 - missed


# How far a field alone can convince; a title that is the question is the answer.
_WEIGHTS = {"title": 1.0, "tags": 0.8, "summary": 0.9, "content": 0.8}
_NOTHING = dict.fromkeys(_WEIGHTS, 0.0)
_MEANING = 0.5  # the same of the nearest page: it may still be about something else


def _best(asked: Grams, text: str, language: str) -> float:
    """Of the best sentence, or of two that follow each other."""
    parts = split_sentences(text)
    passages = [*parts, *(f"{one} {other}" for one, other in pairwise(parts))]
    return max(
        (compute_dice_coefficient(asked, build_grams(one, language)) for one in passages),
        default=0.0,
    )


def _fused(
    page: KnowledgePage, parts: dict[str, float], lexical: float, weight: float
) -> ScoredItem:
    score = (combined(parts) + weight * lexical) / (1.0 + weight)
    return ScoredItem(page, score, {**parts, "bm25": lexical} if weight else parts)


def _hinted(item: ScoredItem, near: float) -> ScoredItem:
    score = 1.0 - (1.0 - item.score) * (1.0 - _MEANING * near)
    return ScoredItem(item.page, score, {**item.parts, "vector": near})


def _lexical(query: str, pages: Sequence[KnowledgePage], config: RetrieverConfig) -> list[float]:
    """The provider's own recipe, as if the pages were entries: 0 to 1, 0 for what has no word of it."""
    hits = rank(query, [Text(_text(page)) for page in pages], language=config.language)
    scores = {hit.position: hit.score for hit in hits}
    return [scores.get(position, 0.0) for position in range(len(pages))]


def _text(page: KnowledgePage) -> str:
    return "\n".join((page.title, page.summary, " ".join(page.tags), page.content))
