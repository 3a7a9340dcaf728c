"""Start-up checks of memory: settings that the database can't fulfil."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import (
    CheckMessage,
    Error,
    Tags,
    Warning,  # noqa: A004 - Django's word
    register,
)
from django.db.utils import DatabaseError

from config.checks import BEFORE_START
from memory.embedding import vector_column
from memory.services.transfer.moving import MisplacedNamespace, list_hidden_namespaces


MOVE = "Run `manage.py memory_move`, which moves them, and start again, or restore the setting."


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


@register(Tags.database, BEFORE_START)
def check_places(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Return an error for each scope whose entries ``MEMORY_PLACES`` would hide.

    ``migrate``, ``up`` and the start of a worker ask for it: other processes start without a query.
    """
    if not databases:
        return []
    try:
        hidden_namespaces = list_hidden_namespaces()
    except DatabaseError:
        return []  # another check reports that the database doesn't respond, or its tables are older
    groups: dict[tuple[str, str, str], list[MisplacedNamespace]] = defaultdict(list)
    for namespace in hidden_namespaces:
        groups[namespace.row.scope, namespace.provider, namespace.expected].append(namespace)
    return [_build_error(*names, group) for names, group in groups.items()]


def _build_error(
    scope: str, provider: str, expected: str, group: Sequence[MisplacedNamespace]
) -> CheckMessage:
    counts = [namespace.count for namespace in group if namespace.count is not None]
    number = f"{sum(counts)} entries" if len(counts) == len(group) else "the entries"
    message = (
        f"MEMORY_PLACES would hide {number} of {len(group)} namespaces of the scope {scope}: they are in {provider}, "
        f"and would be looked for in {expected}."
    )
    return Error(message, hint=MOVE, id="memory.E001")
