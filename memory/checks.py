"""Start-up checks of memory: settings that the database can't fulfil."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's word
from django.db.utils import DatabaseError

from memory.embedding import vector_column


@register(Tags.database)
def check_pgvector(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Return a warning if the embedder has no pgvector. Everything else works without it, including recall by words."""
    if not settings.MEMORY_EMBEDDER or "default" not in (databases or ()):
        return []
    try:
        can_exist = vector_column.can_exist("default")
    except DatabaseError:
        return []  # another check reports that the database doesn't respond
    warning = Warning(f"MEMORY_EMBEDDER: {vector_column.MISSING}", id="memory.W001")
    return [] if can_exist else [warning]
