"""The places of a pool of runners, which the teams share fairly.

A team gets further places only while enough remain free (``fair_shares``), so that the first job of another team begins at
once. When a place becomes free, the teams take turns, within a team its workflows, and within a workflow the jobs in
their order. All of this holds in one process; each worker process has its own pool.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.runtime.waits import pause_step_time
from workflows.fair_shares import Shares


@dataclass(frozen=True, slots=True)
class Owner:
    """The team and the workflow for which a job runs."""

    team: Hashable = ""  # never None
    workflow: Hashable = ""


NOBODY: Final = Owner()  # such as a command of an operator
_owner: ContextVar[Owner] = ContextVar("owner", default=NOBODY)


def get_owner() -> Owner:
    return _owner.get()


@contextmanager
def run_for(team: Hashable, workflow: Hashable) -> Iterator[None]:
    """Attribute the jobs of this block, and of the tasks that it starts, to the team and the workflow."""
    token = _owner.set(Owner(team, workflow))
    try:
        yield
    finally:
        _owner.reset(token)


@dataclass(eq=False, slots=True)
class _Waiter:
    owner: Owner
    loop: asyncio.AbstractEventLoop
    is_placed: bool = False
    event: asyncio.Event = field(default_factory=asyncio.Event)


class Places:
    """The places of one pool. It can be used from any event loop."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._shares: Shares[Hashable] = Shares(size)
        # The waiting jobs by team and workflow, each in the order of its last turn.
        self._lines: OrderedDict[Hashable, OrderedDict[Hashable, deque[_Waiter]]] = OrderedDict()

    @asynccontextmanager
    async def hold(self, owner: Owner) -> AsyncIterator[None]:
        """Hold a place during the block, and wait for one before it. The wait is no part of the step's time."""
        waiter = _Waiter(owner, asyncio.get_running_loop())
        with self._lock:
            self._add(waiter)
            self._fill()
        try:
            if not waiter.is_placed:
                with pause_step_time():
                    await waiter.event.wait()
            yield
        finally:
            self._leave(waiter)

    def _add(self, waiter: _Waiter) -> None:
        lines = self._lines.setdefault(waiter.owner.team, OrderedDict())
        lines.setdefault(waiter.owner.workflow, deque()).append(waiter)

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.is_placed:
                self._shares.give_back(waiter.owner.team)
            else:  # cancelled while it waited
                self._lines[waiter.owner.team][waiter.owner.workflow].remove(waiter)
                self._drop_empty(waiter.owner)
            self._fill()

    def _fill(self) -> None:
        """Give the free places to the jobs whose turn it is."""
        while (team := self._find_team()) is not None:
            lines = self._lines[team]
            workflow, line = next(iter(lines.items()))
            waiter = line.popleft()
            lines.move_to_end(workflow)
            self._lines.move_to_end(team)
            self._drop_empty(waiter.owner)
            self._shares.take(team)
            waiter.is_placed = True
            if not waiter.loop.is_closed():
                waiter.loop.call_soon_threadsafe(waiter.event.set)

    def _find_team(self) -> Hashable | None:
        """Return the team with the fewest places among those that may take one; of these the first by turns."""
        teams = [team for team in self._lines if self._shares.may_take(team)]
        return min(teams, key=self._shares.count_held, default=None)

    def _drop_empty(self, owner: Owner) -> None:
        lines = self._lines[owner.team]
        if not lines[owner.workflow]:
            del lines[owner.workflow]
        if not lines:
            del self._lines[owner.team]
