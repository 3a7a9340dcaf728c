"""The newest entries of many namespaces at once, without reading any namespace further than the page."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from config.sql import read_queries
from memory.models import Entry, Namespace
from memory.providers.postgres.fixed_queries import Select


QUERIES: Final = read_queries("memory/sql/queries/newest.sql")

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
    found = _page(question).fetch_all(*params)
    wanted = list({one.namespace_id for one in found} - known.keys())
    asked_for = {one.pk: one for one in _PLACES.fetch_all(wanted)} if wanted else {}
    for entry in found:
        entry.namespace = known.get(entry.namespace_id) or asked_for[entry.namespace_id]
    return found


def asked(
    namespaces: QuerySet[Namespace], team_id: UUID, now: datetime, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The question and its parameters."""
    places, of_places = namespaces.order_by().values("id").query.sql_with_params()
    question = QUERIES["newest"].format(
        namespaces=places, limit=int(limit), ahead=PAGES_AHEAD * limit
    )
    return question, (*of_places, team_id, now, now, now)
