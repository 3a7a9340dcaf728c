"""The formulas of ``memory.core.recall.ranking`` over postings: the same operations in the same order, on arrays.

A slot is the number of an entry in its namespace. The arrays have one slot more, the sentinel, which stands for no
entry and is always empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.core.recall import scoring
from memory.core.recall.literal_match import Question, limit_candidates
from memory.core.recall.scoring import ScoreComponents, ScoreParts
from memory.providers.postgres.postings import BLOCK


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Block = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Register:
    """The register of a namespace: the visible slots, the lengths of their texts, and which entries precede and follow."""

    visible: Flags
    lengths: Ints
    before: Ints
    after: Ints
    grouped: bool

    @property
    def sentinel(self) -> int:
        return len(self.visible) - 1

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.visible))


def read_register(
    blocks: Sequence[Block], *, only: Iterable[int] | None, without: Iterable[int]
) -> Register:
    """Read the blocks of a register: ``only`` the numbers that pass the filter, ``without`` those of expired entries."""
    size = max((block for block, _ in blocks), default=-1) * BLOCK + BLOCK
    register_pairs = np.zeros((size + 1, 2), dtype="<u4")
    for block, block_bytes in blocks:
        pairs = np.frombuffer(block_bytes, dtype="<u4").reshape(-1, 2)
        register_pairs[block * BLOCK : block * BLOCK + len(pairs)] = pairs
    visible = register_pairs[:, 0] > 0
    if only is not None:
        passing = np.zeros(size + 1, dtype=bool)
        passing[np.fromiter(only, dtype=np.int64)] = True
        visible &= passing
    visible[np.fromiter(without, dtype=np.int64)] = False
    lengths = np.where(visible, register_pairs[:, 0].astype(np.int64) - 1, 0)
    predecessors = register_pairs[:, 1].astype(np.int64) - 1
    with_predecessor = np.flatnonzero(predecessors >= 0)
    before = np.where(predecessors >= 0, predecessors, size)
    after = np.full(size + 1, size, dtype=np.int64)
    after[predecessors[with_predecessor]] = with_predecessor
    return Register(visible, lengths, before, after, grouped=bool(len(with_predecessor)))


@dataclass(frozen=True, slots=True)
class SlotScores:
    """The normalised sums of every slot. The literal matches are added later and decide, together with the sums, which
    slots are hits.
    """

    words: Floats
    context: Floats
    neighbours: Floats
    total: Floats
    scale: float
    readable: list[int]  # slots whose texts may contain the query literally
    vector: Floats | None = None  # similarity in meaning, if it was queried

    def explain(self, slot: int, *, literal: bool, recency: float | None) -> ScoreParts:
        """Return the parts of a slot's score."""
        sums = (self.words, self.context, self.neighbours)
        words, context, neighbours = (float(values[slot]) for values in sums)
        vector = None if self.vector is None else float(self.vector[slot])
        components = ScoreComponents(words, context, neighbours, literal, vector, recency)
        return components.explain(self.scale)


def score_slots(
    text_query: Question,
    postings: Mapping[str, Sequence[Block]],
    register: Register,
    similarity: Mapping[int, float] | None = None,
) -> SlotScores:
    """Score all slots. ``similarity`` is how similar each number is in meaning."""
    counts = {
        term: _count_term(postings[term], register) for term in text_query.terms if term in postings
    }
    words = _normalize_scores(_score_terms(counts, register.lengths, register))
    if register.grouped:
        before, second = register.before, register.before[register.before]

        def add_preceding(values: Ints) -> Ints:
            sums: Ints = (values + values[before] + values[second]) * register.visible
            return sums

        nearby = {term: add_preceding(term_counts) for term, term_counts in counts.items()}
        lengths = add_preceding(register.lengths)
        context = _normalize_scores(_score_terms(nearby, lengths, register))
    else:
        context = words
    vector = None if not similarity else _spread_similarity(similarity, register)
    base: Any = scoring.combine_scores(_as_any(words), _as_any(context), _as_any(vector))
    neighbours = _score_neighbours(base, register)
    total = base + neighbours
    scale = scoring.choose_scale(_get_highest(total))
    readable = _select_readable(text_query, counts, register)
    return SlotScores(words, context, neighbours, total, scale, readable, vector)


def compute_final_scores(
    sums: SlotScores, slots: Ints, literal: Flags, recency: Floats | None
) -> Floats:
    """Return the final scores of the slots. ``memory.core.recall.scoring.compute_final_score`` computes the same for one
    number; arrays choose with ``np.where`` instead of branching.
    """
    scores = sums.total[slots] / sums.scale
    floor = scoring.LITERAL_FLOOR
    scores = np.where(literal, floor + (1 - floor) * scores, scores)
    if recency is not None:
        weight = scoring.RECENCY_WEIGHT
        scores = (scores + weight * recency) / (1 + weight)
    return np.minimum(1.0, scores)


def _spread_similarity(similarity: Mapping[int, float], register: Register) -> Floats:
    scores = np.zeros(len(register.visible))
    for number, value in similarity.items():
        if number < register.sentinel:
            scores[number] = value
    return scores * register.visible


def _count_term(blocks: Sequence[Block], register: Register) -> Ints:
    """Return how often the term occurs in each slot; 0 for slots that are not visible."""
    counts = np.zeros(len(register.visible), dtype=np.int64)
    postings = b"".join(block_bytes for _, block_bytes in blocks)
    pairs = np.frombuffer(postings, dtype=np.uint8).reshape(-1, 2)
    sizes = [len(block_bytes) // 2 for _, block_bytes in blocks]
    first = np.repeat([block * BLOCK for block, _ in blocks], sizes)
    counts[first + pairs[:, 0]] = pairs[:, 1]
    return counts * register.visible


def _score_terms(counts: Mapping[str, Ints], lengths: Ints, register: Register) -> Floats:
    scores = np.zeros(len(register.visible))
    if not register.total:
        return scores
    mean = scoring.compute_mean_length(int(lengths.sum()), register.total)
    weight: Any = scoring.weigh_length(_as_any(lengths), mean)
    for term in sorted(counts):
        term_counts = counts[term]
        frequency = int(np.count_nonzero(term_counts))
        if frequency:
            rare = scoring.compute_rarity(frequency, register.total)
            saturated: Any = scoring.saturate(_as_any(term_counts), weight)
            scores += rare * saturated
    return scores


def _normalize_scores(scores: Floats) -> Floats:
    normal: Any = scoring.normalize(_as_any(scores), _get_highest(scores))
    return np.asarray(normal, dtype=np.float64)


def _score_neighbours(base: Floats, register: Register) -> Floats:
    if not register.grouped:
        return np.zeros(len(base))
    before, after = register.before, register.after
    slots = (before[before], before, after, after[after])
    neighbours: Any = scoring.weigh_neighbours(*(_as_any(base[nearby]) for nearby in slots))
    return np.where(register.visible, neighbours, 0.0)


def _get_highest(scores: Floats) -> float:
    return float(scores.max(initial=0.0))


def _select_readable(
    text_query: Question, counts: Mapping[str, Ints], register: Register
) -> list[int]:
    text_counts = {term: int(np.count_nonzero(term_counts)) for term, term_counts in counts.items()}
    matches = register.visible.copy()
    for term in text_query.choose_required_terms(text_counts):
        matches &= counts[term] > 0 if term in counts else False
    return limit_candidates(np.flatnonzero(matches).tolist())


def _as_any(array: NDArray[Any] | None) -> Any:
    """Return the array as ``Any``: the formulas are annotated for numbers, but also work on arrays."""
    return array
