"""What recall has to reach on the question sets (`bench.recall`): better than the other rankers, and these goals."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench._common import Bar
from bench.refusals import Refusals
from bench.retrieval_sets import Quality


MAX_MS = 10.0
# Of the questions that nothing answers, the least share that finds nothing, and of the others the highest.
MIN_REFUSED, MAX_REFUSED = 0.7, 0.05


@dataclass(frozen=True)
class Goals:
    """The least figures on the half of a set that is held out; None: only better than the other rankers."""

    at_5: float | None = None
    at_10: float | None = None
    mrr: float | None = None


FIGURES = {"at_5": "R@5", "at_10": "R@10", "mrr": "MRR"}
# By the name of the set.
GOALS = {
    "locomo": Goals(0.658, 0.76, 0.545),
    "realtalk": Goals(at_10=0.58),
    "beam-100k": Goals(0.42, 0.52, 0.48),
    "cmrc": Goals(at_10=0.995),
    "xquad-en": Goals(at_10=0.99),
}
# The same for recall by words only.
GOALS_BY_WORDS = {
    "locomo": Goals(0.595, 0.69),
    "cmrc": GOALS["cmrc"],
    "xquad-en": GOALS["xquad-en"],
}


def build_quality_bars(
    name: str, ours: Quality, peers: Mapping[str, Quality], goals: Mapping[str, Goals]
) -> list[Bar]:
    """Return the bars of a set: the goals, and the best of the other rankers in each figure."""
    bars = []
    for figure, title in FIGURES.items():
        value: float = getattr(ours, figure)
        goal: float | None = getattr(goals.get(name, Goals()), figure)
        if goal is not None:
            bars.append(Bar(f"{name} {title}", value, goal, at_least=True))
        if peers:
            best = max(peers, key=lambda peer: getattr(peers[peer], figure))
            limit: float = getattr(peers[best], figure)
            bars.append(Bar(f"{name} {title}, {best}", value, limit, at_least=True))
    return bars


def build_refusal_bars(name: str, refusals: Refusals) -> list[Bar]:
    """Return the bars for the questions that nothing answers, if the set has any."""
    if refusals.unanswerable is None:
        return []
    return [
        Bar(f"{name} unanswerable refused", refusals.unanswerable[0], MIN_REFUSED, at_least=True),
        Bar(f"{name} answerable refused", refusals.answerable[0], MAX_REFUSED),
    ]
