"""PostgreSQL access for the frequent statements of a run: psycopg's async pool, without ORM or threads.

Every call executes one statement in autocommit. The SQL functions that the statements call (``sql/``) set the team for
their own transaction, so row-level security applies here too.
"""

from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool


POOL_SIZE = 8  # more than eight connections of one process don't commit faster (durability.md §2)
# Statements are prepared at once: each is used thousands of times.
CONNECTION_OPTIONS = {
    "autocommit": True,
    "prepare_threshold": 0,
    "application_name": "mnemoflow-runs",
}
_OPTIONS = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey", "options", "connect_timeout"})

Row = tuple[Any, ...]  # columns differ by statement


def build_conninfo(alias: str = DEFAULT_DB_ALIAS) -> str:
    """Build libpq's connection string from Django's database settings."""
    config = connections[alias].settings_dict
    parameters = {
        "dbname": config["NAME"],
        "user": config["USER"],
        "password": config["PASSWORD"],
        "host": config["HOST"],
        "port": config["PORT"],
        **{key: value for key, value in config.get("OPTIONS", {}).items() if key in _OPTIONS},
    }
    return make_conninfo("", **{key: value for key, value in parameters.items() if value})


class Database:
    """A connection pool that belongs to one event loop and is opened on first use."""

    def __init__(self, dsn: str | None = None, *, size: int = POOL_SIZE) -> None:
        self._dsn = dsn
        self._size = size
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] | None = None

    async def open(self) -> None:
        if self._pool is None:
            self._pool = AsyncConnectionPool(
                self._dsn or build_conninfo(),
                kwargs=CONNECTION_OPTIONS,
                min_size=1,
                max_size=self._size,
                open=False,
                name="runs",
                reconnect_timeout=60,
            )
            await self._pool.open(wait=False)

    async def fetch_rows(self, statement: str, values: Sequence[object]) -> list[Row]:
        await self.open()
        if self._pool is None:
            raise RuntimeError("the pool was closed")
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), values)
            return await cursor.fetchall()

    async def fetch_value(self, statement: str, values: Sequence[object]) -> Any:
        """Return the only column of the only row, or None."""
        rows = await self.fetch_rows(statement, values)
        return rows[0][0] if rows else None

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close(timeout=2)
            self._pool = None
