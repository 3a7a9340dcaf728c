"""Share a fixed number of slots fairly between teams, in plain Python.

The slots are those of a worker for runs (``execution.worker``) or of a pool for programs (``sandbox.places``).
"""

from collections import Counter
from collections.abc import Hashable
from typing import Final, Generic, TypeVar


# A team may hold this many times as many slots as remain free: 56 of 64 alone, 29 each if two teams want all, and so
# on. A free slot therefore remains for the next team, however many want more, and a team alone loses an eighth at most.
HELD_PER_FREE: Final = 7
MAX_REMEMBERED: Final = 256  # holders whose last turn is remembered

T = TypeVar("T", bound=Hashable)


class Shares(Generic[T]):
    """Counts who holds how many of the slots, and decides who may take one more."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._held: Counter[T] = Counter()
        self._taken = 0
        self._last_turns: dict[T, None] = {}  # the holders in the order of their last turn

    @property
    def free(self) -> int:
        return self.capacity - self._taken

    def count_held(self, holder: T) -> int:
        return self._held[holder]

    def may_take(self, holder: T) -> bool:
        """Return whether the holder may take a slot: always its first, and more while enough others remain free."""
        if self.free <= 0:
            return False
        count = self._held[holder]
        return count == 0 or count + 1 <= HELD_PER_FREE * (self.free - 1)

    def list_full(self) -> list[T]:
        """Return the holders that may take no slot now."""
        return [holder for holder in self._held if not self.may_take(holder)]

    def list_by_last_turn(self) -> list[T]:
        """Return the holders in the order of their last turn, oldest first."""
        return list(self._last_turns)

    def take(self, holder: T) -> None:
        self._held[holder] += 1
        self._taken += 1
        self._last_turns.pop(holder, None)
        self._last_turns[holder] = None
        while len(self._last_turns) > MAX_REMEMBERED:
            del self._last_turns[next(iter(self._last_turns))]

    def give_back(self, holder: T) -> None:
        self._taken -= 1
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]
