"""The recipe of ``memory.core.recall.ranking`` over postings: the same operations in the same order, on arrays.

A slot is a number of the namespace; the arrays have one more, which is nobody and has nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.core.recall import scoring
from memory.core.recall.literal_match import Question, limit_candidates
from memory.core.recall.scoring import ScoreComponents
from memory.providers.postgres.postings import BLOCK


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Block = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Register:
    """Who can be recalled, how long each is, and who stands beside whom."""

    visible: Flags
    lengths: Ints
    before: Ints
    after: Ints
    grouped: bool

    @property
    def nobody(self) -> int:
        return len(self.visible) - 1

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.visible))


def read_register(
    blocks: Sequence[Block], *, only: Iterable[int] | None, without: Iterable[int]
) -> Register:
    """``only`` are the numbers that pass the filter; ``without`` those whose end has come."""
    size = max((block for block, _ in blocks), default=-1) * BLOCK + BLOCK
    seats = np.zeros((size + 1, 2), dtype="<u4")
    for block, packed in blocks:
        found = np.frombuffer(packed, dtype="<u4").reshape(-1, 2)
        seats[block * BLOCK : block * BLOCK + len(found)] = found
    visible = seats[:, 0] > 0
    if only is not None:
        passing = np.zeros(size + 1, dtype=bool)
        passing[np.fromiter(only, dtype=np.int64)] = True
        visible &= passing
    visible[np.fromiter(without, dtype=np.int64)] = False
    lengths = np.where(visible, seats[:, 0].astype(np.int64) - 1, 0)
    behind = seats[:, 1].astype(np.int64) - 1
    has = np.flatnonzero(behind >= 0)
    before = np.where(behind >= 0, behind, size)
    after = np.full(size + 1, size, dtype=np.int64)
    after[behind[has]] = has
    return Register(visible, lengths, before, after, grouped=bool(len(has)))


@dataclass(frozen=True, slots=True)
class Scored:
    """Every slot's sums, normalised; which of them are hits is decided with the literal ones."""

    own: Floats
    context: Floats
    lent: Floats
    total: Floats
    by: float
    readable: list[int]  # whose texts have to be read for the question itself
    vector: Floats | None = None  # how near in meaning; none where nobody asked

    def of(self, slot: int, *, literal: bool, recency: float | None) -> ScoreComponents:
        own, context, lent = (float(part[slot]) for part in (self.own, self.context, self.lent))
        vector = None if self.vector is None else float(self.vector[slot])
        return ScoreComponents(own, context, lent, literal, vector, recency)


def score(
    asked: Question,
    postings: Mapping[str, Sequence[Block]],
    register: Register,
    near: Mapping[int, float] | None = None,
) -> Scored:
    """``near``: how near in meaning, by number."""
    counts = {term: _counts(postings[term], register) for term in asked.terms if term in postings}
    own = _normalised(_scores(counts, register.lengths, register))
    if register.grouped:
        two = register.before[register.before]
        nearby = {
            term: (found + found[register.before] + found[two]) * register.visible
            for term, found in counts.items()
        }
        lengths = register.lengths + register.lengths[register.before] + register.lengths[two]
        context = _normalised(_scores(nearby, lengths * register.visible, register))
    else:
        context = own
    vector = None if not near else _spread(near, register)
    base: Any = scoring.combine_scores(_any(own), _any(context), _any(vector))
    lent = _lent(base, register)
    total = base + lent
    return Scored(
        own,
        context,
        lent,
        total,
        scoring.choose_scale(_highest(total)),
        _readable(asked, counts, register),
        vector,
    )


def final(scored: Scored, slots: Ints, literal: Flags, recency: Floats | None) -> Floats:
    """``memory.core.recall.scoring.final`` on arrays; it branches, arrays choose."""
    found = scored.total[slots] / scored.by
    floor = scoring.LITERAL_FLOOR
    found = np.where(literal, floor + (1 - floor) * found, found)
    if recency is not None:
        weight = scoring.RECENCY_WEIGHT
        found = (found + weight * recency) / (1 + weight)
    return np.minimum(1.0, found)


def _spread(near: Mapping[int, float], register: Register) -> Floats:
    found = np.zeros(len(register.visible))
    for number, worth in near.items():
        if number < register.nobody:
            found[number] = worth
    return found * register.visible


def _counts(blocks: Sequence[Block], register: Register) -> Ints:
    """How often each slot has the term; those that don't count have it never."""
    found = np.zeros(len(register.visible), dtype=np.int64)
    pairs = np.frombuffer(b"".join(packed for _, packed in blocks), dtype=np.uint8).reshape(-1, 2)
    sizes = [len(packed) // 2 for _, packed in blocks]
    first = np.repeat([block * BLOCK for block, _ in blocks], sizes)
    found[first + pairs[:, 0]] = pairs[:, 1]
    return found * register.visible


def _scores(counts: Mapping[str, Ints], lengths: Ints, register: Register) -> Floats:
    scores = np.zeros(len(register.visible))
    if not register.total:
        return scores
    mean = scoring.compute_mean_length(int(lengths.sum()), register.total)
    weight: Any = scoring.weigh_length(_any(lengths), mean)
    for term in sorted(counts):
        found = counts[term]
        frequency = int(np.count_nonzero(found))
        if frequency:
            rare = scoring.compute_rarity(frequency, register.total)
            saturated: Any = scoring.saturate(_any(found), weight)
            scores += rare * saturated
    return scores


def _normalised(scores: Floats) -> Floats:
    normal: Any = scoring.normalize(_any(scores), _highest(scores))
    return np.asarray(normal, dtype=np.float64)


def _lent(base: Floats, register: Register) -> Floats:
    if not register.grouped:
        return np.zeros(len(base))
    before, after = register.before, register.after
    lent: Any = scoring.weigh_neighbours(
        _any(base[before[before]]), _any(base[before]), _any(base[after]), _any(base[after[after]])
    )
    return np.where(register.visible, lent, 0.0)


def _highest(scores: Floats) -> float:
    return float(scores.max(initial=0.0))


def _readable(asked: Question, counts: Mapping[str, Ints], register: Register) -> list[int]:
    found_in = {term: int(np.count_nonzero(found)) for term, found in counts.items()}
    having = register.visible.copy()
    for term in asked.choose_required_terms(found_in):
        having &= counts[term] > 0 if term in counts else False
    return limit_candidates(np.flatnonzero(having).tolist())


def _any(array: NDArray[Any] | None) -> Any:
    """The formulas are written for numbers, and arrays take them as well; types can't say so."""
    return array
