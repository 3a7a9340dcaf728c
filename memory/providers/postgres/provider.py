"""The default provider: PostgreSQL, restricted to one team."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from accounts.tenancy import tenant
from memory.core.filters import parse_filter
from memory.core.identifiers import normalize_key
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_bound,
    check_namespace,
    check_value,
)
from memory.core.provider import Clock, check_query, utc_now
from memory.core.recall.floor import select_relevant
from memory.core.recall.selection import Candidate, answer, rank_candidates
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import check_namespace_text
from memory.core.values import check_params
from memory.embedding.query_embedding import embed_query
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.base import MemoryProvider
from memory.providers.postgres import rows, searching, snapshots, value_sources, vectors
from memory.providers.postgres.filters import Sql, apply_filter, compile_filter
from memory.providers.postgres.history_notes import exempt_notes
from memory.providers.postgres.newest import fetch_newest_of_each


T = TypeVar("T")


class PostgresProvider(MemoryProvider):
    """A provider whose every call is one transaction, with a revision for each change.

    Subclasses that check or lock the namespace in another way override the methods below ``history``.
    """

    def __init__(
        self,
        team_id: UUID,
        *,
        clock: Clock = utc_now,
        policy: MemorySecurityPolicy = NO_LIMITS,
        actor: str = "",
    ) -> None:
        self._team_id = team_id
        self._clock = clock
        self._policy = policy
        self._actor = actor

    async def run(self, work: Callable[[], T]) -> T:
        return await run_in_database_thread(work)

    def store(self, params: StoreParams) -> MemoryEntry:
        policy = exempt_notes(self._policy, params)
        check_bound(policy, params.value, key=params.key, metadata=params.metadata)
        check_params(params)
        self._check(params.namespace)
        check_value(policy, params.value, key=params.key, metadata=params.metadata)
        with self._transaction():
            namespace = self._claim(params.namespace)
            context = self._build_context(Operation.STORE, params.key)
            entry, _before = rows.write(namespace, params, context, policy)
        return rows.build_entry(entry, params.namespace)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        self._check(query.namespace)
        query = self._embed_query(query)
        with self._transaction():
            namespace = self._find(query.namespace)
            return search(namespace, query, self._clock()) if namespace else []

    def delete(self, namespace: str, key: str) -> bool:
        return self._forget(namespace, key=normalize_key(key)) > 0

    def clear_namespace(self, namespace: str) -> int:
        return self._forget(namespace)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        self._check(namespace)
        with self._transaction():
            row = self._find(namespace)
            unexpired = row and rows.find_living(row).exclude(expires_at__lte=self._clock())
            entry_row = unexpired and unexpired.filter(key=normalize_key(key)).first()
            if not entry_row:
                return []
            entry = rows.build_entry(entry_row, namespace)
            revisions = Revision.objects.unscoped().filter(entry=entry_row).order_by("number")
            past = [snapshots.build_entry_as_of(entry, revision) for revision in revisions]
            return value_sources.add_value_sources(past)

    def _check(self, namespace: str) -> None:
        check_namespace(self._policy, namespace)

    def _embed_query(self, query: MemoryQuery) -> MemoryQuery:
        return embed_query(query, self._team_id)

    def _transaction(self) -> AbstractContextManager[object]:
        return tenant([self._team_id])

    def _find(self, namespace: str) -> Namespace | None:
        return rows.find_namespace(self._team_id, namespace)

    def _claim(self, namespace: str) -> Namespace:
        check_namespace_text(namespace)
        return rows.claim_namespace(self._team_id, namespace)

    def _lock(self, namespace: str) -> Namespace | None:
        return rows.lock_namespace(self._team_id, namespace)

    def _build_context(self, operation: Operation, key: str = "") -> rows.WriteContext:
        """Return the context of a write. ``key`` names the entry if the write affects only one."""
        return rows.WriteContext(operation, self._clock(), actor=self._actor)

    def _forget(self, namespace: str, **lookup: str) -> int:
        self._check(namespace)
        with self._transaction():
            row = self._lock(namespace)
            if row is None:
                return 0
            rows.expire(row, self._clock())
            entries = rows.find_living(row).filter(**lookup).order_by("id")
            context = self._build_context(Operation.FORGET, lookup.get("key", ""))
            return len(rows.forget(row, entries, context))


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """Return the result of a query, now or as of its moment. The caller has checked the access to the namespace."""
    if query.as_of is not None:
        return snapshots.search(namespace, query, query.as_of)
    if query.is_search and searching.has_postings_for(query):
        return searching.search(namespace, query, now)
    if query.is_search:
        return _search_texts(namespace, query, now)
    (entries,) = _list_newest(namespace, [query], now)
    return entries


def search_each(
    namespace: Namespace, queries: Sequence[MemoryQuery], now: datetime
) -> list[list[MemoryEntry]]:
    """Return the result of each query, as ``search`` does. Those for the newest entries are one statement."""
    newest = [query for query in queries if query.as_of is None and not query.is_search]
    lists = iter(_list_newest(namespace, newest, now) if newest else ())
    return [next(lists) if query in newest else search(namespace, query, now) for query in queries]


def _list_newest(
    namespace: Namespace, queries: Sequence[MemoryQuery], now: datetime
) -> list[list[MemoryEntry]]:
    parts = [(query, _build_condition(namespace, query)) for query in queries]
    results = fetch_newest_of_each(namespace, parts, now)
    return [answer(query, rows, now) for query, rows in zip(queries, results, strict=True)]


def _build_condition(namespace: Namespace, query: MemoryQuery) -> Sql:
    sql, params = compile_filter(parse_filter(query.filter))
    if query.key is None:
        return sql, params
    return f"{sql} AND team_id = %s AND key = %s", [*params, namespace.team_id, query.key]


def _search_texts(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """Rank the texts themselves, for queries that postings can't answer. Whole rows are loaded only for the results."""
    visible_rows = rows.find_visible(
        namespace,
        now,
        holding_at=query.find_moment(now),
        for_prompt=query.for_prompt,
        without_lessons=query.leaves_out_lessons,
    )
    matches = apply_filter(visible_rows, parse_filter(query.filter))
    texts = list(matches.values_list("updated_at", "id", "text", "group", "position", "number"))
    numbers = [row[5] for row in texts if row[5] is not None]
    cosines = vectors.compute_cosines(namespace, query.meaning, included=numbers)
    candidates = [
        Candidate(
            updated_at,
            str(pk),
            text,
            (group, position) if group else None,
            None if number is None else cosines.get(number),
        )
        for updated_at, pk, text, group, position, number in texts
    ]
    hits = searching.load_hits(namespace, rank_candidates(query, candidates, now))
    return select_relevant(query, hits)


async def run_in_database_thread(work: Callable[[], T]) -> T:
    """Call ``work``, which uses the database, in another thread than the event loop's; return its result."""

    def call() -> T:
        close_old_connections()
        try:
            return work()
        finally:
            close_old_connections()

    return await sync_to_async(call, thread_sensitive=False)()
