"""The column of vectors: there where the server has pgvector, and looked for after every ``migrate``.

A server without the extension has the table and not the column: nothing is embedded then, and recall goes by words.
Once somebody installs it, the next ``migrate`` (or ``memory_embed``) adds the column and all begins to be embedded.
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
ASKED_AGAIN_AFTER: Final = 60.0  # seconds


def add(using: str) -> bool:
    """As the owner of the tables; safe to repeat. Whether the column is there now."""
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["create_extension"])
        cursor.execute(QUERIES["add_column"])
    return _is_there(using)


def add_after_migrating(using: str, **_: Any) -> None:
    """A receiver of ``post_migrate``, which tests send for every alias after each flush."""
    if using == settings.MIGRATE_ALIAS:
        add(using)


def is_there() -> bool:
    """Once it is, it stays; that it isn't is asked again now and then."""
    with _LOCK:
        if not _known.there and time.monotonic() >= _known.again_at:
            _known.there = _is_there(DEFAULT_DB_ALIAS)
            _known.again_at = time.monotonic() + ASKED_AGAIN_AFTER
            if not _known.there:
                log.error("embedder_without_pgvector", extra={"why": MISSING})
        return _known.there


def could_be(using: str) -> bool:
    """Whether the server has the type: before the first ``migrate`` there is no column yet."""
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["could_exist"])
        return bool(cursor.fetchone()[0])


def ask_anew() -> None:
    """Forget what was found; for tests, which have many databases."""
    _known.there, _known.again_at = False, 0.0


class _Known:
    there = False
    again_at = 0.0


_known = _Known()
_LOCK = threading.Lock()


def _is_there(using: str) -> bool:
    with connections[using].cursor() as cursor:
        cursor.execute(QUERIES["exists"])
        return bool(cursor.fetchone()[0])
