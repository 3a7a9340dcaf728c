"""PostgreSQL access for the frequent statements of a run: psycopg's async pool, without ORM or threads.

Every call executes one statement in autocommit. The SQL functions that the statements call (``sql/``) set the team for
their own transaction, so row-level security applies here too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg_pool import AsyncConnectionPool

from config.postgres.conninfo import build_conninfo
from workflows.execution.run_connection import Row, RunConnection


POOL_SIZE = 8  # more than eight connections of one process don't commit faster (durability.md §2)
CONNECT_TIMEOUT = 1.0  # seconds; callers retry
# Statements are prepared at once: each is used thousands of times.
CONNECTION_OPTIONS = {
    "autocommit": True,
    "prepare_threshold": 0,
    "application_name": "mnemoflow-runs",
}


class Database:
    """A connection pool that belongs to one event loop and is opened on first use.

    A connection that no task waits for is kept for the next statement. To give it back to the pool and to take it from there
    again would take the client as long as the statement.
    """

    def __init__(self, dsn: str | None = None, *, size: int = POOL_SIZE) -> None:
        self._dsn = dsn
        self._size = size
        self._pool: AsyncConnectionPool[RunConnection] | None = None
        self._idle_connections: list[RunConnection] = []  # idle, taken from the pool
        self._waiting = 0  # tasks that wait for a connection of the pool

    async def open(self) -> None:
        if self._pool is None:
            self._pool = AsyncConnectionPool(
                self._dsn or build_conninfo(),
                connection_class=RunConnection,
                kwargs=CONNECTION_OPTIONS,
                min_size=1,
                max_size=self._size,
                open=False,
                name="runs",
                # A failed attempt to connect ends soon, so that the next statement makes a new one instead of waiting for a
                # later attempt.
                timeout=CONNECT_TIMEOUT,
                reconnect_timeout=CONNECT_TIMEOUT,
            )
            await self._pool.open(wait=False)

    async def fetch_rows(self, statement: str, values: Sequence[object]) -> list[Row]:
        connection = (
            self._idle_connections.pop()
            if self._idle_connections
            else await self._take_connection()
        )
        try:
            cursor = await connection.execute(statement.encode(), values)
            return await cursor.fetchall()
        finally:
            await self._give_back(connection)

    async def fetch_value(self, statement: str, values: Sequence[object]) -> Any:
        """Return the only column of the only row, or None, in the short way that ``RunConnection`` has for it."""
        connection = (
            self._idle_connections.pop()
            if self._idle_connections
            else await self._take_connection()
        )
        try:
            return await connection.fetch_value(statement, values)
        finally:
            await self._give_back(connection)

    async def _take_connection(self) -> RunConnection:
        await self.open()
        if self._pool is None:
            raise RuntimeError("the pool was closed")
        self._waiting += 1
        try:
            return await self._pool.getconn()
        finally:
            self._waiting -= 1

    async def _give_back(self, connection: RunConnection) -> None:
        if self._pool is None:
            await connection.close()
        elif connection.is_idle and not self._waiting:
            self._idle_connections.append(connection)
        else:
            is_broken = connection.broken
            await self._pool.putconn(connection)
            if is_broken:  # then the others are, too, most likely
                await self._give_back_idle(self._pool)
                await self._pool.check()

    async def _give_back_idle(self, pool: AsyncConnectionPool[RunConnection]) -> None:
        idle_connections, self._idle_connections = self._idle_connections, []
        for connection in idle_connections:
            await pool.putconn(connection)

    def get_pool_stats(self) -> Mapping[str, int]:
        if self._pool is None:
            return {}
        stats = self._pool.get_stats()
        return {**stats, "pool_available": stats["pool_available"] + len(self._idle_connections)}

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await self._give_back_idle(pool)
            await pool.close(timeout=2)
