"""The database backend. Django imports ``DatabaseWrapper`` from here by the name ENGINE in the settings."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from functools import lru_cache
from typing import Any, Final

import psycopg
from django.db.backends.postgresql import base
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format
from psycopg_pool import PoolTimeout


BUSY_TIMEOUT: Final = 10.0  # seconds that a request waits for a connection of a busy pool
_PROBE_TIMEOUT: Final = 1

Statement = tuple[str, Sequence[str]]  # with its parameters

_TIME: Final = "timestamptz"


@lru_cache(maxsize=4)
def _restore_time_loader(adapters: AdaptersMap) -> AdaptersMap:
    """Return a copy of Django's adapters that reads times as psycopg does.

    Both give times in UTC on a connection in UTC; that of psycopg's binary is written in C, and six times as fast.
    """
    loader = psycopg.adapters.get_loader(psycopg.adapters.types[_TIME].oid, Format.TEXT)
    adapters = AdaptersMap(adapters)
    if loader is not None:
        adapters.register_loader(_TIME, loader)
    return adapters


class DatabaseWrapper(base.DatabaseWrapper):
    """Waits long for a connection of a busy pool, but fails at once if the server doesn't accept connections.

    It can also send a statement in one message with a savepoint.
    """

    def get_connection_params(self) -> dict[str, Any]:
        params = super().get_connection_params()
        if self._is_in_utc:
            params["context"] = _restore_time_loader(params["context"])
        return params

    def create_cursor(self, name: str | None = None) -> Any:  # psycopg's cursor, untyped in Django
        """Create a cursor as Django does, which would look for its own loader of times on the connection."""
        if not self._is_in_utc:
            return super().create_cursor(name)
        if name is None:
            return self.connection.cursor()
        create: Any = base.ServerSideCursor  # typed as psycopg2's
        is_held = self.connection.autocommit
        return create(self.connection, name=name, scrollable=False, withhold=is_held)

    @property
    def _is_in_utc(self) -> bool:
        return bool(self.timezone == UTC)

    @contextmanager
    def sending_with_savepoint(self, statement: str, params: Sequence[str]) -> Iterator[None]:
        """Send the statement together with the savepoint that is opened or released in the block.

        The savepoint contains it: a rollback to the savepoint undoes it. If there is no savepoint, it is sent alone.
        """
        waiting = [(statement, params)]

        def send(*others: Statement, is_first: bool) -> None:
            taken = [waiting.pop()] if waiting else []
            self._execute_together([*taken, *others] if is_first else [*others, *taken])

        def open_savepoint(sid: str) -> None:
            send((self.ops.savepoint_create_sql(sid), ()), is_first=False)

        def release_savepoint(sid: str) -> None:
            send((self.ops.savepoint_commit_sql(sid), ()), is_first=True)

        # Other savepoints are Django's own.
        methods = {"_savepoint": open_savepoint, "_savepoint_commit": release_savepoint}
        vars(self).update(methods)
        try:
            yield
            if waiting:
                send(is_first=True)
        finally:
            for name in methods:
                del vars(self)[name]

    def _execute_together(self, statements: Sequence[Statement]) -> None:
        """Execute the statements in one round trip. A log of queries shows each of them."""
        with self.cursor() as cursor:
            if self.queries_logged:
                for statement, params in statements:
                    cursor.execute(statement, params)
            else:
                message = "; ".join(statement for statement, _ in statements)
                cursor.execute(message, [value for _, params in statements for value in params])

    def get_new_connection(
        self, conn_params: dict[str, Any]
    ) -> Any:  # psycopg's connection, untyped in Django
        deadline = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout:
                if time.monotonic() >= deadline:
                    raise
                self._check_server(conn_params)

    def _check_server(self, conn_params: dict[str, Any]) -> None:
        """Raise psycopg's OperationalError if the server accepts no new connection."""
        psycopg.connect(**{**conn_params, "connect_timeout": _PROBE_TIMEOUT}).close()
