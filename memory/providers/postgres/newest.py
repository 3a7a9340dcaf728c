"""The newest entries of many namespaces at once, without reading any namespace further than the page."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from memory.models import Entry, Namespace
from memory.providers.postgres.quick import Select


# Who may look into more namespaces than the page has places, mostly sees most of what the team remembers: so the
# team's newest are read first, a few pages of them, and where those one may see fill the page, nothing else is read.
#
# Otherwise: of many namespaces only those whose own newest is among the newest can have a place on the page: so one
# probe of each, then a page from each of those few, and of it nothing older than the oldest of those probes: there is
# a page of newer ones already. ``= ANY(ids)`` would sort everything that all of them have. Which namespaces is a part
# of the question: a thousand ids there and back take longer than looking into them. ``LIMIT (SELECT …)`` hides the
# number from the planner, who would rather read and sort all that a small namespace has than walk its index from the
# newest on. What is over is left out after the walk: any number of those may be the newest.
_NEWEST = """
    WITH wanted AS MATERIALIZED (
        {places}
    ), ahead AS MATERIALIZED (
        SELECT id, namespace_id, updated_at, expires_at FROM memory_entry
        WHERE team_id = %s AND deleted_at IS NULL
          AND (SELECT count(*) FROM wanted) > {limit}
        ORDER BY updated_at DESC, id DESC
        LIMIT {ahead}
    ), seen AS MATERIALIZED (
        SELECT id FROM ahead
        WHERE namespace_id IN (SELECT id FROM wanted)
          AND (expires_at IS NULL OR expires_at > %s)
        ORDER BY updated_at DESC, id DESC
        LIMIT {limit}
    ), place AS MATERIALIZED (
        SELECT wanted.id, first.updated_at
        FROM wanted
        CROSS JOIN LATERAL (
            SELECT id, updated_at FROM memory_entry
            WHERE namespace_id = wanted.id AND deleted_at IS NULL
              AND (expires_at IS NULL OR expires_at > %s)
            ORDER BY updated_at DESC, id DESC
            LIMIT 1
        ) AS first
        WHERE (SELECT count(*) FROM seen) < {limit}
        ORDER BY first.updated_at DESC, first.id DESC
        LIMIT {limit}
    ), bound AS MATERIALIZED (
        SELECT CASE WHEN count(*) < {limit} THEN '-infinity' ELSE min(updated_at) END AS oldest
        FROM place
    )
    SELECT id FROM seen WHERE (SELECT count(*) FROM seen) = {limit}
    UNION ALL (
        SELECT entry.id
        FROM bound CROSS JOIN place
        CROSS JOIN LATERAL (
            SELECT id, updated_at FROM memory_entry
            WHERE namespace_id = place.id AND deleted_at IS NULL AND updated_at >= bound.oldest
              AND (expires_at IS NULL OR expires_at > %s)
            ORDER BY updated_at DESC, id DESC
            LIMIT (SELECT {limit})
        ) AS entry
        ORDER BY entry.updated_at DESC, entry.id DESC
        LIMIT {limit}
    )
"""
PAGES_AHEAD: Final = 4


_PLACES = Select(Namespace, "WHERE id = ANY(%s)")


@lru_cache(maxsize=64)  # it differs by how many teams somebody is in, and by the scopes there are
def _page(question: str) -> Select[Entry]:
    return Select(Entry, f"WHERE id = ANY(ARRAY({question})) ORDER BY updated_at DESC, id DESC")


def newest(
    namespaces: QuerySet[Namespace],
    team_id: UUID,
    now: datetime,
    limit: int,
    *,
    known: Mapping[UUID, Namespace] = MappingProxyType({}),
) -> list[Entry]:
    """Living entries, quarantined ones too, newest first, each with its namespace. The caller has checked those, which
    are all of the one team. ``known``: those that are at hand already and needn't be asked for."""
    try:
        question, params = asked(namespaces, team_id, now, limit)
    except EmptyResultSet:  # which are none, and needn't be asked for
        return []
    found = _page(question).all(*params)
    wanted = list({one.namespace_id for one in found} - known.keys())
    asked_for = {one.pk: one for one in _PLACES.all(wanted)} if wanted else {}
    for entry in found:
        entry.namespace = known.get(entry.namespace_id) or asked_for[entry.namespace_id]
    return found


def asked(
    namespaces: QuerySet[Namespace], team_id: UUID, now: datetime, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The question and its parameters."""
    places, of_places = namespaces.order_by().values("id").query.sql_with_params()
    question = _NEWEST.format(places=places, limit=int(limit), ahead=PAGES_AHEAD * limit)
    return question, (*of_places, team_id, now, now, now)
