"""The delays before a process that has ended is started again: none at first, then growing while it keeps ending."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


FIRST_DELAY, MAX_DELAY = 0.5, 30.0  # seconds; the delay doubles with each end that follows soon
STABLE_AFTER = 60.0  # a process that ran for this many seconds starts over without a delay


@dataclass(slots=True)
class Backoff:
    """Counts the ends of one process that follow each other closely. The first start happens at its creation."""

    now: Callable[[], float] = time.monotonic
    ends: int = 0  # of processes that didn't run for STABLE_AFTER
    _started_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_at = self.now()

    def record_end(self) -> float:
        """Record that the process has ended, and return the seconds to wait before it is started again."""
        self.ends = 1 if self.now() - self._started_at >= STABLE_AFTER else self.ends + 1
        return 0.0 if self.ends == 1 else min(FIRST_DELAY * 2 ** (self.ends - 2), MAX_DELAY)

    def record_start(self) -> None:
        self._started_at = self.now()
