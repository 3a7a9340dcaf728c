"""Connections that stay open while a run is executed, so that its calls need not open one each.

Whoever executes a run calls ``keep_connections``; what is called in that block finds the connections that are open already.
They are closed with the block. Those of a run that pauses may be parked instead: who approves a call often does so within
a minute, and then the run goes on with them, if the same process executes it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar, cast


PARK_SECONDS: Final = 300.0
MAX_PARKED: Final = 16  # runs of a process; the one that was parked first makes room


class Closable(Protocol):
    @property
    def is_open(self) -> bool: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


@dataclass
class Pool:
    """The open connections by what they lead to. Only one is opened to each, whoever asks for it at the same time.

    With ``is_pausing`` they are parked instead of closed.
    """

    connections: dict[Hashable, Closable] = field(default_factory=dict)
    locks: dict[Hashable, asyncio.Lock] = field(default_factory=dict)
    is_pausing: bool = False

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self.connections.values()))


@dataclass
class ParkedConnections:
    """The connections of paused runs by their runs, for one event loop. Nobody else gets them."""

    seconds: float = PARK_SECONDS
    limit: int = MAX_PARKED
    _pools: OrderedDict[Hashable, tuple[Pool, asyncio.TimerHandle]] = field(
        default_factory=OrderedDict
    )
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    def take(self, run: Hashable) -> Pool | None:
        """Return the pool of a run that goes on, or None if it has none here any more."""
        if run not in self._pools:
            return None
        pool, timer = self._pools.pop(run)
        timer.cancel()
        pool.is_pausing = False
        return pool

    def park(self, run: Hashable, pool: Pool) -> None:
        """Keep the pool of a paused run for a while."""
        self._drop(run)
        timer = asyncio.get_running_loop().call_later(self.seconds, self._drop, run)
        self._pools[run] = (pool, timer)
        while len(self._pools) > self.limit:
            self._drop(next(iter(self._pools)))

    async def close(self) -> None:
        """Close all connections, as the process ends."""
        for run in list(self._pools):
            self._drop(run)
        await asyncio.gather(*self._closing)

    def _drop(self, run: Hashable) -> None:
        pool = self.take(run)
        if pool is not None:
            task = asyncio.get_running_loop().create_task(pool.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


_pool: ContextVar[Pool | None] = ContextVar("kept_connections", default=None)


@asynccontextmanager
async def keep_connections(
    parked: ParkedConnections | None = None, run: Hashable = None
) -> AsyncIterator[Pool]:
    """Keep the connections that are opened in this block until its end, or parked if the run pauses."""
    pool = (parked.take(run) if parked else None) or Pool()
    token = _pool.set(pool)
    try:
        yield pool
    finally:
        _pool.reset(token)
        if parked is not None and pool.is_pausing and pool.connections:
            parked.park(run, pool)
        else:
            await pool.close()


@asynccontextmanager
async def find_connection(key: Hashable, connect: Callable[[], Awaitable[C]]) -> AsyncIterator[C]:
    """Yield the kept connection of this key, or a new one: of the run, or of this block alone where nothing is kept."""
    pool = _pool.get()
    if pool is None:
        connection = await connect()
        try:
            yield connection
        finally:
            await connection.close()
        return
    async with pool.locks.setdefault(key, asyncio.Lock()):
        entry = pool.connections.get(key)
        if entry is None or not entry.is_open:
            if entry is not None:
                await entry.close()
            pool.connections[key] = await connect()
    yield cast("C", pool.connections[key])
