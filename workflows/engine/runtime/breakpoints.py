"""Pauses a run before chosen nodes, so that a user can check and resume it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from workflows.engine.runtime.step_records import StepKey


@dataclass(slots=True)
class PauseControl:
    """Decides before which nodes a run pauses. Once a node has to wait, all later nodes wait, too.

    ``passed_steps`` are the steps at which the run paused earlier and was resumed. ``open_containers`` are the
    containers inside which it paused; they start again to reach the breakpoint. ``budget`` is how many more nodes may
    start; None means all.
    """

    breakpoints: Collection[str] = frozenset()
    passed_steps: Collection[str] = frozenset()
    open_containers: Collection[str] = frozenset()
    budget: int | None = None
    waiting_steps: list[StepKey] = field(default_factory=list)
    reason: str = ""

    def pause_before(self, key: StepKey) -> bool:
        """Return whether the node has to wait, and record it if so. Call this once for each ready node."""
        name = format_step_name(key)
        if not self.reason:
            if name in self.open_containers:
                return False
            if key.node_id in self.breakpoints and name not in self.passed_steps:
                self.reason = "breakpoint"
            elif self.budget is not None and self.budget <= 0:
                self.reason = "step"
        if self.reason:
            self.waiting_steps.append(key)
            return True
        if self.budget is not None:
            self.budget -= 1
        return False


def format_step_name(key: StepKey) -> str:
    """Return a name that is unique for a node and its rounds, such as "node@1.2"."""
    return f"{key.node_id}@{'.'.join(map(str, key.rounds))}" if key.rounds else key.node_id
