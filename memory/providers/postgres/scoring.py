"""The formulas of ``memory.core.recall.ranking`` over postings: the same operations in the same order, on arrays.

The arrays have a slot for each entry; the slot is the entry's number in its namespace. One more slot at the end, the
sentinel, stands for no entry and is always empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.core.recall import scoring
from memory.core.recall.literal_match import Question, limit_candidates
from memory.core.recall.ranking import build_parts
from memory.core.recall.relevance import CONTEXT_SHARE, Relevance, TermWeights, weigh_terms
from memory.core.recall.scoring import RankComponents, ScoreParts
from memory.core.recall.similarity import Nearness
from memory.core.recall.speakers import BY_MACHINE, BY_PERSON, QUESTIONS, WHOLE, is_name
from memory.providers.postgres.postings import BLOCK_SIZE


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Block = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Register:
    """The register of a namespace by slot: which are visible, the lengths of their texts, and their neighbours."""

    visible: Flags
    lengths: Ints
    predecessors: Ints
    successors: Ints
    has_groups: bool

    @property
    def has_neighbours(self) -> bool:
        """Return whether any visible entry stands after another visible one in its group."""
        return bool(np.any(self.visible & self.visible[self.predecessors]))

    @property
    def sentinel(self) -> int:
        return len(self.visible) - 1

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.visible))

    def compute_mean_length(self) -> float:
        return scoring.compute_mean_length(int(self.lengths.sum()), self.total)


def read_register(
    blocks: Sequence[Block], *, included: Iterable[int] | None, excluded: Iterable[int]
) -> Register:
    """Read the blocks of a register. Only ``included`` slots are visible (None: all), and no ``excluded`` one is."""
    size = max((block for block, _ in blocks), default=-1) * BLOCK_SIZE + BLOCK_SIZE
    register_pairs = np.zeros((size + 1, 2), dtype="<u4")
    for block, block_bytes in blocks:
        pairs = np.frombuffer(block_bytes, dtype="<u4").reshape(-1, 2)
        register_pairs[block * BLOCK_SIZE : block * BLOCK_SIZE + len(pairs)] = pairs
    visible = register_pairs[:, 0] > 0
    if included is not None:
        is_included = np.zeros(size + 1, dtype=bool)
        is_included[np.fromiter(included, dtype=np.int64)] = True
        visible &= is_included
    visible[np.fromiter(excluded, dtype=np.int64)] = False
    lengths = np.where(visible, register_pairs[:, 0].astype(np.int64) - 1, 0)
    stored = register_pairs[:, 1].astype(np.int64) - 1
    with_predecessor = np.flatnonzero(stored >= 0)
    predecessors = np.where(stored >= 0, stored, size)
    successors = np.full(size + 1, size, dtype=np.int64)
    successors[stored[with_predecessor]] = with_predecessor
    has_groups = bool(len(with_predecessor))
    return Register(visible, lengths, predecessors, successors, has_groups)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Computes the shares of the question that slots meet. The counts are those of its terms, by slot."""

    term_weights: TermWeights
    counts: Mapping[str, Ints]
    counts_in_context: Mapping[str, Ints]

    def compute(self, slots: Ints) -> tuple[Floats, Floats]:
        """Return the shares that the slots meet alone, and together with their context."""
        own = self._sum_weights(self.counts, slots)
        if self.counts_in_context is self.counts:  # no entry is in a group
            return own, own
        return own, self._sum_weights(self.counts_in_context, slots)

    def compute_by_slot(self, slots: Iterable[int]) -> dict[int, tuple[float, float]]:
        """Return the same by slot, computed for all of them at once."""
        listed = list(slots)
        own, in_context = self.compute(np.array(listed, dtype=np.int64))
        return dict(zip(listed, zip(own.tolist(), in_context.tolist(), strict=True), strict=True))

    def _sum_weights(self, counts: Mapping[str, Ints], slots: Ints) -> Floats:
        met = np.zeros(len(slots))
        for term, weight in self.term_weights.weights:
            if term in counts:
                met += weight * (counts[term][slots] > 0)
        return met / self.term_weights.total if self.term_weights.total else met


@dataclass(frozen=True, slots=True)
class SlotScores:
    """The components of every slot's rank and score, to which literal matches and recency are still to be added."""

    words: Floats
    context: Floats
    neighbours: Floats
    total: Floats
    scale: float
    readable: list[int]  # slots whose texts may contain the question literally
    coverage: Coverage
    similarity: Floats | None = None  # in meaning, if it was queried
    nearness: Floats | None = None  # the same, of each text alone
    similarity_weight: float = scoring.SIMILARITY_WEIGHT
    priors: Floats | None = None  # of the speakers, in conversations

    def find_matches(self) -> Flags:
        """Return which slots match by words, by neighbours, or by more meaning than unrelated texts share."""
        has_rank = self.total > 0
        if self.nearness is None:
            return has_rank
        by_words = self.words + self.context + self.neighbours
        return has_rank & ((by_words > 0) | (self.nearness > 0))

    def compute_scores(self, slots: Ints, literal: Flags) -> Floats:
        """Return the scores of the slots, as ``memory.core.recall.relevance.Relevance`` does for one text."""
        words, context = self.coverage.compute(slots)
        scores = np.where(literal, 1.0, words + CONTEXT_SHARE * (context - words))
        return scores if self.nearness is None else np.maximum(scores, self.nearness[slots])

    def explain(
        self,
        slot: int,
        rank: float,
        covered: tuple[float, float],
        *,
        literal: bool,
        recency: float | None,
    ) -> tuple[float, ScoreParts]:
        """Return the score of a slot and the parts of the score and of the rank. ``covered`` is that of ``Coverage``."""
        scores = (self.words, self.context, self.neighbours)
        words, context, neighbours = (float(values[slot]) for values in scores)
        similarity = None if self.similarity is None else float(self.similarity[slot])
        components = RankComponents(
            words,
            context,
            neighbours,
            literal,
            similarity,
            recency,
            self.similarity_weight,
            1.0 if self.priors is None else float(self.priors[slot]),
        )
        own, in_context = covered
        nearness = None if self.nearness is None else float(self.nearness[slot])
        relevance = Relevance(own, in_context, literal, nearness)
        return relevance.score, build_parts(relevance, rank, components.explain(self.scale))


def score_slots(
    question: Question,
    postings: Mapping[str, Sequence[Block]],
    register: Register,
    nearness_by_slot: Mapping[int, Nearness] | None = None,
) -> SlotScores:
    """Score all slots from the postings of the question's terms and from their nearness in meaning, if there is any."""
    counts = {
        term: _count_term(postings[term], register) for term in question.terms if term in postings
    }
    frequencies = _count_entries(counts)
    words = _normalize_scores(_score_terms(counts, frequencies, register.lengths, register))
    counts_in_context = _add_context(counts, register) if register.has_groups else counts
    context = _score_context(counts_in_context, register) if register.has_groups else words
    near, has_context = nearness_by_slot or {}, register.has_neighbours
    mean_length = register.compute_mean_length()
    similarity = _spread({slot: n.among_texts for slot, n in near.items()}, register)
    nearness = _spread({slot: n.to_question for slot, n in near.items()}, register)
    term_weights = weigh_terms(question.content_weights, frequencies, register.total)
    coverage = Coverage(term_weights, counts, counts_in_context)
    if similarity is not None:
        total_weights = term_weights if question.has_light_words_only else None
        rank_weights = weigh_terms(
            question.rank_weights, frequencies, register.total, share_of=total_weights
        )
        rank_coverage = replace(coverage, term_weights=rank_weights)
        sufficient = scoring.choose_sufficient_coverage(has_context, mean_length)
        words, context = _discount(words, context, rank_coverage, sufficient)
    weight = scoring.choose_similarity_weight(has_context, mean_length)
    own: Any = scoring.combine_scores(_as_any(words), _as_any(context), _as_any(similarity), weight)
    neighbours = _score_neighbours(own, register)
    priors = _compute_priors(question, postings, register) if has_context else None
    total = own + neighbours if priors is None else (own + neighbours) * priors
    scale = scoring.choose_scale(_get_highest(total))
    readable = _select_readable(question, counts, frequencies, register)
    return SlotScores(
        *(words, context, neighbours, total, scale, readable, coverage),
        *(similarity, nearness, weight, priors),
    )


def compute_ranks(
    scores: SlotScores, slots: Ints, literal: Flags, recency: Floats | None
) -> Floats:
    """Return the ranks of the slots, as ``memory.core.recall.scoring.compute_rank`` does for one text."""
    ranks = scores.total[slots] / scores.scale
    floor = scoring.LITERAL_FLOOR
    ranks = np.where(literal, floor + (1 - floor) * ranks, ranks)
    if recency is not None:
        weight = scoring.RECENCY_WEIGHT
        ranks = (ranks + weight * recency) / (1 + weight)
    return np.minimum(1.0, ranks)


def _add_context(counts: Mapping[str, Ints], register: Register) -> dict[str, Ints]:
    """Return how often each term occurs in each entry together with the two entries before it in its group."""
    return {term: _add_preceding(term_counts, register) for term, term_counts in counts.items()}


def _score_context(counts_in_context: Mapping[str, Ints], register: Register) -> Floats:
    lengths = _add_preceding(register.lengths, register)
    frequencies = _count_entries(counts_in_context)
    return _normalize_scores(_score_terms(counts_in_context, frequencies, lengths, register))


def _add_preceding(values: Ints, register: Register) -> Ints:
    first, second = register.predecessors, register.predecessors[register.predecessors]
    sums: Ints = (values + values[first] + values[second]) * register.visible
    return sums


def _discount(
    words: Floats, context: Floats, coverage: Coverage, sufficient: float
) -> tuple[Floats, Floats]:
    """Return the scores of words for a rank that also knows the similarity, as ``scoring.discount`` says."""
    alone, in_context = coverage.compute(np.arange(len(words)))
    discounted: Any = (
        scoring.discount(_as_any(words), _as_any(alone), sufficient),
        scoring.discount(_as_any(context), _as_any(in_context), sufficient),
    )
    return discounted  # type: ignore[no-any-return]


def _spread(values_by_slot: Mapping[int, float], register: Register) -> Floats | None:
    """Return the values as an array of all slots, or None if there are none."""
    if not values_by_slot:
        return None
    values = np.zeros(len(register.visible))
    for slot, value in values_by_slot.items():
        if slot < register.sentinel:
            values[slot] = value
    return values * register.visible


def _count_term(blocks: Sequence[Block], register: Register) -> Ints:
    """Return how often the term occurs in each slot; 0 for slots that are not visible."""
    counts = np.zeros(len(register.visible), dtype=np.int64)
    postings = b"".join(block_bytes for _, block_bytes in blocks)
    pairs = np.frombuffer(postings, dtype=np.uint8).reshape(-1, 2)
    sizes = [len(block_bytes) // 2 for _, block_bytes in blocks]
    first = np.repeat([block * BLOCK_SIZE for block, _ in blocks], sizes)
    counts[first + pairs[:, 0]] = pairs[:, 1]
    return counts * register.visible


def _count_entries(counts: Mapping[str, Ints]) -> dict[str, int]:
    """Return in how many entries each term occurs."""
    return {term: int(np.count_nonzero(term_counts)) for term, term_counts in counts.items()}


def _score_terms(
    counts: Mapping[str, Ints], frequencies: Mapping[str, int], lengths: Ints, register: Register
) -> Floats:
    scores = np.zeros(len(register.visible))
    total = register.total
    if not total:
        return scores
    mean = scoring.compute_mean_length(int(lengths.sum()), total)
    weight: Any = scoring.weigh_length(_as_any(lengths), mean)
    for term in sorted(counts):
        if frequencies[term]:
            rarity = scoring.compute_rarity(frequencies[term], total)
            saturated: Any = scoring.saturate(_as_any(counts[term]), weight)
            scores += rarity * saturated
    return scores


def _normalize_scores(scores: Floats) -> Floats:
    normalized: Any = scoring.normalize(_as_any(scores), _get_highest(scores))
    return np.asarray(normalized, dtype=np.float64)


def _score_neighbours(scores: Floats, register: Register) -> Floats:
    if not register.has_groups:
        return np.zeros(len(scores))
    before, after = register.predecessors, register.successors
    slots = (before[before], before, after, after[after])
    lifting: Any = scoring.weigh_lifting(_as_any(scores), _as_any(register.lengths))
    neighbours: Any = scoring.weigh_neighbours(*(lifting[nearby] for nearby in slots))
    return np.where(register.visible, neighbours, 0.0)


def _compute_priors(
    question: Question, postings: Mapping[str, Sequence[Block]], register: Register
) -> Floats:
    """Return the priors of all slots, from the marks of their speakers (``memory.core.recall.speakers``)."""
    none = np.zeros(len(register.visible), dtype=np.int64)
    counts = {
        mark: _count_term(postings[mark], register) for mark in question.marks if mark in postings
    }
    name_counts = none
    for mark in filter(is_name, counts):
        name_counts = name_counts | counts[mark]
    priors: Any = scoring.compute_prior(
        _as_any(counts.get(BY_PERSON, none)),
        _as_any(counts.get(BY_MACHINE, none)),
        _as_any(name_counts),
        _as_any(counts.get(QUESTIONS, none) / WHOLE),
        _as_any(register.lengths),
        int(name_counts.any()),
    )
    return np.asarray(priors, dtype=np.float64)


def _get_highest(scores: Floats) -> float:
    return float(scores.max(initial=0.0))


def _select_readable(
    question: Question,
    counts: Mapping[str, Ints],
    frequencies: Mapping[str, int],
    register: Register,
) -> list[int]:
    """Return the slots whose texts have to be read, because they may contain the question literally."""
    candidates = register.visible.copy()
    for term in question.choose_required_terms(frequencies):
        candidates &= counts[term] > 0 if term in counts else False
    return limit_candidates(np.flatnonzero(candidates).tolist())


def _as_any(array: NDArray[Any] | None) -> Any:
    """Return the array as ``Any``: the formulas are annotated for numbers, but also work on arrays."""
    return array
