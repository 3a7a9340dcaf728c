"""The newest entries of one namespace, and of many. No more rows of any namespace are read than a page has."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from config.sql import read_queries
from memory.core.records import LESSON_CATEGORIES, MemoryEntry, MemoryQuery
from memory.models import Entry, Namespace
from memory.providers.postgres.filters import Sql
from memory.providers.postgres.fixed_queries import Select, SelectEntries, fetch_prepared


QUERIES: Final = read_queries("memory/sql/queries/newest.sql")

PAGES_AHEAD: Final = 4

_NEWEST_FIRST: Final = "ORDER BY updated_at DESC, id DESC"
_NAMESPACES = Select(Namespace, "WHERE id = ANY(%s)")


@lru_cache(maxsize=64)  # the SQL depends on the number of the caller's teams and on the scopes
def _select_page(ids_sql: str) -> Select[Entry]:
    return Select(Entry, f"WHERE id = ANY(ARRAY({ids_sql})) {_NEWEST_FIRST}")


def fetch_newest_of(
    namespace: Namespace, condition: Sql, now: datetime, query: MemoryQuery
) -> list[MemoryEntry]:
    """Return the newest entries that the condition selects, at most ``top_k``, and ``rows.find_visible`` for the query.

    Composing this with the methods of query sets would take longer than running it.
    """
    (entries,) = fetch_newest_of_each(namespace, [(query, condition)], now)
    return entries


def fetch_newest_of_each(
    namespace: Namespace, queries: Sequence[tuple[MemoryQuery, Sql]], now: datetime
) -> list[list[MemoryEntry]]:
    """Return what ``fetch_newest_of`` does for each query and its condition, by one statement for all."""
    parts = [_build_part(namespace, query, condition, now) for query, condition in queries]
    params = [param for _sql, params in parts for param in params]
    select = _select_newest(tuple(sql for sql, _params in parts))
    results: list[list[MemoryEntry]] = [[] for _query in queries]
    for entry, numbers in select.fetch_all(namespace.text, *params):
        results[numbers[0] if numbers else 0].append(entry)
    return results


def _build_part(namespace: Namespace, query: MemoryQuery, condition: Sql, now: datetime) -> Sql:
    """Return the clauses that select the entries of one query, in their order."""
    parts: list[Sql] = [
        ("namespace_id = %s AND deleted_at IS NULL AND tier <> 'quarantine'", [namespace.pk]),
        ("(expires_at IS NULL OR expires_at > %s)", [now]),
        condition,
    ]
    if query.for_prompt:
        parts.append(("prompt_use <> 'never'", []))
    if query.leaves_out_lessons:
        parts.append(("category <> ALL(%s)", [[*LESSON_CATEGORIES]]))
    if (moment := query.find_moment(now)) is not None:
        parts.append(("(valid_from IS NULL OR valid_from <= %s)", [moment]))
        parts.append(("(valid_until IS NULL OR valid_until > %s)", [moment]))
    conditions = " AND ".join(sql for sql, _params in parts)
    params = [param for _sql, params in parts for param in params]
    return f"WHERE {conditions} {_NEWEST_FIRST} LIMIT %s", [*params, query.top_k]


@lru_cache(maxsize=64)
def _select_newest(parts: tuple[str, ...]) -> SelectEntries:
    if len(parts) == 1:
        return SelectEntries(*parts, fetch=fetch_prepared)
    selects = " UNION ALL ".join(
        f"(SELECT id AS entry_id, {number} AS part FROM memory_entry {part})"
        for number, part in enumerate(parts)
    )
    clauses = f"JOIN ({selects}) AS newest ON id = entry_id {_NEWEST_FIRST}"
    return SelectEntries(clauses, "part", fetch=fetch_prepared)


def fetch_newest(
    namespaces: QuerySet[Namespace],
    team_id: UUID,
    now: datetime,
    limit: int,
    *,
    loaded: Mapping[UUID, Namespace] = MappingProxyType({}),
) -> list[Entry]:
    """Return the newest entries that are neither forgotten nor expired, quarantined ones too, with their namespaces.

    The caller has checked the access to the namespaces, which all belong to the team. Those in ``loaded`` are not
    fetched again.
    """
    try:
        sql, params = build_newest_query(namespaces, team_id, now, limit)
    except EmptyResultSet:  # the caller sees no namespace
        return []
    entries = _select_page(sql).fetch_all(*params)
    missing_ids = list({row.namespace_id for row in entries} - loaded.keys())
    fetched = {row.pk: row for row in _NAMESPACES.fetch_all(missing_ids)} if missing_ids else {}
    for entry in entries:
        entry.namespace = loaded.get(entry.namespace_id) or fetched[entry.namespace_id]
    return entries


def build_newest_query(
    namespaces: QuerySet[Namespace], team_id: UUID, now: datetime, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL of the query for the ids of the newest entries, and its parameters."""
    namespaces_sql, namespace_params = namespaces.order_by().values("id").query.sql_with_params()
    sql = QUERIES["newest"].format(
        namespaces=namespaces_sql, limit=int(limit), ahead=PAGES_AHEAD * limit
    )
    return sql, (*namespace_params, team_id, now, now, now)
