"""Connections that stay open while a run is executed, so that its calls need not open one each.

Whoever executes a run calls ``keep_connections``; what is called in that block finds the connections that are open already.
They are closed with the block, which a run also leaves when it pauses.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast


class Closable(Protocol):
    @property
    def is_open(self) -> bool: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


@dataclass
class _Pool:
    """The open connections by what they lead to. Only one is opened to each, whoever asks for it at the same time."""

    connections: dict[Hashable, Closable] = field(default_factory=dict)
    locks: dict[Hashable, asyncio.Lock] = field(default_factory=dict)


_pool: ContextVar[_Pool | None] = ContextVar("kept_connections", default=None)


@asynccontextmanager
async def keep_connections() -> AsyncIterator[None]:
    """Keep the connections that are opened in this block until its end."""
    pool = _Pool()
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)
        await asyncio.gather(*(each.close() for each in pool.connections.values()))


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
