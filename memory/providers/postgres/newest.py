"""The newest entries of many namespaces at once, without reading any namespace further than the page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.models import Entry


# Of many namespaces only those whose own newest is among the newest can have a place on the page: so one probe of
# each, then a page from each of those few. ``= ANY(ids)`` would sort everything that all of them have.
NEWEST = """
    SELECT entry.id
    FROM (
        SELECT place.id
        FROM unnest(%(places)s::uuid[]) AS place (id)
        CROSS JOIN LATERAL (
            SELECT id, updated_at FROM memory_entry
            WHERE namespace_id = place.id AND deleted_at IS NULL
              AND (expires_at IS NULL OR expires_at > %(now)s)
            ORDER BY updated_at DESC, id DESC
            LIMIT 1
        ) AS first
        ORDER BY first.updated_at DESC, first.id DESC
        LIMIT %(limit)s
    ) AS place
    CROSS JOIN LATERAL (
        SELECT id, updated_at FROM memory_entry
        WHERE namespace_id = place.id AND deleted_at IS NULL
          AND (expires_at IS NULL OR expires_at > %(now)s)
        ORDER BY updated_at DESC, id DESC
        LIMIT %(limit)s
    ) AS entry
    ORDER BY entry.updated_at DESC, entry.id DESC
    LIMIT %(limit)s
"""


def newest(namespaces: Sequence[UUID], now: datetime, limit: int) -> list[Entry]:
    """Living entries, quarantined ones too, newest first. The caller has checked the namespaces."""
    if not namespaces:
        return []
    found = Entry.objects.unscoped().raw(
        f"SELECT memory_entry.* FROM memory_entry JOIN ({NEWEST}) AS page ON page.id = memory_entry.id"
        " ORDER BY updated_at DESC, memory_entry.id DESC",
        asked(namespaces, now, limit),
    )
    return list(found)


def asked(namespaces: Sequence[UUID], now: datetime, limit: int) -> dict[str, Any]:
    """The parameters of ``NEWEST``."""
    return {"places": list(namespaces), "now": now, "limit": limit}
