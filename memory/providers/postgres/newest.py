"""The newest entries of many namespaces at once, without reading any namespace further than the page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.models import Entry


# Of many namespaces only those whose own newest is among the newest can have a place on the page: so one probe of
# each, then a page from each of those few, and of it nothing older than the oldest of those probes: there is a page
# of newer ones already. ``= ANY(ids)`` would sort everything that all of them have.
NEWEST = """
    WITH place AS MATERIALIZED (
        SELECT wanted.id, first.updated_at
        FROM unnest(%(places)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT id, updated_at FROM memory_entry
            WHERE namespace_id = wanted.id AND deleted_at IS NULL
              AND (expires_at IS NULL OR expires_at > %(now)s)
            ORDER BY updated_at DESC, id DESC
            LIMIT 1
        ) AS first
        ORDER BY first.updated_at DESC, first.id DESC
        LIMIT %(limit)s
    ), bound AS MATERIALIZED (
        SELECT CASE WHEN count(*) < %(limit)s THEN '-infinity' ELSE min(updated_at) END AS oldest
        FROM place
    )
    SELECT entry.id
    FROM bound CROSS JOIN place
    CROSS JOIN LATERAL (
        SELECT id, updated_at FROM memory_entry
        WHERE namespace_id = place.id AND deleted_at IS NULL AND updated_at >= bound.oldest
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
