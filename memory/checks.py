"""Start-up checks of memory: what an operator asked for and the database can't give."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's word
from django.db.utils import DatabaseError

from memory.embedding import vector_column


@register(Tags.database)
def embedder_has_pgvector(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning: everything else goes on, recall by words too."""
    if not settings.MEMORY_EMBEDDER or "default" not in (databases or ()):
        return []
    try:
        there = vector_column.could_be("default")
    except DatabaseError:
        return []  # another check says that it does not answer
    return [] if there else [Warning(f"MEMORY_EMBEDDER: {vector_column.MISSING}", id="memory.W001")]
