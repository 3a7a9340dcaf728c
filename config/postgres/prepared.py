"""Cursors whose statements the server plans once a connection: to plan a small query takes longer than to run it."""

from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import Cursor


# psycopg prepares no statement while the connection has no threshold. Django's own cursors put the parameters into the
# statement, so that theirs are never prepared.
_THRESHOLD: Final = 5


class _PreparingCursor(Cursor[Any]):  # Any: the rows of any statement
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:  # Any: psycopg's
        return super().execute(query, params, prepare=True, **options)


def open_prepared_cursor() -> Any:  # Any: Django's wrapper of a cursor is untyped
    """Return a cursor that prepares what it executes. It is for statements of which there are few, and each is frequent."""
    wrapper: Any = connections[DEFAULT_DB_ALIAS]
    # A log shows statements with their parameters, which are sent beside prepared ones.
    if wrapper.queries_logged:
        return wrapper.cursor()
    wrapper.close_if_health_check_failed()
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        if wrapper.connection.prepare_threshold is None:
            wrapper.connection.prepare_threshold = _THRESHOLD
        return wrapper._prepare_cursor(_PreparingCursor(wrapper.connection))
