"""Similarity in meaning between texts and a question, from 0 to 1, as a part of the score.

What a cosine is worth differs from model to model: with some everything is above 0.7. So only the order and the
distances among the nearest count: the nearest of all is 1, the hundredth is 0, and so is whatever is further away.
"""

from collections.abc import Mapping
from typing import Final, TypeVar


NEAREST: Final = 100

Name = TypeVar("Name")


def nearness(cosines: Mapping[Name, float]) -> dict[Name, float]:
    """Of the nearest; nothing of the others. Equally near ones are all 1."""
    highest = sorted(cosines.values(), reverse=True)[:NEAREST]
    if not highest:
        return {}
    best, floor = highest[0], highest[-1]
    if best == floor:
        return {name: 1.0 for name, cosine in cosines.items() if cosine == best}
    return {
        name: (cosine - floor) / (best - floor)
        for name, cosine in cosines.items()
        if cosine >= floor
    }


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Of vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))
