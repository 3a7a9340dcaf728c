"""The database column of vectors, which exists only if the server has the extension pgvector.

Without the extension nothing is embedded, and recall matches words only. Once it is installed, the next ``migrate`` or
``memory_embed`` adds the column, and all entries are embedded.
"""

import logging
import threading
import time
from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from config.sql import read_queries


QUERIES: Final = read_queries("memory/sql/queries/embedding_column.sql")

log = logging.getLogger(__name__)

MISSING: Final = (
    "PostgreSQL has no pgvector 0.7 or newer, so nothing is embedded and recall matches words only. Install the"
    " extension on the database server, then run manage.py migrate."
)
CHECK_INTERVAL: Final = 60.0  # seconds

_LOCK = threading.Lock()


def add(using: str) -> bool:
    """Add the column, with the connection of the tables' owner, and return whether it exists now. Safe to repeat."""
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["create_extension"])
        cursor.execute(QUERIES["add_column"])
    return _has_column(using)


def add_after_migrating(using: str, **_: Any) -> None:
    """Add the column as a receiver of ``post_migrate``, which tests send for every alias after each flush."""
    if using == settings.MIGRATE_ALIAS:
        add(using)


def exists() -> bool:
    """Return whether the column exists. A missing one is looked for again after ``CHECK_INTERVAL``."""
    with _LOCK:
        if not _cache.column_exists and time.monotonic() >= _cache.check_at:
            _cache.column_exists = _has_column(DEFAULT_DB_ALIAS)
            _cache.check_at = time.monotonic() + CHECK_INTERVAL
            if not _cache.column_exists and not _cache.is_reported:
                log.warning("embedder_without_pgvector", extra={"why": MISSING})
                _cache.is_reported = True
        return _cache.column_exists


def can_exist(using: str) -> bool:
    """Return whether the server has pgvector, so that ``migrate`` can add the column."""
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["could_exist"])
        return bool(cursor.fetchone()[0])


def reset_cache() -> None:
    """Forget whether the column exists, after it was added or for tests, which have many databases."""
    _cache.column_exists, _cache.check_at, _cache.is_reported = False, 0.0, False


class _Cache:
    column_exists = False
    check_at = 0.0
    is_reported = False


_cache = _Cache()


def _has_column(using: str) -> bool:
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["exists"])
        return bool(cursor.fetchone()[0])
