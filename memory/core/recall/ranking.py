"""The rank and the score of each text for a question, with their parts; other implementations must give the same numbers.

The score (``memory.core.recall.relevance``) is absolute; the rank compares the texts of one answer, whose best has
nearly 1. The rank is the sum of stemmed BM25 over an entry and of BM25 over the entry together with the two entries before it
in its group, each normalized to 0..1, and of a fifth of the scores of its four neighbours. On chats, this finds a
third more than words alone, and more than rank fusion. A long neighbour lifts less. In a conversation, a turn of somebody
else than the question names, of an assistant, or that only asks, keeps a part of its rank. A text that contains the question literally never ranks below
one half. Where texts and question have vectors, their similarity (``memory.core.recall.similarity``) is a third term
of the sum, which weighs less among long texts, and words count less in a text that meets little of the question.

Only the texts that are passed in count: the visible ones that match the filter. Statistics, context and neighbours
ignore every other entry.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from memory.core.recall import scoring
from memory.core.recall.groups import GroupPosition
from memory.core.recall.literal_match import Question, limit_candidates, parse_question
from memory.core.recall.relevance import Relevance, TermWeights, weigh_terms
from memory.core.recall.scoring import RankComponents, ScoreParts
from memory.core.recall.similarity import Nearness
from memory.core.recall.speakers import find_marks, read_turn
from memory.core.recall.tokens import DEFAULT_LANGUAGE, extract_terms


_OFFSETS = (-2, -1, 1, 2)
_DISTANCES = range(1, scoring.PREDECESSORS + 1)
_NO_COUNTS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Text:
    """A text to rank. ``recency``, which is in 0..1, and ``nearness`` are present for all texts or for none."""

    text: str
    group_position: GroupPosition | None = None
    recency: float | None = None
    nearness: Nearness | None = None

    @property
    def similarity(self) -> float | None:
        return None if self.nearness is None else self.nearness.among_texts


@dataclass(frozen=True, slots=True)
class Hit:
    """A match. ``position`` is the index of its text; the ``parts`` explain the score and the rank."""

    position: int
    rank: float
    score: float
    parts: ScoreParts


def rank_texts(query: str, texts: Sequence[Text], *, language: str = DEFAULT_LANGUAGE) -> list[Hit]:
    """Return the hits in the order of the texts; the caller sorts them.

    A hit has words of the question, contains it literally, is similar to it in meaning, or is a neighbour of such a text.
    """
    question = parse_question(query, language)
    query_terms = set(question.terms)
    documents = [_count_terms(query_terms, extract_terms(text.text, language)) for text in texts]
    frequencies = _count_documents(documents)
    term_weights = weigh_terms(question.content_weights, frequencies, len(texts))
    groups = _GroupIndex(texts)
    has_context = groups.has_neighbours
    word_scores = _normalize(_score_documents(documents))
    documents_in_context = [_add_context(documents, groups, index) for index in range(len(texts))]
    context_scores = _normalize(_score_documents(documents_in_context))
    mean_length = _compute_mean_length(documents)
    if any(text.nearness is not None for text in texts):
        total_weights = term_weights if question.has_light_words_only else None
        rank_weights = weigh_terms(
            question.rank_weights, frequencies, len(texts), share_of=total_weights
        )
        sufficient = scoring.choose_sufficient_coverage(has_context, mean_length)
        word_scores = _discount(word_scores, documents, rank_weights, sufficient)
        context_scores = _discount(context_scores, documents_in_context, rank_weights, sufficient)
    weight = scoring.choose_similarity_weight(has_context, mean_length)
    own_scores = [
        scoring.combine_scores(words, context, text.similarity, weight)
        for words, context, text in zip(word_scores, context_scores, texts, strict=True)
    ]
    neighbour_scores = _score_neighbours(own_scores, documents, groups)
    priors = [1.0] * len(texts)
    if has_context:
        priors = _compute_priors(question, texts, documents, language)
    totals = [
        (own + nearby) * prior
        for own, nearby, prior in zip(own_scores, neighbour_scores, priors, strict=True)
    ]
    scale = scoring.choose_scale(max(totals, default=0.0))
    matches = _find_literal_matches(question, texts, documents)
    hits = []
    for index, (text, total) in enumerate(zip(texts, totals, strict=True)):
        is_literal = index in matches
        by_words = word_scores[index] + context_scores[index] + neighbour_scores[index]
        if is_literal or _is_match(text, total, by_words):
            relevance = Relevance(
                term_weights.compute_coverage(documents[index].counts.keys()),
                term_weights.compute_coverage(documents_in_context[index].counts.keys()),
                is_literal,
                None if text.nearness is None else text.nearness.to_question,
            )
            scores = (word_scores[index], context_scores[index], neighbour_scores[index])
            components = RankComponents(
                *scores, is_literal, text.similarity, text.recency, weight, priors[index]
            )
            rank = scoring.compute_rank(total, scale, is_literal, text.recency)
            parts = build_parts(relevance, rank, components.explain(scale))
            hits.append(Hit(index, rank, relevance.score, parts))
    return hits


def _is_match(text: Text, total: float, by_words: float) -> bool:
    """Return whether a text matches by words, by neighbours, or by more meaning than unrelated texts share."""
    is_near = text.nearness is None or text.nearness.to_question > 0
    return total > 0 and (by_words > 0 or is_near)


def build_parts(relevance: Relevance, rank: float, rank_parts: ScoreParts) -> ScoreParts:
    """Return the parts of the score, the rank, and the parts of the rank."""
    return {**relevance.explain(), "rank": rank, **rank_parts}


@dataclass(frozen=True, slots=True)
class _TermCounts:
    """The number of occurrences of each query term in a document, and the length of the document."""

    counts: Mapping[str, int]
    length: int


class _GroupIndex:
    """An index of the texts by their position in a group."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._positions = [text.group_position for text in texts]
        self._indexes = {key: index for index, key in enumerate(self._positions) if key}

    @property
    def has_neighbours(self) -> bool:
        """Return whether any text stands after another one."""
        return any((group, number - 1) in self._indexes for group, number in self._indexes)

    def find_neighbour(self, index: int, offset: int) -> int | None:
        position = self._positions[index]
        return self._indexes.get((position[0], position[1] + offset)) if position else None

    def get_score(self, scores: Sequence[float], index: int, offset: int) -> float:
        neighbour = self.find_neighbour(index, offset)
        return 0.0 if neighbour is None else scores[neighbour]


def _count_terms(query_terms: Set[str], document: Sequence[str]) -> _TermCounts:
    if query_terms.isdisjoint(document):  # most are; this runs in C
        return _TermCounts(_NO_COUNTS, len(document))
    counts = Counter(term for term in document if term in query_terms)
    capped = {term: min(count, scoring.MAX_TERM_COUNT) for term, count in counts.items()}
    return _TermCounts(capped, len(document))


def _add_context(documents: Sequence[_TermCounts], groups: _GroupIndex, index: int) -> _TermCounts:
    neighbours = [groups.find_neighbour(index, -distance) for distance in _DISTANCES]
    if not any(neighbour is not None for neighbour in neighbours):
        return documents[index]
    context = [documents[position] for position in (index, *neighbours) if position is not None]
    counts: Counter[str] = Counter()
    for document in context:
        counts.update(document.counts)
    return _TermCounts(counts, sum(document.length for document in context))


def _score_neighbours(
    scores: Sequence[float], documents: Sequence[_TermCounts], groups: _GroupIndex
) -> list[float]:
    lifting_scores = [
        scoring.weigh_lifting(score, document.length)
        for score, document in zip(scores, documents, strict=True)
    ]
    return [
        scoring.weigh_neighbours(
            *(groups.get_score(lifting_scores, index, offset) for offset in _OFFSETS)
        )
        for index in range(len(scores))
    ]


def _compute_priors(
    question: Question, texts: Sequence[Text], documents: Sequence[_TermCounts], language: str
) -> list[float]:
    turns = [read_turn(find_marks(text.text, language), question.marks) for text in texts]
    is_anybody_named = int(any(turn.by_named for turn in turns))
    return [
        scoring.compute_prior(
            turn.by_person,
            turn.by_machine,
            turn.by_named,
            turn.questions,
            document.length,
            is_anybody_named,
        )
        for turn, document in zip(turns, documents, strict=True)
    ]


def _score_documents(documents: Sequence[_TermCounts]) -> list[float]:
    total, mean = len(documents), _compute_mean_length(documents)
    frequencies = _count_documents(documents).items()
    rarities = {term: scoring.compute_rarity(count, total) for term, count in frequencies}
    return [_score_document(document, mean, rarities) for document in documents]


def _compute_mean_length(documents: Sequence[_TermCounts]) -> float:
    total_length = sum(document.length for document in documents)
    return scoring.compute_mean_length(total_length, len(documents))


def _score_document(document: _TermCounts, mean: float, rarities: Mapping[str, float]) -> float:
    score = 0.0
    if document.counts:
        weight = scoring.weigh_length(document.length, mean)
        for term in sorted(document.counts):  # the order of a sum changes its last digits
            score += rarities[term] * scoring.saturate(document.counts[term], weight)
    return score


def _discount(
    scores: Sequence[float],
    documents: Sequence[_TermCounts],
    weights: TermWeights,
    sufficient: float,
) -> list[float]:
    return [
        scoring.discount(score, weights.compute_coverage(document.counts.keys()), sufficient)
        for score, document in zip(scores, documents, strict=True)
    ]


def _count_documents(documents: Sequence[_TermCounts]) -> Counter[str]:
    return Counter(term for document in documents for term in document.counts)


def _normalize(scores: Sequence[float]) -> list[float]:
    highest = max(scores, default=0.0)
    return [scoring.normalize(score, highest) for score in scores]


def _find_literal_matches(
    question: Question, texts: Sequence[Text], documents: Sequence[_TermCounts]
) -> frozenset[int]:
    required_terms = question.choose_required_terms(_count_documents(documents))
    candidates = limit_candidates(
        index
        for index, document in enumerate(documents)
        if required_terms <= document.counts.keys()
    )
    return frozenset(index for index in candidates if question.is_in(texts[index].text))
