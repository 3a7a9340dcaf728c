"""The database backend. Django imports ``DatabaseWrapper`` from here by the name ENGINE in the settings."""

import time
from typing import Any, Final

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout


BUSY_TIMEOUT: Final = 10.0  # seconds that a request waits for a connection of a busy pool
_PROBE_TIMEOUT: Final = 1


class DatabaseWrapper(base.DatabaseWrapper):
    """Waits long for a connection of a busy pool, but fails at once if the server doesn't accept connections."""

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
