"""What the parts of a score promise."""

from collections.abc import Mapping
from typing import Protocol

import pytest


class Explained(Protocol):
    @property
    def score(self) -> float | None: ...
    @property
    def explain(self) -> Mapping[str, float]: ...


def check_parts(hit: Explained) -> None:
    """The parts of the score add up to it, and those of the rank to the rank; both are from 0 to 1."""
    rank_parts = [part for name, part in hit.explain.items() if name.startswith("rank_")]
    score_parts = [part for name, part in hit.explain.items() if not name.startswith("rank")]

    assert sum(score_parts) == pytest.approx(hit.score)
    assert sum(rank_parts) == pytest.approx(hit.explain["rank"])
    assert 0 <= min(score_parts) <= max(score_parts) <= 1
    assert 0 < hit.explain["rank"] <= 1
