"""The default provider: PostgreSQL, inside one team's walls."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from accounts.tenancy import tenant
from memory.core.filters import parse_filter
from memory.core.policy import NO_LIMITS, MemorySecurityPolicy, check_namespace, check_value
from memory.core.provider import Clock, check_query, utc_now
from memory.core.recall.selection import Candidate, answer, is_search, rank_candidates
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import parse_namespace
from memory.core.values import check_params
from memory.embedding.query_embedding import embed_query
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.base import MemoryProvider
from memory.providers.postgres import rows, searching, snapshots, vectors
from memory.providers.postgres.filters import narrowed


T = TypeVar("T")


class PostgresProvider(MemoryProvider):
    """Each call is one transaction, with a revision for every change.

    Subclasses that are given a namespace by somebody else, already checked and within a transaction, override the
    methods under ``history``.
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
        return await in_thread(work)

    def store(self, params: StoreParams) -> MemoryEntry:
        check_params(params)
        self._check(params.namespace)
        check_value(self._policy, params.value)
        with self._transaction():
            namespace = self._claim(params.namespace)
            act = self._act(Operation.STORE, params.key)
            entry, _before = rows.write(namespace, params, act, self._policy)
        return rows.build_entry(entry, params.namespace)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        self._check(query.namespace)
        query = self._with_meaning(query)
        with self._transaction():
            namespace = self._find(query.namespace)
            return search(namespace, query, self._clock()) if namespace else []

    def delete(self, namespace: str, key: str) -> bool:
        return self._forget(namespace, key=key) > 0

    def clear_namespace(self, namespace: str) -> int:
        return self._forget(namespace)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        self._check(namespace)
        with self._transaction():
            row = self._find(namespace)
            living = row and rows.find_living(row).exclude(expires_at__lte=self._clock())
            entry = living and living.filter(key=key).first()
            if not entry:
                return []
            present = rows.build_entry(entry, namespace)
            revisions = Revision.objects.unscoped().filter(entry=entry).order_by("number")
            return [snapshots.as_it_was(present, one) for one in revisions]

    def _check(self, namespace: str) -> None:
        check_namespace(self._policy, namespace)

    def _with_meaning(self, query: MemoryQuery) -> MemoryQuery:
        return embed_query(query)

    def _transaction(self) -> AbstractContextManager[object]:
        return tenant([self._team_id])

    def _find(self, namespace: str) -> Namespace | None:
        return rows.find_namespace(self._team_id, namespace)

    def _claim(self, namespace: str) -> Namespace:
        parse_namespace(namespace)
        return rows.claim_namespace(self._team_id, namespace)

    def _lock(self, namespace: str) -> Namespace | None:
        return rows.lock_namespace(self._team_id, namespace)

    def _act(self, operation: Operation, key: str = "") -> rows.WriteContext:
        """``key``: which entry it is about, if it is about one alone."""
        return rows.WriteContext(operation, self._clock(), actor=self._actor)

    def _forget(self, namespace: str, **which: str) -> int:
        self._check(namespace)
        with self._transaction():
            row = self._lock(namespace)
            if row is None:
                return 0
            rows.expire(row, self._clock())
            entries = rows.find_living(row).filter(**which).order_by("id")
            act = self._act(Operation.FORGET, which.get("key", ""))
            return len(rows.forget(row, entries, act))


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """Return what a query finds, now or as of its moment. The caller has checked the right to the namespace."""
    if query.as_of is not None:
        return snapshots.search(namespace, query, query.as_of)
    if is_search(query) and searching.has_postings_for(query):
        return searching.search(namespace, query, now)
    if query.key is not None and not query.filter:
        hit = rows.find_visible_by_key(namespace, query.key, now)
        found_one = [rows.build_entry(hit, namespace.text)] if hit else []
        return answer(query, found_one, now)
    found = rows.find_visible(namespace, now)
    if query.key is not None:
        found = found.filter(key=query.key)
    found = narrowed(found, parse_filter(query.filter))
    if is_search(query):
        return _ranked(namespace, found, query, now)
    newest = found.order_by("-updated_at", "-id")[: query.top_k]
    return answer(query, [rows.build_entry(row, namespace.text) for row in newest], now)


def _ranked(
    namespace: Namespace, found: rows.Entries, query: MemoryQuery, now: datetime
) -> list[MemoryEntry]:
    """Over the texts, where postings don't help; the whole rows are fetched for the few that are asked for."""
    texts = list(found.values_list("updated_at", "id", "text", "group", "position", "number"))
    numbers = [one[5] for one in texts if one[5] is not None]
    cosines = vectors.cosines(namespace, query.meaning, only=numbers)
    candidates = [
        Candidate(at, str(pk), text, (group, position) if group else None, cosines.get(number))
        for at, pk, text, group, position, number in texts
    ]
    return searching.whole(namespace, rank_candidates(query, candidates, now))


async def in_thread(call: Callable[[], T]) -> T:
    """Database work away from the event loop; the thread gives its connection back afterwards."""

    def work() -> T:
        close_old_connections()
        try:
            return call()
        finally:
            close_old_connections()

    return await sync_to_async(work, thread_sensitive=False)()
