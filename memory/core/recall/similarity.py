"""Similarity in meaning between texts and a question, from 0 to 1, as a part of the score.

The value of a cosine differs from model to model; with some models all are above 0.7. So only the order and the
distances among the most similar texts count: the most similar is 1, the hundredth is 0, and so are all below it.
"""

from collections.abc import Mapping
from typing import Final, TypeVar


MAX_SIMILAR: Final = 100

TextId = TypeVar("TextId")


def scale_cosines(cosines: Mapping[TextId, float]) -> dict[TextId, float]:
    """Return the similarity of the most similar texts; the others are left out. If all are equally similar, each is 1."""
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
