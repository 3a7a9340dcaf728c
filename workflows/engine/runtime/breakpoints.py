"""Holds nodes back before they begin, so that somebody can look at a run on its way and let it go on."""

from collections.abc import Collection
from dataclasses import dataclass, field

from workflows.engine.runtime.step_records import StepKey


@dataclass(slots=True)
class Brake:
    """Says when to hold. Once it held one node it holds all: a pause is a pause of the whole run.

    ``past``: where the run was held before and was told to go on. ``inside``: containers it was held
    inside of; they begin again to get there. ``budget``: how many more nodes may begin; None: all.
    """

    breakpoints: Collection[str] = frozenset()
    past: Collection[str] = frozenset()
    inside: Collection[str] = frozenset()
    budget: int | None = None
    held: list[StepKey] = field(default_factory=list)
    reason: str = ""

    def holds(self, key: StepKey) -> bool:
        """Asked once for each node that is ready; a node that isn't held begins."""
        if not self.reason and name_of(key) in self.inside:
            return False
        if not self.reason:
            if key.node_id in self.breakpoints and name_of(key) not in self.past:
                self.reason = "breakpoint"
            elif self.budget is not None and self.budget <= 0:
                self.reason = "step"
        if self.reason:
            self.held.append(key)
            return True
        if self.budget is not None:
            self.budget -= 1
        return False


def name_of(key: StepKey) -> str:
    """A step in one word: a node of a round is another one in the next round."""
    return f"{key.node_id}@{'.'.join(map(str, key.rounds))}" if key.rounds else key.node_id
