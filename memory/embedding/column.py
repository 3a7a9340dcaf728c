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


log = logging.getLogger(__name__)

MISSING: Final = (
    "PostgreSQL has no pgvector of 0.7 or newer: nothing is embedded, and recall goes by words alone. Install the"
    " extension on the database server, then run manage.py migrate."
)
ASKED_AGAIN_AFTER: Final = 60.0  # seconds

# Who may not make extensions leaves it to the operator, and a server without it has none to make. Managed servers
# refuse in ways of their own: whatever it is, no migration fails for it.
EXTENSION: Final = """
    DO $$ BEGIN
      IF to_regtype('halfvec') IS NULL
         AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
        CREATE EXTENSION IF NOT EXISTS vector;
      END IF;
    EXCEPTION WHEN OTHERS THEN RAISE WARNING 'pgvector: %', SQLERRM;
    END $$
"""
# Kept in the row where it fits: fifty thousand look-ups elsewhere would be most of a question's time.
ADD: Final = """
    DO $$ BEGIN
      IF to_regtype('halfvec') IS NOT NULL AND to_regclass('memory_embedding') IS NOT NULL
         AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'memory_embedding'::regclass
                         AND attname = 'vector' AND NOT attisdropped) THEN
        ALTER TABLE memory_embedding ADD COLUMN vector halfvec;
        ALTER TABLE memory_embedding ALTER COLUMN vector SET STORAGE MAIN;
      END IF;
    END $$
"""
COULD_BE: Final = """
    SELECT to_regtype('halfvec') IS NOT NULL
        OR EXISTS (SELECT FROM pg_available_extensions
                   WHERE name = 'vector' AND installed_version IS NULL
                     AND string_to_array(substring(default_version from '^[0-9]+[.][0-9]+'), '.')::int[] >= '{0,7}')
"""
# The type may lie in a schema that this connection doesn't look into: then it can't ask by it either.
THERE: Final = """
    SELECT to_regtype('halfvec') IS NOT NULL
       AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('memory_embedding')
                   AND attname = 'vector' AND NOT attisdropped)
"""


def add(using: str) -> bool:
    """As the owner of the tables; safe to repeat. Whether the column is there now."""
    with connections[using].cursor() as cursor:
        cursor.execute(EXTENSION)
        cursor.execute(ADD)
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
        cursor.execute(COULD_BE)
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
        cursor.execute(THERE)
        return bool(cursor.fetchone()[0])
