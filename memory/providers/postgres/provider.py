"""The default provider: PostgreSQL, inside one team's walls."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from accounts.tenancy import tenant
from memory.core.filters import parse_filter
from memory.core.policy import NO_LIMITS, MemorySecurityPolicy, check_namespace, check_value
from memory.core.provider import Clock, MemoryProvider, check_query, utc_now
from memory.core.recalling import Candidate, answer, best, is_search
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import parse_namespace
from memory.core.values import check_params
from memory.embedding.questions import by_meaning
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import meanings, past, rows, searching
from memory.providers.postgres.filters import narrowed


T = TypeVar("T")


class PostgresProvider(MemoryProvider):
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

    async def store(self, params: StoreParams) -> MemoryEntry:
        return await in_thread(lambda: self.store_now(params))

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return await in_thread(lambda: self.recall_now(query))

    async def delete(self, namespace: str, key: str) -> bool:
        return await in_thread(lambda: self._forget(namespace, key=key)) > 0

    async def clear_namespace(self, namespace: str) -> int:
        return await in_thread(lambda: self._forget(namespace))

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return await in_thread(lambda: self._history(namespace, key))

    def store_now(self, params: StoreParams) -> MemoryEntry:
        check_params(params)
        parse_namespace(params.namespace)
        check_namespace(self._policy, params.namespace)
        check_value(self._policy, params.value)
        with tenant([self._team_id]):
            namespace = rows.claim_namespace(self._team_id, params.namespace)
            entry, _ = rows.write(namespace, params, self._act(Operation.STORE), self._policy)
        return rows.entry_of(entry, params.namespace)

    def recall_now(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        check_namespace(self._policy, query.namespace)
        query = by_meaning(query)
        with tenant([self._team_id]):
            namespace = rows.find_namespace(self._team_id, query.namespace)
            return search(namespace, query, self._clock()) if namespace else []

    def _forget(self, namespace_text: str, **which: str) -> int:
        check_namespace(self._policy, namespace_text)
        with tenant([self._team_id]):
            namespace = rows.lock_namespace(self._team_id, namespace_text)
            if namespace is None:
                return 0
            rows.expire(namespace, self._clock())
            found = rows.living(namespace).filter(**which).order_by("id")
            return len(rows.forget(namespace, found, self._act(Operation.FORGET)))

    def _history(self, namespace_text: str, key: str) -> list[MemoryEntry]:
        with tenant([self._team_id]):
            namespace = rows.find_namespace(self._team_id, namespace_text)
            entry = namespace and self._living(namespace).filter(key=key).first()
            if not namespace or not entry:
                return []
            made = Revision.objects.unscoped().filter(entry=entry).order_by("number")
            return [past.as_it_was(rows.entry_of(entry, namespace.text), one) for one in made]

    def _living(self, namespace: Namespace) -> rows.Entries:
        now = self._clock()
        return rows.living(namespace).exclude(expires_at__lte=now)

    def _act(self, operation: Operation) -> rows.Act:
        return rows.Act(operation, self._clock(), actor=self._actor)


def search(namespace: Namespace, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
    """What a query finds, now or as of its moment; the namespace and the right to it are the caller's."""
    if query.as_of is not None:
        return past.search(namespace, query, query.as_of)
    if is_search(query) and searching.has_postings_for(query):
        return searching.search(namespace, query, now)
    if query.key is not None and not query.filter:
        hit = rows.visible_key(namespace, query.key, now)
        found_one = [rows.entry_of(hit, namespace.text)] if hit else []
        return answer(query, found_one, now)
    found = rows.visible(namespace, now)
    if query.key is not None:
        found = found.filter(key=query.key)
    found = narrowed(found, parse_filter(query.filter))
    if is_search(query):
        return _ranked(namespace, found, query, now)
    newest = found.order_by("-updated_at", "-id")[: query.top_k]
    return answer(query, [rows.entry_of(row, namespace.text) for row in newest], now)


def _ranked(
    namespace: Namespace, found: rows.Entries, query: MemoryQuery, now: datetime
) -> list[MemoryEntry]:
    """Over the texts, where postings don't help; the whole rows are fetched for the few that are asked for."""
    texts = list(found.values_list("updated_at", "id", "text", "group", "position", "number"))
    numbers = [one[5] for one in texts if one[5] is not None]
    cosines = meanings.cosines(namespace, query.meaning, only=numbers)
    candidates = [
        Candidate(at, str(pk), text, (group, position) if group else None, cosines.get(number))
        for at, pk, text, group, position, number in texts
    ]
    return searching.whole(namespace, best(query, candidates, now))


async def in_thread(call: Callable[[], T]) -> T:
    """Database work away from the event loop; the thread gives its connection back afterwards."""

    def work() -> T:
        close_old_connections()
        try:
            return call()
        finally:
            close_old_connections()

    return await sync_to_async(work, thread_sensitive=False)()
