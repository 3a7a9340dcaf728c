"""Similarity in meaning between texts and a question, from 0 to 1, as a part of the rank.

Cosines differ from model to model; with some models all are above 0.7. So in the rank only the order of the hundred most similar
texts and the distances between them count: the first gets 1 and the last 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar


MAX_SIMILAR: Final = 100

TextId = TypeVar("TextId")


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a text is to a question, from 0 to 1: among the texts that are compared, and whatever the others are."""

    among_texts: float
    to_question: float


def compute_nearness(
    cosines: Mapping[TextId, float], unrelated_cosine: float, same_cosine: float = 1.0
) -> dict[TextId, Nearness]:
    """Return the nearness of the ``MAX_SIMILAR`` most similar texts."""
    return {
        text: Nearness(similarity, map_cosine(cosines[text], unrelated_cosine, same_cosine))
        for text, similarity in scale_cosines(cosines).items()
    }


def map_cosine(cosine: float, unrelated_cosine: float, same_cosine: float = 1.0) -> float:
    """Return the nearness of two texts: 0 up to the cosine of unrelated texts, 1 from that of the same meaning on."""
    return min(1.0, max(0.0, (cosine - unrelated_cosine) / (same_cosine - unrelated_cosine)))


def scale_cosines(cosines: Mapping[TextId, float]) -> dict[TextId, float]:
    """Return the similarity of the ``MAX_SIMILAR`` most similar texts. If all are equally similar, each is 1."""
    highest = sorted(cosines.values(), reverse=True)[:MAX_SIMILAR]
    if not highest:
        return {}
    best, floor = highest[0], highest[-1]
    span = best - floor
    similar = {text: cosine for text, cosine in cosines.items() if cosine >= floor}
    return {text: (cosine - floor) / span if span else 1.0 for text, cosine in similar.items()}


def cosine(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(first, second, strict=True))
