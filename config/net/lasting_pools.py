"""Connections that outlast the client that opened them, in an event loop that keeps them.

A client is for one exchange, and closes its connection. But an agent asks the same model several times in a row, and each
time looking up the name, connecting and agreeing on TLS takes longer than everything that the product does itself. So
``reuse_connections`` lets an event loop keep the pools of clients that name an owner. Owners share no connection: what one
of them provokes a server to send can't be the answer of another one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import httpcore2


SWEEP_SECONDS: Final = 10.0


@dataclass
class LastingPool:
    """The connections of one owner, and how many clients may use them at the moment."""

    pool: httpcore2.AsyncConnectionPool
    client_count: int = 0
    unused_since: float = 0.0

    def leave(self) -> None:
        """Note that a client was closed."""
        self.client_count -= 1
        self.unused_since = time.monotonic()

    async def close_spoiled(self) -> None:
        """Close the connections on which a server has sent more than its answer.

        httpcore2 would take the rest for the answer to the next request, which may be another person's.
        """
        for connection in self.pool.connections:
            if connection.is_idle() and _has_rest(connection):
                await connection.aclose()


class LastingPools:
    """The pools of one event loop, by their owners."""

    def __init__(self) -> None:
        self._pools: dict[Hashable, LastingPool] = {}

    def __len__(self) -> int:
        return len(self._pools)

    def join(
        self, owner: Hashable, build_pool: Callable[[], httpcore2.AsyncConnectionPool]
    ) -> LastingPool:
        """Return the owner's pool for one more client. It is built if there is none."""
        lasting = self._pools.get(owner)
        if lasting is None:
            lasting = self._pools[owner] = LastingPool(build_pool())
        lasting.client_count += 1
        return lasting

    async def close_unused(self, unused_seconds: float) -> None:
        """Close the pools that have had no client for so many seconds.

        A pool closes its own old connections only when it is asked for another one.
        """
        since = time.monotonic() - unused_seconds
        unused = [
            owner
            for owner, lasting in self._pools.items()
            if not lasting.client_count and lasting.unused_since <= since
        ]
        pools = [self._pools.pop(owner).pool for owner in unused]
        for pool in pools:
            await pool.aclose()

    async def close(self) -> None:
        while self._pools:
            _owner, lasting = self._pools.popitem()
            await lasting.pool.aclose()


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LastingPools] = WeakKeyDictionary()


@asynccontextmanager
async def reuse_connections() -> AsyncIterator[LastingPools]:
    """Let clients of this event loop use connections again until the block ends, which closes them."""
    loop = asyncio.get_running_loop()
    pools = _by_loop[loop] = LastingPools()
    sweeping = asyncio.create_task(_sweep(pools))
    try:
        yield pools
    finally:
        del _by_loop[loop]
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await pools.close()


def find_lasting_pools() -> LastingPools | None:
    """Return the pools of the event loop that runs in this thread, or None if it keeps none."""
    try:
        return _by_loop.get(asyncio.get_running_loop())
    except RuntimeError:
        return None


async def _sweep(pools: LastingPools) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        await pools.close_unused(SWEEP_SECONDS)


def _has_rest(connection: Any) -> bool:
    """Return whether bytes are there that belong to no answer. Any: httpcore2 has no public way to them."""
    state = getattr(getattr(connection, "_connection", None), "_h11_state", None)
    return state is not None and bool(state.trailing_data[0])
